/** Checks what a client says about itself (RFC 7591 §2): by registration, by the operator, or in a document. */
import { linesOf, type Settings } from '../../core/settings.ts'
import { grantTypeNames } from '../grant-types/index.ts'
import { OAuthError } from '../protocol.ts'
import type { AuthMethod } from '../records.ts'
import type { ClientDescription } from './clients.ts'
import { redirectUriFault, type RedirectRules } from './redirect-uris.ts'

const maxUris = 20
const texts = [
  'client_uri',
  'logo_uri',
  'tos_uri',
  'policy_uri',
  'software_id',
  'software_version',
  'scope',
] as const

/** The rules for one source of metadata. */
export interface MetadataRules extends RedirectRules {
  readonly authMethods: readonly AuthMethod[]
  /** The method that an absent one stands for (RFC 7591 §2). */
  readonly defaultMethod: AuthMethod
}

/** Returns the rules of the site for one source. */
export function rulesOf(
  { oauth }: Settings,
  authMethods: readonly AuthMethod[],
  defaultMethod: AuthMethod = 'none',
): MetadataRules {
  const nativeSchemes = linesOf(oauth.native_redirect_schemes)
  return { developerMode: oauth.developer_mode, nativeSchemes, authMethods, defaultMethod }
}

/** The methods of dynamic registration: these three and no other (specification §4.4). */
export const registrationMethods: readonly AuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
]

/** Reads client metadata. OAuthError `invalid_redirect_uri` or `invalid_client_metadata`, naming all faults at once. */
export function readClientMetadata(value: unknown, rules: MetadataRules): ClientDescription {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new OAuthError('invalid_client_metadata', 'the body must be a JSON object')
  }
  const given = value as Readonly<Record<string, unknown>>
  const redirectUris = readRedirectUris(given['redirect_uris'], rules)
  const faults: string[] = []
  const authMethod = readMethod(given['token_endpoint_auth_method'], rules, faults)
  checkList(given, 'grant_types', grantTypeNames, faults)
  checkList(given, 'response_types', ['code'], faults)
  const name = readName(given['client_name'], faults)
  const metadata = { ...readMetadata(given, faults), ...readKeys(given, authMethod, faults) }
  if (faults.length > 0) throw new OAuthError('invalid_client_metadata', faults.join('; '))
  return {
    name: name ?? defaultName(redirectUris),
    redirectUris,
    authMethod,
    metadata,
  }
}

function readRedirectUris(value: unknown, rules: RedirectRules): string[] {
  if (!Array.isArray(value) || value.length === 0 || !value.every((uri) => typeof uri === 'string')) {
    throw new OAuthError('invalid_redirect_uri', 'redirect_uris must be an array of at least one URI')
  }
  if (value.length > maxUris) {
    throw new OAuthError('invalid_redirect_uri', `redirect_uris has more than ${maxUris} entries`)
  }
  const uris = [...new Set(value)]
  const faults = uris.flatMap((uri) => {
    const fault = redirectUriFault(uri, rules)
    return fault === undefined ? [] : [`${fault}: ${uri.slice(0, 100)}`]
  })
  if (faults.length > 0) throw new OAuthError('invalid_redirect_uri', faults.join('; '))
  return uris
}

function readMethod(value: unknown, rules: MetadataRules, faults: string[]): AuthMethod {
  if (value === undefined || value === null) return rules.defaultMethod
  const method = rules.authMethods.find((known) => known === value)
  if (method === undefined) {
    faults.push(`token_endpoint_auth_method must be one of ${rules.authMethods.join(', ')}`)
  }
  return method ?? 'none'
}

function checkList(
  given: Readonly<Record<string, unknown>>,
  key: string,
  known: readonly string[],
  faults: string[],
): void {
  const value = given[key]
  if (value === undefined || value === null) return
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    faults.push(`${key} must be an array of strings`)
    return
  }
  const foreign = value.filter((item) => !known.includes(item))
  if (foreign.length > 0)
    faults.push(`${key} may only have ${known.join(' and ')}, not ${foreign.join(', ')}`)
  else if (!value.includes(known[0] ?? '')) faults.push(`${key} must have ${known[0]}`)
}

function readName(value: unknown, faults: string[]): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') {
    faults.push('client_name must be a string')
    return undefined
  }
  if (value.length > 200) faults.push('client_name is longer than 200 characters')
  return plainText(value) || undefined
}

/** Removes from a text what could make it look like another on a page: control, bidirectional and invisible characters. */
export function plainText(text: string): string {
  return text
    .replace(/[\p{Cs}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\u3164\u115f\u1160]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

/** True when a word mixes letters of Latin and of an alphabet that looks like it. */
export function mixesScripts(text: string): boolean {
  const alike = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u
  return text.split(/[^\p{L}\p{M}]+/u).some((word) => /\p{Script=Latin}/u.test(word) && alike.test(word))
}

function defaultName(redirectUris: readonly string[]): string {
  const first = redirectUris[0]
  return first === undefined
    ? 'unnamed client'
    : `client at ${new URL(first).host || new URL(first).protocol}`
}

function readMetadata(given: Readonly<Record<string, unknown>>, faults: string[]): Record<string, unknown> {
  const metadata: Record<string, unknown> = {}
  for (const key of texts) {
    const value = given[key]
    if (value === undefined || value === null || value === '') continue
    if (typeof value !== 'string') faults.push(`${key} must be a string`)
    else if (key.endsWith('_uri') && !/^https?:\/\/[\x21-\x7e]+$/.test(value)) {
      faults.push(`${key} must be an http or https URL`)
    } else metadata[key] = value
  }
  const contacts = given['contacts']
  if (Array.isArray(contacts) && contacts.every((contact) => typeof contact === 'string')) {
    metadata['contacts'] = contacts
  } else if (contacts !== undefined && contacts !== null) faults.push('contacts must be an array of strings')
  const kind = given['application_type']
  if (kind === 'web' || kind === 'native') metadata['application_type'] = kind
  else if (kind !== undefined && kind !== null) faults.push('application_type must be web or native')
  return metadata
}

/** Reads the key set (RFC 7591 §2): given by value or by reference, not both; a method that needs one has to have one. */
function readKeys(
  given: Readonly<Record<string, unknown>>,
  authMethod: AuthMethod,
  faults: string[],
): Record<string, unknown> {
  const jwks = given['jwks'] ?? undefined
  const uri = given['jwks_uri'] ?? undefined
  const keys = typeof jwks === 'object' && 'keys' in jwks ? jwks.keys : undefined
  if (jwks !== undefined && uri !== undefined) faults.push('jwks and jwks_uri exclude each other')
  if (jwks !== undefined && !Array.isArray(keys)) faults.push('jwks must be a JSON Web Key Set')
  if (uri !== undefined && (typeof uri !== 'string' || !/^https:\/\/[\x21-\x7e]+$/.test(uri))) {
    faults.push('jwks_uri must be an https URL')
  }
  if (authMethod === 'private_key_jwt' && jwks === undefined && uri === undefined) {
    faults.push('private_key_jwt needs jwks or jwks_uri')
  }
  return { ...(jwks !== undefined && { jwks }), ...(uri !== undefined && { jwks_uri: uri }) }
}
