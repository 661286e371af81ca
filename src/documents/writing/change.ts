/** A change under way, and the conversion of callers' values to values of fields. */
import type { Reach, Work } from '../documents.ts'
import { AppError } from '#leaf/errors.ts'
import { joined } from '#leaf/names.ts'
import { equal } from '#state/questions.ts'
import { holdsUser } from '../asking/user-fields.ts'
import { expressionUser, maskMarker } from '../permission.ts'
import type { Action, Field } from '../platform/platform.ts'
import { sameValue } from '../history.ts'
import { readValue } from '../values.ts'
import type { StoredDocument } from './stored.ts'

/** A value that was stored in another form than the caller gave. */
export interface Warning {
  readonly field: string
  readonly requested: unknown
  readonly saved: unknown
  readonly reason: string
}

/** A change under way: the work, the action, and the problems found. */
export interface Change {
  readonly work: Work
  readonly access: Reach
  readonly action: Action
  readonly problems: string[]
  readonly warnings: Warning[]
  /** Given fields that the principal may see but not set. */
  readonly refused: string[]
}

/** The values of a document or a row while it is made, by field name. */
export type Values = Record<string, unknown>

/** The most problems collected: a caller mends so many at a time, and more would be work for nothing. */
const mostProblems = 100

/** True if a change has so many problems that the rest need not be checked. */
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
    throw new AppError('invalid', `${access.doctype.name}: ${joined(problems)}`, { data: { problems } })
}

/** Starts a change without any problem. */
export function changeOf(work: Work, action: Action): Change {
  return { work, access: work.access, action, problems: [], warnings: [], refused: [] }
}

/** Reads the value of one field, or adds a problem. */
export function readField(change: Change, field: Field, path: string, given: unknown): unknown {
  const { access, work } = change
  const value = given === 'me' && holdsUser(access.doctype, path) ? access.asker.principal.user : given
  const read = readValue(field, value, { now: work.documents.clock.now() })
  if ('problem' in read) {
    change.problems.push(`${path}: ${read.problem}`)
    return null
  }
  // 5 for "5" is what the caller meant; a rounded number or a shortened text is reported.
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

/** Reports a given value that nobody can set, unless it equals the stored one, which is told as far as the principal may see it. */
export function noteReadOnly(
  change: Change,
  field: Field,
  path: string,
  given: unknown,
  { saved = null, document }: { readonly saved: unknown; readonly document: StoredDocument },
): void {
  const seen = change.access.shows(field, document)
  const told = seen === 'clear' ? saved : seen === 'masked' ? maskMarker : null
  if (equal(given, told)) return
  const reason = field.computed ? 'it is calculated' : 'it is read-only'
  change.warnings.push({ field: path, requested: given, saved: told, reason })
}

/** Reports given values of which the table that holds the document has made others. */
export function noteOtherwise(
  { access, warnings }: Change,
  requested: Readonly<Values>,
  stored: StoredDocument,
  names: readonly string[],
): void {
  for (const name of names) {
    const field = access.doctype.fields.get(name)
    const saved = stored[name] ?? null
    if (!field || sameValue(requested[name] ?? null, saved) || access.shows(field, stored) !== 'clear')
      continue
    warnings.push({ field: name, requested: requested[name], saved, reason: 'stored so by its table' })
  }
}

/** Returns the value of a field when nothing was given. */
export function defaultOf(
  {
    work: { documents, principal },
    access,
  }: { readonly work: Pick<Work, 'documents' | 'principal'>; readonly access: Pick<Reach, 'doctype'> },
  field: Field,
): unknown {
  if (field.defaultExpression) {
    const now = documents.clock.now()
    return field.defaultExpression.evaluate({ doc: {}, user: expressionUser(principal), now })
  }
  // A table of others has defaults of its own.
  if (field.default === undefined) return field.type === 'check' && !access.doctype.origin ? false : undefined
  return field.default
}
