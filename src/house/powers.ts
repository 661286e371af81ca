import type { Clock } from '#leaf/clock.ts'
import type { Powers, PowersOf } from '../core/powers.ts'
import { principalFor } from '../core/principal.ts'
import type { OfferedTool } from '../tools/gate/catalogue.ts'
import { powersOf } from '../tools/gate/powers.ts'
import type { House } from './house.ts'

/** Returns the function that tells a client's powers for a user by the current site. */
export function powersIn({ site, refreshed }: House, clock: Clock): PowersOf {
  // An offer belongs to one snapshot and one set of roles, and so do the powers; each authorization asks for them.
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
    const powers = known.get(offered) ?? powersOf(principal, catalogue, platform, clock.now())
    known.set(offered, powers)
    return powers
  }
}
