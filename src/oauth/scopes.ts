/** The scopes that clients ask for. They do not restrict tools (specification §5.6); roles do. */
import { linesOf, type Settings } from '../core/settings.ts'

const standard = ['all', 'openid', 'profile', 'email']

/** The supported scopes, read once for each reading of the settings. */
const supported = new WeakMap<Settings, readonly string[]>()

/** Returns the scopes of this server: those of the setting, or the standard four. */
export function supportedScopes(settings: Settings): readonly string[] {
  let scopes = supported.get(settings)
  if (!scopes) {
    const set = linesOf(settings.oauth.supported_scopes).flatMap((line) => line.split(/\s+/))
    supported.set(settings, (scopes = set.length > 0 ? [...new Set(set)] : standard))
  }
  return scopes
}

/** Returns the scopes that the MCP endpoint needs; a client that asks for none we know gets these. */
export function defaultScopes(settings: Settings): readonly string[] {
  const known = supportedScopes(settings)
  return known.includes('all') ? ['all'] : known
}

/** Narrows scopes; leaves unknown ones out instead of failing: clients send their own habits (RFC 6749 §3.3 allows it). */
export function narrowScopes(asked: string | undefined, settings: Settings): readonly string[] {
  const offered = supportedScopes(settings)
  const known = [...new Set((asked ?? '').split(' '))].filter((scope) => offered.includes(scope))
  return known.length > 0 ? known : defaultScopes(settings)
}
