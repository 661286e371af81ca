/** What the two ways of keeping the log have in common: files of one daemon, and the ledger of many. */
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { LineLog } from '../line-log/line-log.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Chain } from './chain.ts'
import type { Head, LogKey } from './checkpoint.ts'
import type { AuditEvent } from './event.ts'
import type { KnownLine, LogMemory } from './known-log.ts'
import type { LogPlace } from './ledger-lines.ts'
import { eventIn, type ToldEvent } from './line.ts'
import type { AuditSettings } from './settings.ts'
import type { AuditVerification } from './verification.ts'

/** What a log is kept with. */
export interface LogParts {
  readonly folder: string
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly key: LogKey
  readonly memory: LogMemory
  /** Kept on the disk for events of reading, when nothing else is left. */
  readonly reserveBytes?: number
  /** Asked for anew at each write, since settings change while it runs. */
  readonly settings: () => AuditSettings
  readonly tell: (event: AuditEvent) => ToldEvent
  /** Called with the lines of each write, after it. */
  readonly written: (lines: readonly string[]) => void
  /** Called when a file was closed and another begun. */
  readonly rotated: () => void
  /** Called when a checkpoint is kept. */
  readonly signed: (key: string, end: KnownLine) => void
  /** Called when lines that had been kept are found to be gone. */
  readonly missing: (expected: number, end: KnownLine) => void
}

/** How large a log is. */
export interface LogSize {
  readonly lines: number
  readonly files: number
  readonly bytes: number
  /** The day of the oldest line, as `2026-01-31`. */
  readonly oldest?: string
  /** How many daemons wrote it, where they share one. */
  readonly writers?: number
}

/** What writes a log. */
export interface AuditWriter {
  /** Ends with the last line that is kept. */
  readonly chain: Chain
  /** Accepts events, and keeps them in their order. Who adds one has asked `requireWritable`, or must not lose it. */
  readonly lines: LineLog<ToldEvent>
  /** The disk is full: only what is read is told. */
  readonly isOnReserve: boolean
  open(): Promise<void>
  /** Throws AppError `unavailable` while the log cannot be written, or only for those who read. */
  requireWritable(reading?: boolean): void
  /** Writes what is queued and signs the end. What cannot be written is refused. */
  close(): Promise<void>
}

/** Settles when everything accepted so far is kept or cannot be; what comes meanwhile is not waited for. */
export async function settle({ lines }: AuditWriter): Promise<void> {
  if (lines.fault === undefined) await lines.settled().catch(() => undefined)
}

/** Ends the lines of a writer; what is lost is told to people at least. */
export async function closeLines({ lines }: AuditWriter, log: Log): Promise<void> {
  const lost = await lines.close()
  if (lost.length > 0)
    log.error('audit events were lost: the log could not be written until the end', {
      events: lost.map(eventIn),
    })
}

/** A log, wherever it lies. */
export interface KeptLog {
  readonly place: LogPlace
  readonly writer: AuditWriter
  /** Before it is opened: answers how far it had come, as what lies in the folder says. */
  prepare(): Promise<readonly (Head | 'forged')[]>
  /** Tells an event in a transaction: it is kept if and only if the transaction is. */
  tellIn(transaction: Transaction, told: ToldEvent): Promise<void>
  /** Takes what an earlier run, or an earlier version, left outside of the log. */
  takeLeftOver(): Promise<void>
  size(): Promise<LogSize>
  verify(anchors?: readonly KnownLine[]): Promise<AuditVerification>
  /** Has others know the key that is to follow, before anything is signed with it. */
  announceKey(): Promise<void>
  /** Removes what is too old or too much. */
  tidy(): Promise<void>
  /** Settles when everything told so far is in the log, or it cannot be written. */
  settled(): Promise<void>
  close(): Promise<void>
}
