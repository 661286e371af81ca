/** The grant types, a list: the token endpoint, discovery, registration and client documents read it. */
import { authorizationCode } from './authorization-code.ts'
import type { GrantType } from './grant-type.ts'
import { refreshToken } from './refresh-token.ts'

/** The grants of specification §5.8; implicit and client credentials are not among them. */
export const grantTypes: readonly GrantType[] = [authorizationCode, refreshToken]

/** Their names on the wire, the one that no client can do without first. */
export const grantTypeNames: readonly string[] = grantTypes.map((type) => type.name)
