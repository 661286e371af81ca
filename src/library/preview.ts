/** What a preview is, worked out where it cannot hold up anybody: `previews.ts` lets a thread do it. */
import { AppError, messageOf } from '../core/errors.ts'
import { compileSchema, problemsText } from '../core/schema.ts'
import { argumentSchema, readArguments } from './argument-rows.ts'
import { compileArguments, linkProblems, problemsLine, type LinkCheck } from './arguments.ts'
import { parseLossless } from '#jinja/lossless-json.ts'
import type { PromptTemplate } from './words.ts'
import { compileContent } from './render.ts'
import { suppliedArguments } from './supplied-arguments.ts'

/** What a preview is asked with. */
export interface PreviewBody {
  readonly template_content: string
  readonly rendering_engine?: PromptTemplate['engine']
  readonly arguments?: unknown
  /** Rows as in a template file. */
  readonly declared_arguments?: readonly unknown[]
}

type ArgumentRows = Parameters<typeof readArguments>[0]

/** What the engine may take: less than the thread, so that it can still say where in the template it was. */
const milliseconds = 200

const checkRows = compileSchema({ type: 'array', items: argumentSchema })

/**
 * Renders a text that stands in no site, asked for by the text of a body, whose shape is checked. With declared
 * arguments, values are checked and become real first.
 */
export async function preview(text: string, exists: LinkCheck): Promise<string> {
  const body = JSON.parse(text) as PreviewBody
  const faults: string[] = []
  const content = compileContent(
    body.rendering_engine ?? 'Jinja2',
    body.template_content,
    (message, line, column) =>
      faults.push(
        line === undefined
          ? message
          : `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}`,
      ),
    milliseconds,
  )
  // As they stand in the text, so that 1.0 stays a float.
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
  const { values, problems } = check(given)
  const all = [...problems, ...(await linkProblems(rows, values, exists))]
  if (all.length > 0) throw new AppError('invalid', problemsLine('preview', all), { data: { problems: all } })
  return content.render(values)
}

/** Callers of the platform send the arguments as JSON text. */
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
