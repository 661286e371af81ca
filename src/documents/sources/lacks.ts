/** Privileges that the login of a source has lost: what needs one of them is refused, and the rest goes on. */
import { isDeepStrictEqual } from 'node:util'
import type { StepThere } from '../tables-of-others.ts'
import { RefusedThere } from '../writing/refused-there.ts'
import type { StoredDocument } from '../writing/stored.ts'
import type { Problem } from './rule-problems.ts'

/** A privilege that the login of a source lacks. */
export interface Lack extends Problem {
  readonly privilege: string
  /** What needs it; `lock`: every change of a row that is there; `keys`: every call that is kept there. */
  readonly needed: 'create' | 'change' | 'delete' | 'lock' | 'keys'
  /** The one field whose writing needs it, `id` for the name; each such deed where there is none. */
  readonly field?: string
}

/** Returns the lacks that keep a step from being done. */
export function lacksOf(lacks: readonly Lack[], step: StepThere | 'lock' | 'keys'): readonly Lack[] {
  const { before, after } = typeof step === 'string' ? {} : step
  const deed = typeof step === 'string' ? step : !before ? 'create' : after ? 'change' : 'delete'
  const valueIn = (document: StoredDocument | undefined, field: string): unknown => document?.[field] ?? null
  return lacks.filter(({ needed, field }) => {
    if (needed !== deed) return false
    // A new row leaves out what it is not given.
    const from = deed === 'create' ? (field === 'id' ? '' : null) : valueIn(before, field ?? '')
    return field === undefined || !isDeepStrictEqual(from, valueIn(after, field))
  })
}

/** Returns the refusal of what needs a privilege that is lacking. */
export function lackRefusal(source: string, lacks: readonly Lack[], cause?: unknown): RefusedThere {
  const privileges = [...new Set(lacks.map(({ privilege }) => privilege))].join(', ')
  const why = `the login of the source "${source}" lacks ${privileges} for this; its operator has been told`
  // Where one lack is of every such deed, no field is to blame.
  const fields = lacks.every(({ field }) => field !== undefined) ? lacks.map(({ field }) => field!) : []
  return new RefusedThere(why, { fields, code: 'unavailable', cause })
}
