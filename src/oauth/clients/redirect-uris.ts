/**
 * The rules for the redirect URIs that a client may have, and for matching the one in a request (RFC 6749 §3.1.2,
 * RFC 8252 §7 and §8, specification §4.4 rule 2). Everything works on the text as it was sent: a URI that
 * two parsers could read differently is refused rather than repaired.
 */

import { dangerousScheme } from '../../core/oauth-settings.ts'

/** The site's settings for redirect URIs. */
export interface RedirectRules {
  /** `oauth.developer_mode`: http is allowed anywhere. */
  readonly developerMode: boolean
  /** `oauth.native_redirect_schemes`: private-use schemes of known apps. */
  readonly nativeSchemes: readonly string[]
}

/** The parameters of answers (RFC 6749 §4.1.2, RFC 9207 §2): a URI that has one already makes answers ambiguous. */
const reservedNames = ['code', 'state', 'iss']

const mustBeHttps = 'redirect_uris must be https'

const loopback = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?([/?].*)?$/i

/** Returns what is wrong with a redirect URI that a client wants to register; undefined when nothing is. */
export function redirectUriFault(uri: string, rules: RedirectRules): string | undefined {
  if (uri.length > 2000) return 'redirect_uri is longer than 2000 characters'
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase()
  if (scheme === undefined) return `${mustBeHttps}, with scheme and host`
  if (dangerousScheme.test(scheme)) return `${mustBeHttps}; the scheme ${scheme} is never allowed`
  if (scheme !== 'https' && scheme !== 'http' && !isNativeScheme(scheme, rules)) {
    return `${mustBeHttps}, or http on localhost or 127.0.0.1; the scheme ${scheme} is not one of this server's native_redirect_schemes`
  }
  return (
    shapeFault(uri) ?? (scheme === 'https' || scheme === 'http' ? webFault(uri, rules) : nativeFault(uri))
  )
}

function isNativeScheme(scheme: string, rules: RedirectRules): boolean {
  return rules.nativeSchemes.some((known) => known.toLowerCase().replace(/:.*$/, '') === scheme)
}

function shapeFault(uri: string): string | undefined {
  // Only printable ASCII passes: browsers drop tabs and newlines, and fold unicode hosts into others.
  if (!/^[\x21-\x7e]+$/.test(uri)) return 'redirect_uri has characters that a URI cannot have'
  if (/[\\"<>^`{|}]/.test(uri)) return 'redirect_uri has characters that a URI cannot have'
  if (uri.includes('#')) return 'redirect_uri must not have a fragment'
  const query = new URLSearchParams(uri.replace(/^[^?]*/, ''))
  const reserved = reservedNames.find((name) => query.has(name))
  if (reserved !== undefined)
    return `redirect_uri must not have ${reserved} in its query: the answer brings it`
  if (uri.includes('*')) return 'redirect_uri must not have a wildcard'
  if (/%(?![0-9a-f]{2})/i.test(uri)) return 'redirect_uri has a broken percent encoding'
  if (/%(0[0-9a-f]|1[0-9a-f]|7f|5c)/i.test(uri))
    return 'redirect_uri encodes a control character or backslash'
  const path = uri.replace(/\?.*$/, '')
  if (/(^|[/:])(\.|%2e){1,2}($|\/)/i.test(path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, ''))) {
    return 'redirect_uri must not have . or .. in its path'
  }
  return URL.canParse(uri) ? undefined : 'redirect_uri is not a URI'
}

function webFault(uri: string, rules: RedirectRules): string | undefined {
  const authority = /^https?:\/\/([^/?]+)/i.exec(uri)?.[1]
  if (authority === undefined) return 'redirect_uri has no host'
  if (authority.includes('@')) return 'redirect_uri must not have a user name or password'
  // The parser's host must equal the host as written: no 0x7f.1, no %65xample.com, no empty port.
  const written = authority.toLowerCase()
  const parsed = new URL(uri)
  const plain = [parsed.host, `${parsed.hostname}:${parsed.protocol === 'https:' ? '443' : '80'}`]
  if (!plain.includes(written)) return 'redirect_uri does not write its host plainly'
  if (parsed.port === '0') return 'redirect_uri has port 0'
  if (parsed.protocol === 'https:' || isLoopback(uri) || rules.developerMode) return undefined
  return `${mustBeHttps}, or http on localhost or 127.0.0.1`
}

function nativeFault(uri: string): string | undefined {
  const rest = uri.slice(uri.indexOf(':') + 1)
  const authority = /^\/\/([^/?]*)/.exec(rest)?.[1]
  if (authority?.includes('@')) return 'redirect_uri must not have a user name or password'
  // RFC 8252 §7.1 allows app:/path or app://host/path.
  return /^\/\/?[^/?]/.test(rest) ? undefined : 'redirect_uri has neither host nor path'
}

/** True when a redirect URI leads to the user's own machine by http (RFC 8252 §7.3). */
export function isLoopback(uri: string): boolean {
  const port = loopback.exec(uri)?.[2]
  return loopback.test(uri) && (port === undefined || (Number(port) > 0 && Number(port) < 65536))
}

/** True when the URI of an authorization request is one of the client's own. */
export function matchesRedirectUri(registered: readonly string[], requested: string): boolean {
  return registered.some((own) => own === requested || sameLoopback(own, requested))
}

/** True when two loopback URIs differ only in the port: native apps listen on whatever port is free (RFC 8252 §7.3). */
function sameLoopback(own: string, requested: string): boolean {
  if (!isLoopback(own) || !isLoopback(requested)) return false
  const a = loopback.exec(own)!
  const b = loopback.exec(requested)!
  return a[1]!.toLowerCase() === b[1]!.toLowerCase() && (a[3] ?? '/') === (b[3] ?? '/')
}

/** Returns the part of a redirect URI that a person is shown and a remembered consent holds for: host, or scheme of an app. */
export function redirectHost(uri: string): string {
  const parsed = new URL(uri)
  if (isLoopback(uri)) return parsed.hostname
  return parsed.protocol === 'https:' || parsed.protocol === 'http:' ? parsed.host : parsed.protocol
}

/** Adds parameters to the query of a redirect URI; what is there stays (RFC 6749 §4.1.2). */
export function withParams(uri: string, params: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(params)
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  const joint = uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'
  return uri + joint + pairs
}
