/** Turns a tool's output into the end of its call, no longer than the budget of its answer. */
import type { ToolOutcome } from './catalogue.ts'
import { dataOf, failure, outcomeOf } from './output.ts'
import type { Ending } from './telling.ts'
import { tabled } from './tabled.ts'
import type { Tool } from '../tool.ts'

/** Fits an output into the budget; an output that is too large is refused where a tool only reads. Programs and pages of ours get rows as objects. */
export function fitAnswer(
  tool: Tool,
  output: unknown,
  {
    budget,
    changes,
    asObjects,
  }: { readonly budget: number; readonly changes: boolean; readonly asObjects: boolean },
): Ending {
  const data = dataOf(output)
  const table = asObjects ? data : tabled(data, tool)
  const written = table === data ? output : data === output ? table : { ...(output as object), data: table }
  const outcome = outcomeOf(tool, written)
  const bytes = Buffer.byteLength(outcome.text)
  const json = written === output && typeof dataOf(output) === 'object' ? outcome.text : undefined
  if (bytes <= budget) return { outcome, status: outcome.isError ? 'error' : 'ok', output, json, bytes }
  const large = `the answer of ${tool.name} has ${bytes} bytes, more than the ${budget} allowed`
  if (!changes || outcome.isError) {
    const text = `${large}; ask for fewer fields or fewer rows`
    return { outcome: failure(text), status: 'error', output }
  }
  // A change that was made is reported as done, or it would be made again.
  const note = `done, but ${large}, so long values are cut here; read apart what you need`
  return { outcome: shortened(outcome, note, budget), status: 'ok', output }
}

/** The lengths of texts and lists, and the depth, to which an answer that is too long is cut, until it is short enough. */
const cuts = [
  { text: 500, list: 50, depth: 4 },
  { text: 60, list: 5, depth: 2 },
  { text: 60, list: 0, depth: 1 },
] as const

/** Cuts an outcome to what a budget allows, in the same shape; a note says so. */
function shortened({ text, structured, ...rest }: ToolOutcome, note: string, budget: number): ToolOutcome {
  if (!structured) return { ...rest, text: `${note}\n${text.slice(0, 500)}` }
  for (const how of cuts) {
    const short = { ...(cut(structured, how, 0) as typeof structured), note }
    const told = JSON.stringify(short)
    if (Buffer.byteLength(told) <= budget) return { ...rest, text: told, structured: short }
  }
  return { ...rest, text: note, structured: { note } }
}

function cut(value: unknown, how: (typeof cuts)[number], depth: number): unknown {
  if (typeof value === 'string') return value.length > how.text ? `${value.slice(0, how.text)}…` : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.slice(0, how.list).map((item) => cut(item, how, depth + 1))
  const members = depth < how.depth ? Object.entries(value) : []
  return Object.fromEntries(members.map(([name, member]) => [name, cut(member, how, depth + 1)]))
}
