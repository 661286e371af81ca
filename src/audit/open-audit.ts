import { isoTime } from '../core/clock.ts'
import { openPrivateFolder } from '../core/files.ts'
import type { Transaction } from '../store/store.ts'
import type { Audit } from './audit.ts'
import { type LogKey, openKey } from './checkpoint.ts'
import type { AuditEvent } from './event.ts'
import { FileLog } from './file-log.ts'
import type { Forwarder, ForwardStats } from './forward.ts'
import type { LogParts, LogSize } from './kept-log.ts'
import { finishKeyChange, makeNextKey, takeNextKey, whatIsMissing } from './key-change.ts'
import { type AuditLoss, type KnownLine, LogMemory } from './known-log.ts'
import type { LogPlace } from './ledger-lines.ts'
import { LedgerLog, nameOf, partOf } from './ledger-log.ts'
import type { LedgerPart } from './ledger-writer.ts'
import { eventIn, tellEvent, type ToldEvent } from './line.ts'
import { removeUnfinished } from './retention.ts'
import { type AuditSettings, auditSettings } from './settings.ts'
import { forwardersOf, sameSinks } from './sinks.ts'
import type { AuditVerification } from './verification.ts'

const retentionMilliseconds = 3_600_000

/** The audit log as the daemon and the offline command line hold it. */
export interface AuditLog extends Audit {
  /** Where keys and head lie, and the files of a log that is kept in files. */
  readonly folder: string
  /** Where the lines lie; `searchAudit`, `tailAudit` and `followAudit` read them there. */
  readonly place: LogPlace
  stats(): Promise<AuditStats>
  /** Reads the whole log and says whether it is as it was written, and as the anchors know it. */
  verify(anchors?: readonly KnownLine[]): Promise<AuditVerification>
  /** Makes a new key, for which the present one signs; answers the names of both. */
  changeKey(): Promise<{ readonly from: string; readonly to: string }>
  /** Answers for what is missing: it is told no more but by `verify`, as a note. Answers what it was. */
  acceptLosses(by: string, reason: string): Promise<readonly AuditLoss[]>
  /** Settles when everything told so far is in the log (or the log cannot be written). */
  settled(): Promise<void>
  /** Takes over changed settings. */
  configure(settings: Partial<AuditSettings>): void
  /** Compresses closed files and removes those that are too old or too many. Happens by itself. */
  tidy(): Promise<void>
  close(): Promise<void>
}

/** How the log stands, for `status`, `audit stats` and the metrics. */
export interface AuditStats extends Omit<LogSize, 'lines'> {
  /** How many lines were written, and are kept where several daemons write them. */
  readonly seq: number
  /** Events accepted and not yet on disk. */
  readonly waiting: number
  /** Why the log cannot be written now. */
  readonly fault?: string
  readonly on_reserve: boolean
  /** What was missing when the log was opened, until somebody answers for it. */
  readonly losses: readonly AuditLoss[]
  /** The sinks that events are forwarded to. */
  readonly forwards: readonly ForwardStats[]
}

/** Where the log lies, and the store whose transactions carry events until they are in it. */
export interface AuditOptions extends Pick<LogParts, 'folder' | 'store' | 'clock' | 'log' | 'reserveBytes'> {
  readonly settings?: Partial<AuditSettings>
}

/** Opens the log, with a folder of its own that is made when it is missing, and takes what was left outside of it. */
export async function openAudit(options: AuditOptions): Promise<AuditLog> {
  const { folder, log, store } = options
  const { ledger } = store
  await openPrivateFolder(folder, log)
  await removeUnfinished(folder)
  await finishKeyChange(folder, ledger ?? folder)
  const key = await openKey(folder)
  const part = ledger && (await partOf(ledger, folder, key.id))
  const audit = new OpenedAudit(options, key, part)
  await audit.open()
  return audit
}

class OpenedAudit implements AuditLog {
  readonly folder: string
  readonly #options: AuditOptions
  readonly #kept: FileLog | LedgerLog
  #key: LogKey
  readonly #memory: LogMemory
  #settings: AuditSettings
  #forwarders: readonly Forwarder[]
  #housekeeping: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #now = Number.NaN
  #time = ''

