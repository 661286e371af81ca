/**
 * The arguments of a prompt (specification §2.7, §4.6). Supplied arguments are checked together, with every
 * problem at once, and become real values, so that the text `false` is false in a condition.
 */
import { didYouMean } from '#leaf/names.ts'
import { bounded } from '#leaf/pattern.ts'
import { isMissing, valueText } from '../../core/values.ts'
import { coercionOf, type Coercion } from './argument-types.ts'
import type { PromptArgument } from '../words.ts'

const mostProblems = 100

/** A problem of one argument of a call; goes to the peer as `data.problems`. */
export interface ArgumentProblem {
  readonly argument: string
  readonly problem: string
}

/** The result of checking arguments. */
export interface CheckedArguments {
  /** Real values with defaults filled in; an optional argument that nobody supplied is absent. */
  readonly values: Readonly<Record<string, unknown>>
  readonly problems: readonly ArgumentProblem[]
}

/** True when a document exists for the caller; decides about arguments of type `link`. */
export type LinkCheck = (doctype: string, name: string) => Promise<boolean>

/** Checks the arguments of one call at a moment, of which days in words are read. */
export type ArgumentCheck = (supplied: Readonly<Record<string, unknown>>, now: number) => CheckedArguments

/**
 * Compiles the check of a template's arguments, once at load. Problems of the rows themselves (a pattern
 * that does not compile, a default that is not allowed) are reported through `fault`.
 */
export function compileArguments(
  rows: readonly PromptArgument[],
  fault: (row: number, property: string, message: string) => void,
): ArgumentCheck {
  const compiled = bounded(() =>
    rows.map((argument, row) => {
      const coerce = coercionOf(argument, (property, message) => fault(row, property, message))
      return {
        argument,
        coerce,
        fallback: fallbackOf(argument, coerce, (message) => fault(row, 'default_value', message)),
      }
    }),
  )
  const names = new Set(rows.map((argument) => argument.name))

  const check: ArgumentCheck = (supplied, now) => {
    // The object has no prototype, since an argument may be called `constructor`.
    const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>
    const problems: ArgumentProblem[] = []
    for (const { argument, coerce, fallback } of compiled) {
      const given = Object.hasOwn(supplied, argument.name) ? supplied[argument.name] : undefined
      if (isMissing(given)) {
        if (fallback !== undefined) values[argument.name] = fallback(now)
        else if (argument.required) problems.push({ argument: argument.name, problem: 'is required' })
        continue
      }
      const coerced = coerce(given, now)
      if ('problem' in coerced) problems.push({ argument: argument.name, problem: coerced.problem })
      else values[argument.name] = coerced.value
    }
    for (const name of Object.keys(supplied)) {
      // A caller who made up a hundred names needs no longer list.
      if (problems.length >= mostProblems) break
      if (!names.has(name)) problems.push({ argument: name, problem: unknownArgument(name, names) })
    }
    return { values, problems }
  }
  return (supplied, now) => bounded(() => check(supplied, now))
}

/** Returns the problems of `link` arguments: documents that do not exist for the caller. */
export async function linkProblems(
  rows: readonly PromptArgument[],
  values: Readonly<Record<string, unknown>>,
  exists: LinkCheck,
): Promise<ArgumentProblem[]> {
  const problems: ArgumentProblem[] = []
  for (const { name, type, doctype } of rows) {
    const value = values[name]
    if (type !== 'link' || doctype === undefined || typeof value !== 'string') continue
    if (!(await exists(doctype, value))) {
      problems.push({ argument: name, problem: `there is no ${doctype} "${value}"` })
    }
  }
  return problems
}

/** Returns the description of an argument as `prompts/list` shows it (specification §4.5, prompts rule 2). */
export function listedDescription(argument: PromptArgument): string {
  const parts = [
    argument.description || argument.label,
    ...(argument.allowedValues.length > 0 ? [`Options: ${argument.allowedValues.join(', ')}`] : []),
    ...(argument.default === null ? [] : [`Default: ${valueText(argument.default)}`]),
  ]
  return parts.map((part) => part.replace(/\.\s*$/, '')).join('. ')
}

/** Returns all problems in one line, as the message of an error. */
export function problemsLine(id: string, problems: readonly ArgumentProblem[]): string {
  return `${id}: ${problems.map(({ argument, problem }) => `${argument}: ${problem}`).join('; ')}`
}

/** Returns the default of an argument as of a moment; undefined without one. */
function fallbackOf(
  argument: PromptArgument,
  coerce: Coercion,
  fault: (message: string) => void,
): ((now: number) => unknown) | undefined {
  if (isMissing(argument.default)) return undefined
  const coerced = coerce(argument.default, 0)
  if ('problem' in coerced) {
    fault(coerced.problem)
    return undefined
  }
  const isDay = argument.type === 'date' || argument.type === 'datetime'
  return isDay ? (now) => Reflect.get(coerce(argument.default, now), 'value') : () => coerced.value
}

function unknownArgument(name: string, known: ReadonlySet<string>): string {
  return `is not an argument of this prompt${didYouMean(name, known)}`
}
