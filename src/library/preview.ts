import { AppError, messageOf } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { compileSchema, problemsText } from '../core/schema.ts'
import { argumentSchema, readArguments } from './argument-rows.ts'
import { compileArguments, linkProblems, problemsLine } from './arguments.ts'
import { parseLossless } from '#jinja/lossless-json.ts'
import type { PromptTemplate } from './words.ts'
import { compileContent } from './render.ts'
import type { LinkTargets } from './library.ts'

/** What a preview is asked with. */
export interface PreviewBody {
  readonly template_content: string
  readonly rendering_engine?: PromptTemplate['engine']
  readonly arguments?: unknown
  /** Rows as in a template file. */
  readonly declared_arguments?: readonly unknown[]
}

type ArgumentRows = Parameters<typeof readArguments>[0]

const checkRows = compileSchema({ type: 'array', items: argumentSchema })

/** Renders a text that stands in no site; with declared arguments, values are checked and become real first. */
export async function preview(principal: Principal, body: PreviewBody, links: LinkTargets): Promise<string> {
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
  )
  const given = argumentsOf(body.arguments)
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
  const all = [
    ...problems,
    ...(await linkProblems(rows, values, (doctype, name) => links.exists(principal, doctype, name))),
  ]
  if (all.length > 0) throw new AppError('invalid', problemsLine('preview', all), { data: { problems: all } })
  return content.render(values)
}

/** Callers of the platform send the arguments as JSON text; read without loss, so that 1.0 stays a float. */
function argumentsOf(given: unknown): Record<string, unknown> {
  const value = typeof given === 'string' ? fromText(given) : (given ?? {})
  const plain: unknown = value instanceof Map ? Object.fromEntries(value) : value
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    throw new AppError('invalid', 'arguments: must be an object')
  }
  return plain as Record<string, unknown>
}

function fromText(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return parseLossless(text)
  } catch (error) {
    throw new AppError('invalid', `arguments: ${messageOf(error)}`)
  }
}
