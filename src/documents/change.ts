/** One change under way, and how values of callers become values of fields. */
import { AppError } from '../core/errors.ts'
import { equal } from '../core/expression-values.ts'
import { type Access, expressionUser } from './permission.ts'
import type { Action, Field } from './platform.ts'
import { readValue } from './values.ts'
import type { Work } from './work.ts'

/** A value that was stored otherwise than the caller asked. */
export interface Warning {
  readonly field: string
  readonly requested: unknown
  readonly saved: unknown
  readonly reason: string
}

/** One change under way: who does what, and what is found wrong with it. */
export interface Change {
  readonly work: Work
  readonly access: Access
  readonly action: Action
  readonly problems: string[]
  readonly warnings: Warning[]
  /** Fields of the data that the principal may see but not set. */
  readonly refused: string[]
}

/** The values of a document or a row while it is made, by field name. */
export type Values = Record<string, unknown>

/** A caller mends so many at a time; looking for more would be work for nothing. */
const mostProblems = 100

/** Whether so much is wrong with a change that the rest need not be looked at. */
export function isHopeless({ problems, refused }: Change): boolean {
  return problems.length + refused.length >= mostProblems
}

/** Ends a change that has problems: `forbidden` when fields are refused, else `invalid` with all problems. */
export function refuseProblems({ problems, refused, access }: Change): void {
  if (refused.length > 0)
    throw new AppError(
      'forbidden',
      `you may not set ${refused.join(', ')} of ${access.doctype.name}; leave ${refused.length === 1 ? 'it' : 'them'} out`,
    )
  if (problems.length > 0)
    throw new AppError('invalid', `${access.doctype.name}: ${problems.join('; ')}`, { data: { problems } })
}

/** A change without any problem yet. */
export function changeOf(work: Work, access: Access, action: Action): Change {
  return { work, access, action, problems: [], warnings: [], refused: [] }
}

/** The value of one field, or a problem. */
export function readField(change: Change, field: Field, path: string, given: unknown): unknown {
  const read = readValue(field, given)
  if ('problem' in read) {
    change.problems.push(`${path}: ${read.problem}`)
    return null
  }
  // 5 for "5" is what the caller meant; a number that was rounded or a text that was cut is told.
  const changed = !equal(read.value, given) && typeof given === typeof read.value && field.type !== 'json'
  if (changed)
    change.warnings.push({
      field: path,
      requested: given,
      saved: read.value,
      reason: `stored as a ${field.type}`,
    })
  return read.value
}

/** Tells that a value that nobody can set was given, unless it is the one that stands there. */
export function noteReadOnly(
  change: Change,
  field: Field,
  path: string,
  given: unknown,
  saved: unknown,
): void {
  if (equal(given, saved)) return
  const reason = field.computed ? 'it is calculated' : 'it is read-only'
  change.warnings.push({ field: path, requested: given, saved: saved ?? null, reason })
}

/** What a field holds when nothing was given. */
export function defaultOf({ work: { documents, principal } }: Change, field: Field): unknown {
  if (field.defaultExpression) {
    const now = documents.clock.now()
    return field.defaultExpression.evaluate({ doc: {}, user: expressionUser(principal), now })
  }
  if (field.default === undefined) return field.type === 'check' ? false : undefined
  return field.default
}
