/** The refusals of calls, and their words. */
import { listed } from '#leaf/names.ts'
import type { Tool } from '../tool.ts'
import type { Refusal, ToolOutcome } from './catalogue.ts'

/** The refusals by which nobody was denied anything. */
export const outage: ReadonlySet<Denied['refused']> = new Set(['invalid', 'waiting', 'withheld'])

/** A refusal: the reason why a call did not reach its tool. */
export interface Denied {
  readonly refused: NonNullable<ToolOutcome['refused']>
  readonly text: string
  readonly problems?: readonly string[]
}

/** Returns a call that would do: the tool's example, or else the names of what it takes. */
export function suchAs({ name, input, example }: Tool): string {
  if (example) return `; such as ${name} ${JSON.stringify(example)}`
  const names = Object.keys((input['properties'] as object | undefined) ?? {})
  return `; ${name} takes ${listed(names) || 'nothing'}`
}

/** Words a refusal (specification §7.1). A tool that is not permitted differs from one that does not exist only by its code. */
export function denied(refused: Refusal | 'lost', name: string, why = ''): Denied {
  const tool = `tool ${JSON.stringify(name.slice(0, 128))}`
  const texts = {
    unknown: `unknown ${tool}${why}`,
    disabled: `${tool} is disabled`,
    forbidden: `permission denied: ${tool} is not available to this user`,
    lost: `permission denied: ${tool} is not available to this user any more`,
    withheld: `${tool} cannot be used for now: ${why}`,
  }
  return { refused, text: texts[refused] }
}
