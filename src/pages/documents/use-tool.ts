/** What people do on pages is done by the tools, through their gate: with their checks, limits and audit events. */
import type { Needs } from '../../control/operation.ts'
import { eventOf } from '#audit/audit.ts'
import { AppError } from '#leaf/errors.ts'
import { sha256 } from '#leaf/secrets.ts'
import { Stop } from '#leaf/stop.ts'
import { canonical } from '#leaf/strict-json.ts'
import type { Principal } from '../../core/principal.ts'
import type { Caller, OfferedTool, ToolOutcome } from '../../tools/gate/catalogue.ts'

/** The dependencies of using tools on a page. */
export type ToolUseDeps = Needs<'audit' | 'site'>

/** A use of a tool, besides its arguments. */
export interface ToolUse {
  /** A key of the form: sent twice, it does its work once. */
  readonly key?: string | undefined
  /** Set when the person has seen what will change, and wants it. */
  readonly confirmed?: boolean
  /** Set for a use by what the person is offered as a model would be, profiles and all. */
  readonly asModel?: true
}

type Arguments = Readonly<Record<string, unknown>>

/** Returns a tool as a person may use it on a page; undefined for one that they may not. */
export function usableTool(
  { site }: Pick<ToolUseDeps, 'site'>,
  principal: Principal,
  name: string,
): OfferedTool | undefined {
  const found = site.current().catalogue.find(principal, name, 'person')
  return typeof found === 'string' ? undefined : found
}

/** Uses a tool as the person at a page. Throws what went wrong as an AppError with `data.problems`. */
export async function useTool(
  deps: ToolUseDeps,
  principal: Principal,
  name: string,
  args: Arguments,
  use: ToolUse = {},
): Promise<Arguments> {
  const outcome = await outcomeOfTool(deps, principal, name, args, use)
  if (!outcome.isError) return outcome.structured ?? {}
  const { code = 'invalid', problems = [] } = outcome.fault ?? {}
  // What is wrong with one argument begins with its name, and stands at its field.
  throw new AppError(code, outcome.text, {
    data: { problems: problems.length > 0 ? problems : [outcome.text] },
  })
}

/** Calls a tool as the person at a page, and returns its outcome whatever it is. */
export async function outcomeOfTool(
  { audit, site }: ToolUseDeps,
  principal: Principal,
  name: string,
  args: Arguments,
  { key, confirmed = false, asModel }: ToolUse,
): Promise<ToolOutcome> {
  // What a model gets is in the words of the site.
  const { language: _, ...plain } = principal
  const asker = asModel ? plain : principal
  const snapshot = site.current().for(asker)
  const isDry = args['dry_run'] === true
  const caller: Caller = {
    stop: new Stop(principal),
    library: snapshot.library,
    progress: () => undefined,
    log: () => undefined,
    ask: () =>
      Promise.reject(new AppError('unavailable', 'this tool asks the person at an app, which a page is not')),
    repeatable: key === undefined || isDry ? undefined : repeatable(principal, key, name, args),
    confirm: async () => {
      if (isDry) return undefined
      if (!confirmed) return 'it has to be confirmed'
      const data = { arguments: snapshot.catalogue.recorded(name, args) }
      await audit.record(eventOf(principal, { type: 'tool.confirm', status: 'ok', target: name, data }))
      return undefined
    },
    ...(!asModel && { person: true }),
  }
  return snapshot.catalogue.call(asker, name, args, caller)
}

function repeatable(
  { user, roleKey }: Principal,
  key: string,
  name: string,
  args: Arguments,
): Caller['repeatable'] {
  return {
    id: sha256(`form ${user}\n${key}`),
    call: sha256(`${roleKey}\n${name}\n${canonical(args)}`),
  }
}