  constructor(options: AuditOptions, key: LogKey, part: LedgerPart | undefined) {
    const { folder, store, log } = options
    this.folder = folder
    this.#options = options
    this.#key = key
    this.#settings = auditSettings(options.settings)
    this.#forwarders = forwardersOf(this.#settings, log)
    this.#memory = new LogMemory(store, nameOf(folder), log)
    const parts: LogParts = {
      ...options,
      key,
      memory: this.#memory,
      settings: () => this.#settings,
      tell: (event) => this.#tell(event),
      written: (lines) => {
        for (const forwarder of this.#forwarders) forwarder.offer(lines)
      },
      rotated: () => this.#keepHouse(),
      signed: (id, end) => void this.#memory.remember(id, end),
      missing: (expected, end) => {
        const what = `it ends at line ${end.seq}, and line ${expected} had been written`
        void this.#miss({ what, expected, found: end.seq }, end)
      },
    }
    this.#kept = part ? new LedgerLog({ ...parts, ...part }) : new FileLog(parts)
  }

  get place(): LogPlace {
    return this.#kept.place
  }

  async open(): Promise<void> {
    const known = await this.#memory.load(this.#key.id)
    const { writer, place } = this.#kept
    const heads = await this.#kept.prepare()
    if (heads.includes('forged'))
      this.#options.log.error('the head of the audit log is not signed with its key')
    await writer.open()
    const { end } = writer.chain
    const written = heads.map((head) => (head === 'forged' ? 0 : head.seq))
    const expected = Math.max(known?.seq ?? 0, ...written)
    const found = end.seq
    const what = await whatIsMissing(this.folder, place, this.#key.id, known, { expected, found })
    if (what !== undefined) await this.#miss({ what, expected, found }, end)
    else if (!known) await this.#memory.remember(this.#key.id, end)
    await this.#kept.takeLeftOver()
    await this.#kept.settled()
    this.#keepHouse()
    this.#timer = setInterval(() => this.#keepHouse(), retentionMilliseconds).unref()
  }

  /** Tells in the log, and keeps in the state, that lines are missing. */
  async #miss(
    data: { readonly what: string; readonly expected: number; readonly found: number },
    end: KnownLine,
  ): Promise<void> {
    this.#options.log.error('lines are missing at the end of the audit log', data)
    const told = this.#tell({ type: 'audit.truncated', status: 'error', user: 'system', data })
    void quiet(this.#kept.writer.lines.add(told))
    await this.#memory.remember(this.#key.id, end, { time: told.time, ...data })
  }

  record(event: AuditEvent): Promise<void> {
    return quiet(this.#record(this.#tell(event)))
  }

  async recordIn(transaction: Transaction, event: AuditEvent): Promise<void> {
    this.#kept.writer.requireWritable()
    await this.#kept.tellIn(transaction, this.#tell(event))
  }

  requireWritable(reading = false): void {
    this.#kept.writer.requireWritable(reading)
  }

  async stats(): Promise<AuditStats> {
    const { lines, ...size } = await this.#kept.size()
    const { lines: log, isOnReserve } = this.#kept.writer
    const { waiting, fault } = log
    return {
      seq: lines,
      ...size,
      waiting,
      ...(fault !== undefined && { fault }),
      on_reserve: isOnReserve,
      losses: this.#memory.known?.losses ?? [],
      forwards: this.#forwarders.map((forwarder) => forwarder.stats()),
    }
  }

  verify(anchors?: readonly KnownLine[]): Promise<AuditVerification> {
    return this.#kept.verify(anchors)
  }

  async changeKey(): Promise<{ from: string; to: string }> {
    const { writer } = this.#kept
    writer.requireWritable()
    const from = this.#key.id
    const next = await makeNextKey(this.folder)
    await this.#kept.announceKey()
    await writer.lines.add(writer.chain.handOver(next))
    await takeNextKey(this.folder)
    this.#key = next
    return { from, to: next.id }
  }

  async acceptLosses(by: string, reason: string): Promise<readonly AuditLoss[]> {
    this.#kept.writer.requireWritable()
    await this.#memory.settled()
    const losses = (await this.#memory.all()).flatMap((known) => known.losses)
    if (losses.length === 0) return []
    const data = { by, reason, losses }
    const told = this.#tell({ type: 'audit.accept', status: 'ok', user: 'cli', data })
    await this.#kept.writer.lines.add(told)
    await this.#memory.accept()
    return losses
  }

  async settled(): Promise<void> {
    await this.#kept.settled()
  }

  configure(settings: Partial<AuditSettings>): void {
    const next = auditSettings(settings)
    if (!sameSinks(next, this.#settings)) {
      const forwarders = forwardersOf(next, this.#options.log)
      for (const forwarder of this.#forwarders) void forwarder.close()
      this.#forwarders = forwarders
    }
    this.#settings = next
    this.#keepHouse()
  }

  async tidy(): Promise<void> {
    await this.#housekeeping
    // As housekeeping itself, so that two never work on one file.
    this.#keepHouse()
    await this.#housekeeping
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#timer)
    await this.#kept.close()
    await this.#housekeeping
    await this.#memory.settled()
    await Promise.all(this.#forwarders.map((forwarder) => forwarder.close()))
  }

  #tell(event: AuditEvent): ToldEvent {
    const now = this.#options.clock.now()
    // Many events fall into one millisecond, and writing a time costs more than looking at one.
    if (now !== this.#now) {
      this.#now = now
      this.#time = isoTime(now)
    }
    return tellEvent(event, this.#time, this.#settings.max_event_bytes)
  }

  async #record(told: ToldEvent): Promise<void> {
    try {
      this.#kept.writer.requireWritable(true)
    } catch (error) {
      // Whoever does not wait for this must still be able to find what was not kept.
      this.#options.log.error('an audit event was refused', { event: eventIn(told) })
      throw error
    }
    await this.#kept.writer.lines.add(told)
  }

  #keepHouse(): void {
    if (this.#closed) return
    this.#housekeeping ??= this.#kept
      .tidy()
      .catch((error: unknown) =>
        this.#options.log.warn('old audit files could not be put in order', { error }),
      )
      .finally(() => {
        this.#housekeeping = undefined
      })
  }
}

/** A promise that nobody needs to wait for: its refusal alone ends no program. */
function quiet(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined)
  return promise
}
