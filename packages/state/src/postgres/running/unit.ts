/** One piece of work of the store among those that share a transaction. */
import type { TableSpec } from '../../embedded/table.ts'
import { isCollision } from '../servers/errors.ts'
import { keyOf } from './keys.ts'
import type { PgSession } from './session.ts'
import type { Unit } from './units.ts'

export class PgUnit implements Unit {
  readonly reads: readonly (readonly [TableSpec, string])[]
  readonly work: (session: PgSession) => Promise<object | void>
  readonly keys: Set<string>
  tries = 0
  isSingle = false
  isCareful = false
  isPatient = false
  /** The transaction that the work had, unless it failed. */
  transaction: object | undefined
  /** The error of the work by itself. */
  failed: { readonly error: unknown } | undefined

  constructor(reads: PgUnit['reads'], work: PgUnit['work']) {
    this.reads = reads
    this.work = work
    this.keys = new Set(reads.flatMap(([{ name, contended }, id]) => (contended ? [keyOf(name, id)] : [])))
  }
}

/** Runs the work of units one after the other; what one did that fails by itself is undone. */
export async function runTogether(units: readonly PgUnit[], session: PgSession): Promise<void> {
  const reads = units.flatMap((unit) => unit.reads)
  for (const [spec] of reads) await session.declare(spec)
  if (reads.length > 0) await session.load(reads)
  for (const unit of units) {
    const mark = units.length > 1 ? session.mark() : undefined
    unit.failed = undefined
    unit.transaction = undefined
    try {
      unit.transaction = (await unit.work(session)) ?? undefined
    } catch (error) {
      // It may have failed for what it wrongly took to be free.
      await session.confirm().catch(() => undefined)
      if (session.out.failure || isCollision(error) || !mark) throw session.out.failure?.error ?? error
      if (!session.undo(mark)) throw new Error('what failed cannot be undone by itself', { cause: error })
      unit.failed = { error }
    }
    if (session.out.failure) throw session.out.failure.error
  }
}
