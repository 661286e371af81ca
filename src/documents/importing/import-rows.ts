/**
 * Imports rows of a file into documents of one doctype, a batch in each transaction, through the checks of every create
 * and update. What a run has done so far is kept in the same transaction, so that a run that was killed goes on where it
 * stood: nothing is made twice.
 */
import { eventOf } from '#audit/audit.ts'
import type { Principal } from '../../core/principal.ts'
import { isoTime } from '#leaf/clock.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { Slice } from '#leaf/slices.ts'
import { accessFor, type Documents, requireAction, type Work } from '../documents.ts'
import type { Warning } from '../writing/change.ts'
import { inWork } from '../work.ts'
import { type ImportOptions, importOne, type ImportRow } from './import-row.ts'
import { requireKey } from './import-target.ts'

/** The rows `from` up to `next` of a run, without those that were refused before they were sent. */
export interface ImportBatch {
  /** The id of the run: equal for the same file, imported in the same way. */
  readonly run: string
  readonly from: number
  readonly next: number
  readonly rows: readonly ImportRow[]
  readonly refused: number
  /** True for the last batch of the run. */
  readonly last: boolean
}

/** What became of a batch. */
export interface ImportAnswer {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly faults: readonly { readonly index: number; readonly problems: readonly string[] }[]
  /** Values that are stored in another form: how many, and the first of them. */
  readonly rounded: number
  readonly warnings: readonly (Warning & { readonly line: number })[]
}

/** The place that a run has reached, with the answer to its last batch. */
export interface ImportMark {
  readonly id: string
  readonly doctype: string
  readonly time: string
  readonly from: number
  readonly next: number
  /** The rows with faults before the last batch, and those of it that were refused before they were sent. */
  readonly faulty: number
  readonly refused: number
  readonly totals: Readonly<Record<'created' | 'updated' | 'unchanged', number>>
  readonly answer: ImportAnswer
  readonly finished: boolean
}

/** Ends a transaction in which rows turned out to have faults; it begins anew without them. */
class Faulty extends Error {
  readonly faults: ImportAnswer['faults']

  constructor(faults: ImportAnswer['faults']) {
    super('rows with faults')
    this.faults = faults
  }
}

const mostWarnings = 20

/** Returns the place that a run has reached; undefined before its first batch. */
export async function importMark({ store }: Documents, run: string): Promise<ImportMark | undefined> {
  return await marksOf(store).get(run)
}

/** How far an earlier run came; its last batch is sent again where it did not finish. */
export interface ImportedBefore extends Pick<
  ImportMark,
  'finished' | 'time' | 'from' | 'faulty' | 'totals'
> {}

/** Returns how far an earlier run came; null where there is none, or where a finished one is to be forgotten for `again`. */
export async function importedBefore(
  documents: Documents,
  run: string,
  again: boolean,
): Promise<ImportedBefore | null> {
  const mark = await importMark(documents, run)
  if (!mark) return null
  const { from, next, faulty, refused, answer, finished, time, totals } = mark
  // The answer to the last batch is given again.
  const { created, updated, unchanged } = totals
  const before = {
    created: created - answer.created,
    updated: updated - answer.updated,
    unchanged: unchanged - answer.unchanged,
  }
  if (!finished) return { finished, time, from, faulty, totals: before }
  if (!again) return { finished, time, from: next, faulty: faulty + refused + answer.faults.length, totals }
  await marksOf(documents.store).delete(run)
  return null
}

/**
 * Imports a batch: rows with faults are told and left out, all others are kept. A batch that was imported before gives
 * the answer it gave. AppError `conflict` for a batch that is not the next one of its run.
 */
export async function importRows(
  documents: Documents,
  principal: Principal,
  doctype: string,
  batch: ImportBatch,
  options: ImportOptions,
): Promise<ImportAnswer> {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'create')
  if (options.key !== undefined) {
    requireKey(access, options.key)
    requireAction(access, 'write')
  }
  const faults: ImportAnswer['faults'][number][] = []
  for (;;) {
    const bad = new Set(faults.map(({ index }) => index))
    const sound = batch.rows.filter(({ index }) => !bad.has(index))
    try {
      return await inWork(access, options, undefined, async (work) => {
        const before = options.dryRun ? undefined : await work.tx.in(marksOf(documents.store)).get(batch.run)
        if (before?.from === batch.from && before.next === batch.next) return before.answer
        if (!options.dryRun && (before?.next ?? 0) !== batch.from)
          throw new AppError('conflict', 'this file is being imported by somebody else just now')
        const done = await importAll(work, sound, options)
        // What a row with a fault did before it was found must not be kept, such as a number taken from a series.
        if (done.faults.length > 0 && !options.dryRun) throw new Faulty(done.faults)
        const answer = { ...done, faults: [...faults, ...done.faults].sort((a, b) => a.index - b.index) }
        if (!options.dryRun) await note(work, batch, before, answer)
        return answer
      })
    } catch (error) {
      if (!(error instanceof Faulty)) throw error
      faults.push(...error.faults)
    }
  }
}

async function importAll(
  work: Work,
  rows: readonly ImportRow[],
  options: ImportOptions,
): Promise<ImportAnswer> {
  const counts = { created: 0, updated: 0, unchanged: 0 }
  const faults: ImportAnswer['faults'][number][] = []
  const warnings: ImportAnswer['warnings'][number][] = []
  let rounded = 0
  const slice = new Slice()
  for (const row of rows) {
    try {
      const { outcome, warnings: own } = await importOne(work, row, options)
      counts[outcome]++
      rounded += own.length
      if (warnings.length < mostWarnings) warnings.push(...own.map((one) => ({ ...one, line: row.line })))
    } catch (error) {
      faults.push({ index: row.index, problems: problemsOf(error) })
    }
    // Others ask for documents meanwhile.
    await slice.rest()
  }
  return { ...counts, faults, rounded, warnings }
}

/** Returns the problems of a row; what is no fault of the row ends the batch. */
function problemsOf(error: unknown): readonly string[] {
  if (!(error instanceof AppError) || !['invalid', 'forbidden', 'conflict', 'not_found'].includes(error.code))
    throw error
  const { problems } = (error.data ?? {}) as { readonly problems?: readonly string[] }
  return problems ?? [messageOf(error)]
}

async function note(
  { documents, tx, principal, access: { doctype } }: Work,
  { run, from, next, refused, last }: ImportBatch,
  before: ImportMark | undefined,
  answer: ImportAnswer,
): Promise<void> {
  const { created, updated, unchanged, faults } = answer
  const earlier = before?.totals ?? { created: 0, updated: 0, unchanged: 0 }
  const faulty = (before?.faulty ?? 0) + (before ? before.answer.faults.length + before.refused : 0)
  await tx.in(marksOf(documents.store)).put({
    id: run,
    doctype: doctype.name,
    time: isoTime(documents.clock.now()),
    from,
    next,
    faulty,
    refused,
    totals: {
      created: earlier.created + created,
      updated: earlier.updated + updated,
      unchanged: earlier.unchanged + unchanged,
    },
    answer,
    finished: last,
  })
  await documents.audit.recordIn(
    tx,
    eventOf(principal, {
      type: 'document.import',
      status: 'ok',
      target: doctype.name,
      data: {
        run,
        rows: [from, next],
        created,
        updated,
        unchanged,
        faulty: faults.length + refused,
        ...(last && { last }),
      },
    }),
  )
}

function marksOf(store: Documents['store']) {
  return store.collection<ImportMark>({ name: 'platform.import' })
}
