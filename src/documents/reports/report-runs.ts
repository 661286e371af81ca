/**
 * Reports that run in the background, for one user, one set of filters and one reading of the site. They are kept in the
 * state: every daemon shows the results and runs of the others, and takes over the runs of a lost one.
 */
import { within } from '#leaf/deadline.ts'
import type { Clock } from '#leaf/clock.ts'
import { Decimal } from '#leaf/decimal.ts'
import { AppError, type AppErrorCode, Cancelled, messageOf } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import type { ShownDocuments } from '#audit/audit.ts'
import { Shown } from '../../core/shown.ts'
import type { Collection, Store, Stored, Transaction } from '#state/store.ts'
import { changeUnderWay, isLost, isUnderWay, type Vouched, vouchedFrom, Voucher } from '../../core/vouched.ts'
import type { CountedStates } from '../asking/aggregating.ts'
import type { Documents } from '../documents.ts'
import type { RunHere } from '../memory.ts'
import type { Report } from '../platform/platform.ts'

/** The time that a report may take. */
export interface RunOptions {
  readonly signal: AbortSignal
  /** Milliseconds to wait for a run in the background. */
  readonly wait: number
}

/** The result of a report, and the filters in force, defaults included. */
export interface ReportResult {
  readonly columns: readonly { readonly name: string; readonly label: string }[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly totals?: Readonly<Record<string, unknown>>
  /** The states of its documents; of an SQL report that does not look at them in words. */
  readonly counted?: CountedStates | string
  /** True if there are more rows than the report's cap. */
  readonly capped: boolean
  readonly filters: Readonly<Record<string, unknown>>
  /** Milliseconds since the epoch; in the past when a kept result is shown. */
  readonly at: number
}

/** A report that is still running. */
export interface ReportPending {
  readonly pending: true
  readonly started: number
}

/** The record of a run, without its result. */
interface ReportRun extends Vouched {
  /** The key of one user with these roles: others see other rows of the same report with the same filters. */
  readonly key: string
  readonly user: string
  readonly startedAt: number
  readonly endedAt?: number
  readonly expiresAt: number
  /** The documents that a reader of the result is shown. */
  readonly shown?: readonly ShownDocuments[]
  readonly error?: { readonly code?: AppErrorCode; readonly message: string }
}

/** The result of a run, as a text: nobody searches in it. */
interface ReportText extends Stored {
  readonly text: string
  readonly expiresAt: number
}

type Run = (reader: Principal, signal: AbortSignal) => Promise<ReportResult>

/** Bounds of kept results: they expire after an hour, or at once when a user has many. */
const longestKept = 3_600_000
const mostOfUser = 20
const mostText = 32_000_000
const lookMilliseconds = 1000

/** Shows the result of a run, waits for one under way, or starts one. */
export async function runInBackground(
  documents: Documents,
  principal: Principal,
  { report, filters }: { readonly report: Report; readonly filters: Readonly<Record<string, unknown>> },
  run: Run,
  { signal, wait }: RunOptions,
): Promise<ReportResult | ReportPending> {
  const { platform, clock, memory } = documents
  const { user, roleKey, client } = principal
  // A database of others is told the app as well, and may show it less than another app of the same user.
  const app = [...platform.doctypes.values()].some(({ origin }) => origin) ? [client?.id ?? null] : []
  const key = sha256(
    JSON.stringify([platform.digest, report.name, report.source, user, roleKey, filters, ...app]),
  )
  const runs = runsOf(documents.store)
  const end = within(wait, signal)
  let waited: string | undefined
  for (;;) {
    const found = await latest(runs, key)
    const isMine = found !== undefined && found.id === waited
    if (
      found?.status === 'completed' &&
      (isMine || clock.now() - found.endedAt! <= report.cacheSeconds! * 1000)
    ) {
      for (const { doctype, names, count } of found.shown ?? [])
        principal.shown?.note(doctype, names, count - names.length)
      const kept = await textsOf(documents.store).get(found.id)
      if (kept) return resultOf(kept.text)
    } else if (isMine && found.status === 'failed')
      throw memory.reports.get(found.id)?.error ?? faultOf(found)
    else if (isMine && found.status === 'cancelled')
      throw new AppError('conflict', 'the report was cancelled; ask again to run it anew')
    const under =
      found && isUnderWay(found) && !isLost(found, clock)
        ? found
        : await begin(documents, principal, { key, run })
    waited = under.id
    if (end.aborted) {
      if (signal.reason instanceof Cancelled && signal.reason.isWish) await cancel(documents, under.id)
      return { pending: true, started: under.startedAt }
    }
    await next(memory.reports.get(under.id), end)
  }
}

/** Gives up the runs of this daemon, so that another takes them over. */
export async function leaveReports({
  store,
  clock,
  memory,
}: Pick<Documents, 'store' | 'clock' | 'memory'>): Promise<void> {
  for (const [id, { stop }] of memory.reports) {
    await changeUnderWay(runsOf(store), id, clock, () => ({ vouchedUntil: 0 }))
    stop.abort(new AppError('unavailable', 'the service stopped while the report ran'))
  }
}

async function cancel({ store, clock, memory }: Documents, id: string): Promise<void> {
  await changeUnderWay(runsOf(store), id, clock, () => ({ status: 'cancelled' }))
  memory.reports.get(id)?.stop.abort(new Cancelled())
}

/** Starts a run here, unless another daemon was quicker. */
async function begin(
  documents: Documents,
  principal: Principal,
  { key, run }: { readonly key: string; readonly run: Run },
): Promise<ReportRun> {
  const { store, clock } = documents
  const mine: ReportRun = {
    id: randomId(),
    key,
    user: principal.user,
    ...vouchedFrom(clock),
    startedAt: clock.now(),
    expiresAt: clock.now() + longestKept,
  }
  const agreed = await store.transaction(async (transaction) => {
    const runs = transaction.in(runsOf(store))
    const other = await latest(runs, key)
    if (other && isUnderWay(other) && !isLost(other, clock)) return other
    await makeRoom(transaction, store, principal.user)
    return await runs.insert(mine)
  })
  if (agreed.id === mine.id) start(documents, principal, mine.id, run)
  return agreed
}

function start({ store, clock, memory }: Documents, principal: Principal, id: string, run: Run): void {
  const stop = new AbortController()
  const voucher = new Voucher(runsOf(store), id, clock, { ended: () => stop.abort(new Cancelled()) })
  const shown = new Shown()
  const here: RunHere = {
    stop,
    // The caller may go; a later call finds the result.
    done: run({ ...principal, shown }, stop.signal)
      .then((result) => keep({ store, clock }, id, textOf(result), shown))
      .catch((error: unknown) => {
        here.error = error
        return fail({ store, clock }, id, error)
      })
      // A failure that cannot be stored shows when nobody vouches for the run any more.
      .catch(() => undefined)
      .finally(() => {
        voucher.stop()
        // Callers that wait here still ask for its error.
        setTimeout(() => memory.reports.delete(id), lookMilliseconds).unref()
      }),
  }
  memory.reports.set(id, here)
}

async function keep(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  id: string,
  text: string,
  shown: Shown,
): Promise<void> {
  if (text.length > mostText)
    throw new AppError('invalid', 'the result of the report is too long to be kept; narrow the filters')
  const endedAt = clock.now()
  const expiresAt = endedAt + longestKept
  await store.transaction(async (transaction) => {
    const runs = transaction.in(runsOf(store))
    const found = await runs.get(id)
    if (!found || !isUnderWay(found)) return
    await transaction.in(textsOf(store)).insert({ id, text, expiresAt })
    const documents = shown.told()
    await runs.put({
      ...found,
      status: 'completed',
      endedAt,
      expiresAt,
      ...(documents && { shown: documents }),
    })
  })
}

async function fail(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  id: string,
  error: unknown,
): Promise<void> {
  const code = error instanceof AppError ? { code: error.code } : {}
  const told = { ...code, message: messageOf(error) }
  await changeUnderWay(runsOf(store), id, clock, () => ({ status: 'failed', error: told }))
}

function faultOf({ error }: ReportRun): Error {
  return error?.code ? new AppError(error.code, error.message) : new Error(error?.message)
}

async function makeRoom(transaction: Transaction, store: Store, user: string): Promise<void> {
  const runs = transaction.in(runsOf(store))
  const old = (await runs.find({ where: { user }, order: [{ field: 'startedAt' }] })).filter(
    (one) => !isUnderWay(one),
  )
  for (const { id } of old.slice(0, Math.max(0, old.length + 1 - mostOfUser))) {
    await runs.delete(id)
    await transaction.in(textsOf(store)).delete(id)
  }
}

async function latest(runs: Collection<ReportRun>, key: string): Promise<ReportRun | undefined> {
  return (await runs.find({ where: { key }, order: [{ field: 'startedAt' }] })).at(-1)
}

function runsOf(store: Store): Collection<ReportRun> {
  return store.collection<ReportRun>({
    name: 'platform.report_run',
    indexes: ['key', 'user'],
    expires: 'expiresAt',
  })
}

function textsOf(store: Store): Collection<ReportText> {
  return store.collection<ReportText>({ name: 'platform.report_text', expires: 'expiresAt' })
}

/** Settles when the run of this daemon has ended, or when it is time to look again. */
function next(here: RunHere | undefined, end: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer)
      end.removeEventListener('abort', wake)
      resolve()
    }
    const timer = setTimeout(wake, lookMilliseconds)
    end.addEventListener('abort', wake)
    void here?.done.then(wake)
  })
}

/** Writes the result as JSON, which has no decimals: the columns and totals that hold some are named beside it. */
function textOf(result: ReportResult): string {
  const { columns, rows, totals = {} } = result
  const isDecimal = (value: unknown): boolean => value instanceof Decimal
  const decimals = columns.map(({ name }) => name).filter((name) => rows.some((row) => isDecimal(row[name])))
  return JSON.stringify({
    result,
    decimals,
    sums: Object.keys(totals).filter((name) => isDecimal(totals[name])),
  })
}

function resultOf(text: string): ReportResult {
  const { result, decimals, sums } = JSON.parse(text) as {
    result: ReportResult
    decimals: readonly string[]
    sums: readonly string[]
  }
  const revive = (values: Record<string, unknown>, names: readonly string[]): void => {
    for (const name of names) {
      const value = values[name]
      if (typeof value === 'string') values[name] = Decimal.read(value) ?? value
    }
  }
  for (const row of result.rows) revive(row, decimals)
  if (result.totals) revive(result.totals, sums)
  return result
}
