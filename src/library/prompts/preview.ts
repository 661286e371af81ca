/** Renders a preview; `previews.ts` runs this in a thread, where it cannot hold up other requests. */
import { valuesFor } from './template-file.ts'
import { systemClock } from '#leaf/clock.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { compileSchema, problemsText } from '#leaf/schema.ts'
import { argumentSchema, readArguments } from './argument-rows.ts'
import { compileArguments, type LinkCheck } from './arguments.ts'
import { parseLossless } from '#jinja/lossless-json.ts'
import type { PromptTemplate } from '../words.ts'
import { compileContent } from './render.ts'
import { suppliedArguments } from './supplied-arguments.ts'

/** The body of a preview request. */
export interface PreviewBody {
  readonly template_content: string
  readonly rendering_engine?: PromptTemplate['engine']
  readonly arguments?: unknown
  /** Rows as in a template file. */
  readonly declared_arguments?: readonly unknown[]
}

type ArgumentRows = Parameters<typeof readArguments>[0]

/** The time limit of the engine: less than the thread's, so that it can still report the place in the template. */
const milliseconds = 200

const checkRows = compileSchema({ type: 'array', items: argumentSchema })

/**
 * Renders a text that stands in no site. The body comes as text, and its shape is checked already. With
 * declared arguments, values are checked and become real first.
 */
export async function preview(text: string, exists: LinkCheck): Promise<string> {
  const body = JSON.parse(text) as PreviewBody
  const faults: string[] = []
  const content = compileContent(
    body.rendering_engine ?? 'Jinja2',
    body.template_content,
    (message, { line, column }) => faults.push(`line ${line}, column ${column}: ${message}`),
    milliseconds,
  )
  // Arguments are read from the text itself, so that 1.0 stays a float.
  const given =
    typeof body.arguments === 'string' ? fromText(body.arguments) : suppliedArguments(text, ['arguments'])
  const declared = body.declared_arguments
  if (declared === undefined) {
    if (faults.length > 0) throw new AppError('invalid', `template_content: ${faults.join('; ')}`)
    return content.render(given)
  }
  const problemsOfRows = checkRows(declared)
  if (problemsOfRows.length > 0) {
    throw new AppError('invalid', `declared_arguments: ${problemsText(problemsOfRows)}`)
  }
  const rows = readArguments(declared as ArgumentRows, (path, message) =>
    faults.push(`declared_arguments.${path.join('.')}: ${message}`),
  )
  const check = compileArguments(rows, (row, property, message) =>
    faults.push(`declared_arguments.${row}.${property}: ${message}`),
  )
  if (faults.length > 0) throw new AppError('invalid', faults.join('; '))
  const template = { name: 'preview', arguments: rows }
  return content.render(await valuesFor({ template, check }, given, exists, systemClock.now()))
}

/** Reads arguments from JSON text, which is how callers of the platform send them. */
function fromText(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  let value: unknown
  try {
    value = parseLossless(text)
  } catch (error) {
    throw new AppError('invalid', `arguments: ${messageOf(error)}`)
  }
  if (!(value instanceof Map)) throw new AppError('invalid', 'arguments: must be an object')
  return Object.fromEntries(value) as Record<string, unknown>
}
