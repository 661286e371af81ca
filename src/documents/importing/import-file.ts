/** Imports a file: plans it, shows the plan, sends batch after batch, and writes rows with faults into a file beside it. */
import type { SandboxSettings } from '#sandbox/settings.ts'
import { AppError } from '#leaf/errors.ts'
import { FaultsFile } from './faults-file.ts'
import type { ImportAnswer, ImportBatch, ImportedBefore } from './import-rows.ts'
import type { ImportTarget } from './import-target.ts'
import { openSource } from '#rows/open-source.ts'
import {
  batchesOf,
  type FaultyRow,
  type Plan,
  type PlannedBatch,
  planImport,
  type PlanOptions,
} from './plan.ts'
import type { ImportSource, SourceOptions } from '#rows/source.ts'

/** The ways into the program, wherever it runs. */
export interface ImportDoor {
  target(who: Who): Promise<ImportTarget>
  mark(of: { readonly run: string; readonly again: boolean }): Promise<ImportedBefore | null>
  rows(batch: Who & ImportBatch & { readonly key?: string; readonly dry_run: boolean }): Promise<ImportAnswer>
}

type Who = Pick<FileImport, 'doctype' | 'user'>

/** What is imported, and how. */
export interface FileImport extends PlanOptions {
  readonly door: ImportDoor
  /** Is told the plan, and what goes on. */
  planned(plan: Plan, source: ImportSource): void
  moved(done: number, all: number, since: number): void
  readonly path: string
  readonly doctype: string
  readonly source: SourceOptions
  readonly again: boolean
  readonly settings: SandboxSettings['files']
}

/** What an import did, or would do. */
export type ImportReport = Awaited<ReturnType<typeof importFile>>

const mostTold = 20

/**
 * Imports a file. AppError `conflict` when this very file was imported in this way before, `invalid` for a plan that
 * cannot work; rows with faults are in the report, and change nothing about the others.
 */
export async function importFile(asked: FileImport) {
  const { doctype, user, key, path, dryRun, door } = asked
  const who = { doctype, user }
  const target = await door.target(who)
  const source = await openSource(path, asked.source, asked.settings)
  const plan = await planImport(source, target, asked)
  asked.planned(plan, source)
  const { run, columns, dialect } = plan
  const mark = dryRun ? null : await door.mark({ run, again: asked.again })
  if (mark?.finished === true)
    throw new AppError(
      'conflict',
      `${path} was imported at ${mark.time} already; --again imports it once more`,
    )
  const from = mark?.from ?? 0
  const file = await FaultsFile.open(path, source, mark?.faulty ?? 0)
  const { told, add } = tallyOf(path, mark)
  try {
    const send = ({ batch }: PlannedBatch): Promise<ImportAnswer> =>
      door.rows({ ...who, key, dry_run: dryRun, ...batch })
    for await (const [planned, answer] of answered(source, target, plan, asked, from, send)) {
      const faulty = faultyOf(planned, answer)
      await file.add(faulty)
      add(answer, faulty)
      asked.moved(planned.batch.next, source.count, from)
    }
  } finally {
    await file.close()
  }
  const form: Readonly<Record<string, unknown>> = {
    format: source.format,
    ...source.form,
    ...(dialect.decimalComma && { decimal: ',' }),
    ...(dialect.dates && { dates: dialect.dates }),
  }
  return {
    doctype,
    file: path,
    dry_run: dryRun,
    run,
    rows: source.count,
    ...told,
    faults_file: told.faulty > 0 ? file.name : null,
    columns,
    form,
    // The number of the row at which an earlier run, which was ended, is taken up; 0 for a new one.
    resumed_at: from,
  }
}

/** Yields batches with their answers; while one is worked on, the next is read. */
async function* answered(
  source: ImportSource,
  target: ImportTarget,
  plan: Plan,
  options: PlanOptions,
  from: number,
  send: (planned: PlannedBatch) => Promise<ImportAnswer>,
): AsyncGenerator<readonly [PlannedBatch, ImportAnswer]> {
  const batches = batchesOf(source, target, plan, options, from)
  let current = await batches.next()
  while (!current.done) {
    const [answer, next] = await Promise.all([send(current.value), batches.next()])
    yield [current.value, answer]
    current = next
  }
}

function faultyOf({ refused, faulty }: PlannedBatch, { faults }: ImportAnswer): readonly FaultyRow[] {
  const all = new Map(refused)
  for (const { index, problems } of faults) all.set(index, faulty(index, problems))
  return [...all].sort(([a], [b]) => a - b).map(([, row]) => row)
}

/** Adds up answers, after those of an earlier run; the first faults are told as `file:line:column: fault`. */
function tallyOf(path: string, mark: ImportedBefore | null) {
  const told = {
    created: 0,
    updated: 0,
    unchanged: 0,
    ...mark?.totals,
    faulty: mark?.faulty ?? 0,
    faults: [] as string[],
    // Values stored in another form than given, and the first of them.
    rounded: 0,
    warnings: [] as string[],
  }
  const add = (answer: ImportAnswer, faulty: readonly FaultyRow[]): void => {
    for (const outcome of ['created', 'updated', 'unchanged'] as const) told[outcome] += answer[outcome]
    told.faulty += faulty.length
    told.rounded += answer.rounded
    const faults = faulty.flatMap((row) =>
      row.faults.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`),
    )
    told.faults.push(...faults.slice(0, mostTold - told.faults.length))
    const warned = answer.warnings.map(
      ({ line, field, requested, saved, reason }) =>
        `${path}:${line}: ${field}: ${JSON.stringify(requested)} becomes ${JSON.stringify(saved)}: ${reason}`,
    )
    told.warnings.push(...warned.slice(0, mostTold - told.warnings.length))
  }
  return { told, add }
}
