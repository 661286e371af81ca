import { principalFor, roleKeyOf } from '../core/principal.ts'
import type { Settings } from '../core/settings.ts'
import type { Channels } from '../library/versions/channels.ts'
import type { Catalogue } from '../tools/gate/catalogue.ts'
import { describer } from './tools.ts'

interface Tools {
  readonly catalogue: Catalogue
  readonly library: Pick<Channels, 'for'>
  readonly settings: Settings
}

/** Returns the size of the tool list for the users of each role set, in tokens of about four characters. */
export function toolTokens(
  { catalogue, library, settings }: Tools,
  users: Iterable<Parameters<typeof principalFor>[0]>,
) {
  // Users with the same roles are offered the same tools, so one user of each set is enough.
  const sets = new Map([...users].map((user) => [roleKeyOf(user.roles), user]))
  return [...sets.values()].map((user) => {
    const principal = principalFor(user, 'status')
    const served = { catalogue, library: library.for(principal) }
    const offered = catalogue.offered(principal)
    const tokens = (mode: Settings['mcp']['skill_mode']): number => {
      const describe = describer(served, principal, mode)
      const listed = offered.map((one) => ({
        name: one.tool.name,
        title: one.tool.title,
        description: describe(one),
        inputSchema: one.listedInput,
        annotations: one.annotations,
      }))
      return Math.ceil(JSON.stringify(listed).length / 4)
    }
    return {
      roles: [...user.roles].sort(),
      tools: offered.length,
      tokens: tokens(settings.mcp.skill_mode),
      tokens_by_skill_mode: { supplementary: tokens('supplementary'), replace: tokens('replace') },
    }
  })
}
