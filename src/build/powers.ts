import type { Powers, PowersOf } from '../core/powers.ts'
import { principalFor } from '../core/principal.ts'
import type { OfferedTool } from '../tools/catalogue.ts'
import { powersOf } from '../tools/powers.ts'
import type { Services } from './services.ts'

/** What a client may do for a user by the site as it is now. */
export function powersIn({ site, refreshed, clock }: Services): PowersOf {
  // One offer is of one snapshot and of one set of roles, and so are the powers; each authorization asks for them.
  const known = new WeakMap<readonly OfferedTool[], Powers>()
  return (user, client, { readOnly }) => {
    const { people, catalogue, platform } = site.current()
    const found = people.find(user)
    const principal =
      found &&
      refreshed({
        ...principalFor(found, ''),
        ...(client && { client: { id: client.id, name: client.name } }),
        ...(readOnly && { readOnly: true }),
      })
    if (!principal) return undefined
    const offered = catalogue.offered(principal)
    const powers = known.get(offered) ?? powersOf(principal, offered, platform, clock.now())
    known.set(offered, powers)
    return powers
  }
}
