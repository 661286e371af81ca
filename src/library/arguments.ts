/**
 * The arguments of a prompt (specification §2.7, §4.6): what a caller supplies is checked whole,
 * every problem at once, and becomes real values, so that the text `false` is false in a condition.
 */
import { didYouMean } from '../core/names.ts'
import { isMissing, valueText } from '../core/values.ts'
import { coercionOf, type Coercion } from './argument-types.ts'
import type { PromptArgument } from './words.ts'

const mostProblems = 100

/** What is wrong with one argument of a call; goes to the peer as `data.problems`. */
export interface ArgumentProblem {
  readonly argument: string
  readonly problem: string
}

/** Arguments after checking. */
export interface CheckedArguments {
  /** Real values, defaults filled in; an optional argument that nobody supplied is absent. */
  readonly values: Readonly<Record<string, unknown>>
  readonly problems: readonly ArgumentProblem[]
}

/** Whether a document exists for the caller; decides about arguments of type `link`. */
export type LinkCheck = (doctype: string, name: string) => Promise<boolean>

/** Checks the arguments of one call. */
export type ArgumentCheck = (supplied: Readonly<Record<string, unknown>>) => CheckedArguments

/**
 * Makes the check of a template's arguments, once at load. Problems of the rows themselves (a pattern
 * that does not compile, a default that is not allowed) are told through `fault`.
 */
export function compileArguments(
  rows: readonly PromptArgument[],
  fault: (row: number, property: string, message: string) => void,
): ArgumentCheck {
  const compiled = rows.map((argument, row) => {
    const coerce = coercionOf(argument, (property, message) => fault(row, property, message))
    return {
      argument,
      coerce,
      fallback: fallbackOf(argument, coerce, (message) => fault(row, 'default_value', message)),
    }
  })
  const names = new Set(rows.map((argument) => argument.name))

  return (supplied) => {
    // No prototype: an argument may be called `constructor`.
    const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>
    const problems: ArgumentProblem[] = []
    for (const { argument, coerce, fallback } of compiled) {
      const given = Object.hasOwn(supplied, argument.name) ? supplied[argument.name] : undefined
      if (isMissing(given)) {
        if (fallback !== undefined) values[argument.name] = fallback
        else if (argument.required) problems.push({ argument: argument.name, problem: 'is required' })
        continue
      }
      const coerced = coerce(given)
      if ('problem' in coerced) problems.push({ argument: argument.name, problem: coerced.problem })
      else values[argument.name] = coerced.value
    }
    for (const name of Object.keys(supplied)) {
      // Whoever made up a hundred needs no longer list.
      if (problems.length >= mostProblems) break
      if (!names.has(name)) problems.push({ argument: name, problem: unknownArgument(name, names) })
    }
    return { values, problems }
  }
}

/** Problems of `link` arguments: documents that do not exist for the caller. */
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

/** The description of an argument as `prompts/list` shows it (specification §4.5, prompts rule 2). */
export function listedDescription(argument: PromptArgument): string {
  const parts = [
    argument.description || argument.label,
    ...(argument.allowedValues.length > 0 ? [`Options: ${argument.allowedValues.join(', ')}`] : []),
    ...(argument.default === null ? [] : [`Default: ${valueText(argument.default)}`]),
  ]
  return parts.map((part) => part.replace(/\.\s*$/, '')).join('. ')
}

/** All problems in one line, as the message of an error. */
export function problemsLine(id: string, problems: readonly ArgumentProblem[]): string {
  return `${id}: ${problems.map(({ argument, problem }) => `${argument}: ${problem}`).join('; ')}`
}

function fallbackOf(argument: PromptArgument, coerce: Coercion, fault: (message: string) => void): unknown {
  if (isMissing(argument.default)) return undefined
  const coerced = coerce(argument.default)
  if ('value' in coerced) return coerced.value
  fault(coerced.problem)
  return undefined
}

function unknownArgument(name: string, known: ReadonlySet<string>): string {
  return `is not an argument of this prompt${didYouMean(name, known)}`
}
