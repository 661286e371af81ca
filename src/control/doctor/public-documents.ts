/** Checks the discovery documents as clients read them: all name the same addresses, byte for byte (RFC 8414 and 9728, §3.3). */
import { messageOf } from '#leaf/errors.ts'
import { paths } from '../../oauth/urls.ts'
import { broken, fine, type Checks } from './finding.ts'
import { ask, type PublicAnswer } from './public-ask.ts'

/** The documents that clients look for. RFC 9728 §3.1: the path of the resource follows the well-known one. */
const wellKnown = [
  ['authorization_server_metadata', paths.authorizationServer],
  ['openid_configuration', paths.openidConfiguration],
  ['protected_resource_metadata', paths.protectedResource],
  ['protected_resource_metadata_of_path', paths.protectedResource + paths.mcp],
] as const

/** Reads the discovery documents: each with its fault, and the first of the two that name the issuer. */
export async function readDocuments(origin: string) {
  const read = await Promise.all(
    wellKnown.map(async ([name, path]) => ({
      name,
      path,
      ...metadataOf(await ask(origin + path).catch(messageOf)),
    })),
  )
  const [server, openid, resource] = read.map(({ found }) => found)
  return { origin, read, server, openid, resource, issued: server ?? openid }
}

/** Returns the document, or its fault. */
function metadataOf(answer: PublicAnswer | string): {
  found?: Readonly<Record<string, unknown>>
  problem?: string
} {
  if (typeof answer === 'string') return { problem: answer }
  const { status, headers, text } = answer
  if (status >= 300 && status < 400)
    return { problem: `${status} to ${headers.get('location') ?? 'nowhere'}` }
  if (status !== 200) return { problem: `status ${status}` }
  if (!(headers.get('content-type') ?? '').startsWith('application/json'))
    return { problem: 'not application/json' }
  try {
    const found = JSON.parse(text) as Readonly<Record<string, unknown>> | null
    return typeof found === 'object' && found !== null ? { found } : { problem: 'not an object' }
  } catch {
    return { problem: 'not JSON' }
  }
}

/** Compares issuer, resource and endpoints with the address that was asked. */
export const documentChecks: Checks<Awaited<ReturnType<typeof readDocuments>>> = {
  'public.documents': ({ read }) =>
    read.map(({ name, path, problem }) => ({
      check: `public.${name}`,
      ...(problem === undefined
        ? fine(path)
        : broken(
            `${path}: ${problem}`,
            'the proxy does not pass /.well-known/ on (often it keeps it for certificates), or a setting hides the document',
            'pass every path below / to the daemon; look at oauth.show_*_metadata',
          )),
    })),
  'public.issuer': ({ origin, issued }) => issued && same(origin, 'issuer', issued['issuer'], origin),
  'public.pkce': ({ issued }) => {
    const methods = issued?.['code_challenge_methods_supported']
    if (!issued || (Array.isArray(methods) && methods.includes('S256'))) return issued && fine('S256')
    return broken(
      `code_challenge_methods_supported is ${JSON.stringify(methods)}`,
      'clients stop when PKCE is not announced',
      'something between rewrites the document; pass it on as it is',
    )
  },
  'public.endpoints': ({ origin, issued }) => {
    const foreign = Object.entries(issued ?? {}).filter(
      ([name, value]) => /(_endpoint|jwks_uri)$/.test(name) && !String(value).startsWith(`${origin}/`),
    )
    if (foreign.length === 0) return issued && fine('every endpoint is below the address')
    const detail = foreign.map(([name, value]) => `${name} is ${String(value)}`).join(', ')
    return broken(detail, 'the daemon publishes another address', `set public_url: ${origin}`)
  },
  'public.issuer_agrees': ({ origin, server, openid }) =>
    server && openid && server['issuer'] !== openid['issuer']
      ? same(origin, 'the issuer of openid-configuration', openid['issuer'], String(server['issuer']))
      : undefined,
  'public.resource': ({ origin, resource }) =>
    resource && same(origin, 'resource', resource['resource'], origin + paths.mcp),
  'public.authorization_servers': ({ origin, resource }) => {
    const servers = resource?.['authorization_servers']
    const first: unknown = Array.isArray(servers) ? servers[0] : servers
    return resource && same(origin, 'authorization_servers[0]', first, origin)
  },
}

function same(origin: string, what: string, found: unknown, expected: string) {
  if (found === expected) return fine(expected)
  const cause = 'clients compare the two byte for byte, and stop when they differ'
  const remedy = `set public_url: ${origin}; one letter, port or slash more is another address`
  return broken(`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`, cause, remedy)
}
