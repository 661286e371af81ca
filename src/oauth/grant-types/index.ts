/** The list of grant types; the token endpoint, discovery, registration and client documents read it. */
import type { Settings } from '../../core/settings.ts'
import { authorizationCode } from './authorization-code.ts'
import type { GrantType } from './grant-type.ts'
import { identityAssertion } from './identity-assertion.ts'
import { refreshToken } from './refresh-token.ts'

/** The grants of specification §5.8, and those that a site switches on; implicit and client credentials are not among them. */
const grantTypes: readonly GrantType[] = [authorizationCode, refreshToken, identityAssertion]

/** The names on the wire that a client may register; first the one that no client can do without. */
export const grantTypeNames: readonly string[] = grantTypes
  .filter(({ isOn }) => !isOn)
  .map(({ name }) => name)

/** Returns the grant types that the site offers. */
export function offeredGrants(settings: Settings): readonly GrantType[] {
  return grantTypes.filter(({ isOn }) => isOn?.(settings) ?? true)
}
