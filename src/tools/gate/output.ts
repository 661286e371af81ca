/** Turns a tool's output into the answer of its call (specification §4.5, rules 1 to 3). */
import type { AppError } from '#leaf/errors.ts'
import { asJson, isPlainObject } from '#leaf/as-json.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import { cleanText } from '../../core/values.ts'
import type { ToolOutcome } from './catalogue.ts'
import type { RichOutput, Tool } from '../tool.ts'

/** Makes the outcome of a tool that returned. */
export function outcomeOf(tool: Tool, output: unknown): ToolOutcome {
  if (output instanceof WrittenJson)
    return {
      text: output.text,
      content: [],
      structured: output.toJSON() as Record<string, unknown>,
      isError: false,
    }
  const data = dataOf(output)
  const { content, isError = false } = isRich(output) ? output : { content: [] }
  const failed = isError || reportsFailure(data)
  if ((tool.output ?? tool.largeOutput) && !failed && isPlainObject(data)) {
    const structured = asJson(data) as Record<string, unknown>
    return { text: JSON.stringify(structured), content, structured, isError: false }
  }
  const text = resultText(data, content.length > 0)
  return { text: tool.openWorld ? cleanText(text) : text, content, isError: failed }
}

/** Makes the outcome of a call that could not be done; the text tells the model why and what to do. */
export function failure(text: string): ToolOutcome {
  return { text, content: [], isError: true }
}

/** Returns what an error tells pages besides its text: what kind it is, and its problems one by one. */
export function faultOf({ code, data }: AppError): NonNullable<ToolOutcome['fault']> {
  const { problems } = (data ?? {}) as { readonly problems?: unknown }
  const told = Array.isArray(problems) ? problems.filter((problem) => typeof problem === 'string') : []
  return { code, problems: told }
}

/** Writes the text by rule 1: a string as it stands; everything else compact JSON, with strings for what JSON cannot hold. */
function resultText(data: unknown, hasContent: boolean): string {
  if (typeof data === 'string') return data
  if (data === undefined) return hasContent ? '' : 'null'
  return JSON.stringify(asJson(data))
}

/** True when the tool ran and says itself that it failed (rule 3). */
function reportsFailure(data: unknown): boolean {
  return isPlainObject(data) && data['success'] === false
}

/** Returns a tool's output without the blocks that come after its text. */
export function dataOf(output: unknown): unknown {
  return isRich(output) ? output.data : output
}

function isRich(output: unknown): output is RichOutput {
  return isPlainObject(output) && output['kind'] === 'rich' && Array.isArray(output['content'])
}
