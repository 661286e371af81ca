/** The discovery documents as clients read them: there, and naming the same addresses byte for byte (RFC 8414 §3.3, RFC 9728 §3.3). */
import { paths } from '../../oauth/urls.ts'
import { about, type Finding } from './finding.ts'
import { ask, type PublicAnswer } from './public-ask.ts'

interface Documents {
  readonly findings: readonly Finding[]
  readonly server: Readonly<Record<string, unknown>> | undefined
  readonly openid: Readonly<Record<string, unknown>> | undefined
  readonly resource: Readonly<Record<string, unknown>> | undefined
}

/** Reads the four documents that clients look for. */
export async function readDocuments(origin: string): Promise<Documents> {
  const findings: Finding[] = []
  const read = async (
    check: string,
    path: string,
  ): Promise<Readonly<Record<string, unknown>> | undefined> => {
    const answer = await ask(origin + path)
    const problem = 'fault' in answer ? answer.fault : problemOf(answer)
    if (problem === undefined) {
      findings.push(about(check).fine(path))
      return JSON.parse((answer as PublicAnswer).text) as Record<string, unknown>
    }
    findings.push(
      about(check).failure(
        `${path}: ${problem}`,
        'the proxy does not pass /.well-known/ on (often it keeps it for certificates), or a setting hides the document',
        'pass every path below / to the daemon; look at oauth.show_*_metadata',
      ),
    )
    return undefined
  }
  const [server, openid, resource] = await Promise.all([
    read('public.authorization_server_metadata', paths.authorizationServer),
    read('public.openid_configuration', paths.openidConfiguration),
    read('public.protected_resource_metadata', paths.protectedResource),
    // RFC 9728 §3.1: the path of the resource stands behind the well-known one.
    read('public.protected_resource_metadata_of_path', paths.protectedResource + paths.mcp),
  ])
  return { findings, server, openid, resource }
}

function problemOf({ status, headers, text }: PublicAnswer): string | undefined {
  if (status >= 300 && status < 400) return `${status} to ${headers.get('location') ?? 'nowhere'}`
  if (status !== 200) return `status ${status}`
  if (!(headers.get('content-type') ?? '').startsWith('application/json')) return 'not application/json'
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? undefined : 'not an object'
  } catch {
    return 'not JSON'
  }
}

/** Compares issuer, resource and endpoints with the address that was asked. */
export function examineDocuments(origin: string, { server, openid, resource }: Documents): Finding[] {
  const findings: Finding[] = []
  const same = (check: string, what: string, found: unknown, expected: string): void =>
    void findings.push(
      found === expected
        ? about(check).fine(expected)
        : about(check).failure(
            `${what} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
            'clients compare the two byte for byte, and stop when they differ',
            `set public_url: ${origin}; one letter, port or slash more is another address`,
          ),
    )
  const issued = server ?? openid
  if (issued) {
    same('public.issuer', 'issuer', issued['issuer'], origin)
    const methods = issued['code_challenge_methods_supported']
    findings.push(
      Array.isArray(methods) && methods.includes('S256')
        ? about('public.pkce').fine('S256')
        : about('public.pkce').failure(
            `code_challenge_methods_supported is ${JSON.stringify(methods)}`,
            'clients stop when PKCE is not announced',
            'something between rewrites the document; pass it on as it is',
          ),
    )
    const foreign = Object.entries(issued).filter(
      ([name, value]) => /(_endpoint|jwks_uri)$/.test(name) && !String(value).startsWith(`${origin}/`),
    )
    findings.push(
      foreign.length === 0
        ? about('public.endpoints').fine('every endpoint is below the address')
        : about('public.endpoints').failure(
            foreign.map(([name, value]) => `${name} is ${String(value)}`).join(', '),
            'the daemon publishes another address',
            `set public_url: ${origin}`,
          ),
    )
  }
  if (server && openid && server['issuer'] !== openid['issuer'])
    same(
      'public.issuer_agrees',
      'the issuer of openid-configuration',
      openid['issuer'],
      String(server['issuer']),
    )
  if (resource) {
    same('public.resource', 'resource', resource['resource'], origin + paths.mcp)
    const servers = resource['authorization_servers']
    same(
      'public.authorization_servers',
      'authorization_servers[0]',
      Array.isArray(servers) ? servers[0] : servers,
      origin,
    )
  }
  return findings
}
