/** Scopes: what a client asks for. They do not restrict tools (specification §5.6); roles do. */
import { linesOf, type Settings } from '../core/settings.ts'

const standard = ['all', 'openid', 'profile', 'email']

/** Read once of each reading of the settings. */
const supported = new WeakMap<Settings, readonly string[]>()

/** The scopes of this server: those of the setting, or the standard four. */
export function supportedScopes(settings: Settings): readonly string[] {
  let scopes = supported.get(settings)
  if (!scopes) {
    const set = linesOf(settings.oauth.supported_scopes).flatMap((line) => line.split(/\s+/))
    supported.set(settings, (scopes = set.length > 0 ? [...new Set(set)] : standard))
  }
  return scopes
}

/** The scopes that give what the MCP endpoint needs; what a client gets that asks for nothing we know. */
export function defaultScopes(settings: Settings): readonly string[] {
  const known = supportedScopes(settings)
  return known.includes('all') ? ['all'] : known
}

/** Unknown scopes are left out, not failed: clients send their own habits (RFC 6749 §3.3 allows it). */
export function narrowScopes(asked: string | undefined, settings: Settings): readonly string[] {
  const offered = supportedScopes(settings)
  const known = [...new Set((asked ?? '').split(' '))].filter((scope) => offered.includes(scope))
  return known.length > 0 ? known : defaultScopes(settings)
}

/** What the scopes tell a client of the user; what it may do, no scope says (`core/powers.ts`). */
export function identityOf(scopes: readonly string[]): { readonly name: boolean; readonly email: boolean } {
  const has = (scope: string): boolean => scopes.includes('all') || scopes.includes(scope)
  return { name: has('profile'), email: has('email') }
}
