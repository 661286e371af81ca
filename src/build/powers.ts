import type { PowersOf } from '../core/powers.ts'
import { roleKeyOf } from '../core/principal.ts'
import { powersOf } from '../tools/powers.ts'
import type { Services } from './services.ts'

/** What a client may do for a user by the site as it is now. */
export function powersIn({ site, refreshed, clock }: Services): PowersOf {
  return (user, client, { readOnly }) => {
    const { people, catalogue, platform } = site.current()
    const found = people.find(user)
    const principal =
      found &&
      refreshed({
        user: found.id,
        fullName: found.fullName,
        roles: found.roles,
        roleKey: roleKeyOf(found.roles),
        ...(client && { client: { id: client.id, name: client.name } }),
        ...(readOnly && { readOnly: true }),
        scopes: [],
        requestId: '',
      })
    return principal && powersOf(principal, catalogue.offered(principal), platform, clock.now())
  }
}
