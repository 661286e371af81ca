/** The parts that a log is written with, and the rules for every event. */
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import type { LineLog } from '#state/lines.ts'
import type { Ledger, LedgerPlace, SharedLedger, Store } from '#state/store.ts'
import type { LogKey } from './checkpoint.ts'
import type { AuditEvent } from './audit.ts'
import type { AuditLoss, KnownLine, LogMemory } from './verifying/known-log.ts'
import type { FileLedger, FileParts } from './files/file-ledger.ts'
import { eventIn, type ToldEvent } from './line.ts'

/** The time that a reader of documents waits for their event; once one has waited so long, new ones are refused at once. */
const patienceMilliseconds = 5_000
const patience = {
  milliseconds: patienceMilliseconds,
  late: 'it could not be written to the audit log in time, so nothing is shown',
}

/** The parts that a log is kept with. */
export interface LogParts extends FileParts {
  readonly folder: string
  readonly store: Store
  readonly key: LogKey
  readonly memory: LogMemory
  /** The room kept on the disk for events of reads, when nothing else is left. */
  readonly reserveBytes?: number
  readonly tell: (event: AuditEvent) => ToldEvent
  /** Records an event, and settles when it is kept. */
  readonly told: (event: AuditEvent) => Promise<void>
  /** Called with the lines of each write, after it. */
  readonly written: (lines: readonly string[]) => void
  /** Called when a checkpoint is kept. */
  readonly signed: (key: string, end: KnownLine) => void
  /** Called when lines that had been kept are found to be gone. */
  readonly missing: (expected: number, end: KnownLine) => void
}

/** A daemon's part in a ledger. */
export interface LedgerPart {
  readonly ledger: Ledger
  /** The same ledger, when it is files in the daemon's folder. */
  readonly files?: FileLedger
  /** The name of the daemon's writer. */
  readonly id: string
  /** The name of the file with its head: what happens to a database does not happen to that file. */
  readonly head: string
  /** The file for lines that a database has no room for. */
  readonly reserve: string
}

/** A daemon's part in the ledger of a database. */
export interface SharedPart extends LedgerPart {
  readonly ledger: SharedLedger
  /** The daemon's name for people. */
  readonly name: string
}

/** What a transaction tells, and the lines that it removes. */
export interface TransactionPart {
  readonly events: readonly ToldEvent[]
  readonly dropped: readonly LedgerPlace[]
}

/** The size of a log. */
export interface LogSize {
  readonly lines: number
  readonly files: number
  readonly bytes: number
  /** The day of the oldest line, as `2026-01-31`. */
  readonly oldest?: string
  /** The number of daemons that wrote it, where they share one. */
  readonly writers?: number
  /** Warnings for somebody to look at, though the log is written. */
  readonly warnings: readonly string[]
}

/** The writing side of a log. */
interface Writing {
  /** Accepts events, and keeps their order. Callers have asked `requireWritable`, or must not lose the event. */
  readonly lines: LineLog<ToldEvent>
  /** True when the disk is full: then only reads are recorded. */
  readonly isOnReserve: boolean
}

/** Throws AppError `unavailable` while the log cannot be written, or cannot be by those who do more than read. */
export function requireWritable({ lines, isOnReserve }: Writing, reading = false): void {
  lines.requireWritable()
  if (!reading && isOnReserve)
    throw new AppError(
      'unavailable',
      'the audit log cannot be written now: the disk is full; reading goes on from a reserve',
    )
}

/** Returns why an event recorded now would not be written in time; undefined while it would be. */
export function latenessOf({ lines }: Pick<Writing, 'lines'>): string | undefined {
  const { waitsFor } = lines
  if (waitsFor <= patienceMilliseconds) return undefined
  return `an event has waited for ${Math.floor(waitsFor / 1000)} seconds`
}

/** Records an event, in time if it names documents: else they are not shown, and that is recorded. */
export function record(
  writer: Writing,
  event: AuditEvent,
  tell: (event: AuditEvent) => ToldEvent,
  log: Log,
): Promise<void> {
  let told: ToldEvent | undefined
  try {
    told = tell(event)
    requireWritable(writer, true)
  } catch (error) {
    // Callers who do not wait for this must still be able to find what was not kept.
    log.error('an audit event was refused', told ? { event: eventIn(told) } : { type: event.type, error })
    return quiet(Promise.reject(error))
  }
  return event.documents ? quiet(showing(writer, event, told, tell)) : writer.lines.add(told)
}

async function showing(
  writer: Writing,
  event: AuditEvent,
  told: ToldEvent,
  tell: (event: AuditEvent) => ToldEvent,
): Promise<void> {
  try {
    await writer.lines.add(told, patience)
  } catch (error) {
    // The event may still be written; then the one after it records that nothing was shown.
    const { documents: _, result: _result, ...rest } = event
    const untold = tell({ ...rest, status: 'error', success: false, error: patience.late })
    void writer.lines.add(untold)
    throw error
  }
}

/** Marks a promise that nobody needs to await: its rejection alone ends no program. */
export function quiet(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined)
  return promise
}

/** Settles when everything accepted so far is kept or cannot be; later events are not awaited. */
export async function settle({ lines }: Pick<Writing, 'lines'>): Promise<void> {
  if (lines.fault === undefined) await lines.settled().catch(() => undefined)
}

/** Closes the lines of a writer; logs those that are lost, so that people at least learn of them. */
export async function closeLines({ lines }: Pick<Writing, 'lines'>, log: Log): Promise<void> {
  const lost = await lines.close()
  if (lost.length > 0)
    log.error('audit events were lost: the log could not be written until the end', {
      events: lost.map(eventIn),
    })
}

/** How the log can be written, as this process knows it without asking disk or database. */
export interface AuditCondition {
  /** The number of events accepted and not yet on disk; below it, how long the first of them has waited. */
  readonly waiting: number
  readonly waiting_seconds: number
  /** The reason why the log cannot be written now. */
  readonly fault?: string
  readonly on_reserve: boolean
  /** The losses found when the log was opened, until somebody accepts them. */
  readonly losses: readonly AuditLoss[]
}

/** Returns how a log can be written now. */
export function writingCondition(writer: Writing, losses: readonly AuditLoss[]): AuditCondition {
  const { waiting, waitsFor, fault = latenessOf(writer) } = writer.lines
  return {
    waiting,
    waiting_seconds: Math.round(waitsFor / 100) / 10,
    ...(fault !== undefined && { fault }),
    on_reserve: writer.isOnReserve,
    losses,
  }
}
