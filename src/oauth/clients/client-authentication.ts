/** Authenticates clients at the token, revocation and introspection endpoints (RFC 6749 §2.3, RFC 7523 §2.2). */
import { type Assertions, claimsIn } from './assertions.ts'
import type { Clients } from './clients.ts'
import { OAuthError } from '../protocol.ts'
import type { Params } from '#ui/requests.ts'
import type { AuthMethod, Client } from '../records.ts'

/** The credentials that a client presents. */
interface Credentials {
  readonly id: string
  readonly method: AuthMethod
  readonly secret?: string
  readonly assertion?: string
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Returns the client that sent the request, proven by its registered method; OAuthError `invalid_client` (401) otherwise. */
export async function authenticateClient(
  authorization: string,
  params: Params,
  deps: { clients: Clients; assertions: Assertions },
): Promise<Client> {
  const basic = /^basic(\s|$)/i.test(authorization)
  const refuse = (why: string): OAuthError =>
    // RFC 6749 §5.2: 401 tells clients whose registration is gone to register again.
    new OAuthError(
      'invalid_client',
      why,
      basic ? { headers: { 'WWW-Authenticate': 'Basic realm="oauth"' } } : {},
    )
  const credentials = readCredentials(authorization, params, refuse)
  const client = await deps.clients.find(credentials.id)
  if (!client) throw refuse('unknown client')
  if (!methodFits(credentials.method, client.authMethod)) {
    throw refuse(`the client must authenticate by ${client.authMethod}`)
  }
  if (credentials.secret !== undefined && !(await deps.clients.verifySecret(client, credentials.secret))) {
    throw refuse('the client secret is wrong')
  }
  if (credentials.assertion !== undefined) {
    const fault = await deps.assertions.faultOf(client, credentials.assertion)
    if (fault !== undefined) throw refuse(fault)
  }
  return client
}

/** True when the methods agree: both ways of sending a secret are the same; a secret is never optional nor replaces a key. */
function methodFits(used: AuthMethod, registered: AuthMethod): boolean {
  const bySecret = ['client_secret_basic', 'client_secret_post']
  return used === registered || (bySecret.includes(used) && bySecret.includes(registered))
}

function readCredentials(
  authorization: string,
  params: Params,
  refuse: (why: string) => OAuthError,
): Credentials {
  const id = params.get('client_id')
  const secret = params.get('client_secret')
  const assertion = params.get('client_assertion')
  const basic = authorization === '' ? undefined : readBasic(authorization, refuse)
  // RFC 6749 §2.3: a request may use only one method.
  if ([basic?.secret, secret, assertion].filter((given) => given !== undefined).length > 1) {
    throw new OAuthError('invalid_request', 'the client authenticates in more than one way')
  }
  if (basic) {
    if (id !== undefined && id !== basic.id) {
      throw new OAuthError('invalid_request', 'client_id differs between header and body')
    }
    return basic
  }
  if (assertion !== undefined) {
    if (params.get('client_assertion_type') !== assertionType) {
      throw new OAuthError('invalid_request', `client_assertion_type must be ${assertionType}`)
    }
    return { id: id ?? subjectOf(assertion, refuse), method: 'private_key_jwt', assertion }
  }
  if (id === undefined) throw refuse('client_id is required')
  return secret === undefined ? { id, method: 'none' } : { id, method: 'client_secret_post', secret }
}

/** Reads Basic credentials (RFC 6749 §2.3.1): halves form-encoded, joined by a colon, then base64, and nothing looser. */
function readBasic(authorization: string, refuse: (why: string) => OAuthError): Credentials {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined || encoded.length % 4 !== 0) {
    throw refuse('the Authorization header is not valid Basic')
  }
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('latin1')
  const colon = text.indexOf(':')
  if (bytes.toString('base64') !== encoded || colon < 1 || !/^[\x20-\x7e]+$/.test(text)) {
    throw refuse('the Authorization header is not valid Basic')
  }
  const id = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  if (id === undefined || secret === undefined) throw refuse('the Basic credentials are not form-encoded')
  // An empty password comes from a public client, which proves nothing and claims nothing.
  return secret === '' ? { id, method: 'none' } : { id, method: 'client_secret_basic', secret }
}

function formDecode(text: string): string | undefined {
  if (/%(?![0-9a-f]{2})/i.test(text)) return undefined
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function subjectOf(assertion: string, refuse: (why: string) => OAuthError): string {
  const { sub } = claimsIn(assertion)
  if (typeof sub === 'string') return sub
  throw refuse('the client assertion is not valid')
}
