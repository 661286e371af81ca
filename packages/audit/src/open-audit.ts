import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { openPrivateFolder } from '#leaf/files.ts'
import type { Ledger, Transaction } from '#state/store.ts'
import type { Audit, AuditEvent } from './audit.ts'
import { type LogKey, openKey, openPublicKeys } from './checkpoint.ts'
import { FileLedger, fileWriter } from './files/file-ledger.ts'
import { FileLog } from './files/file-log.ts'
import type { Forwarder, ForwardStats } from './forward/forward.ts'
import { Growth } from './keeping/growth.ts'
import { Housekeeping } from './keeping/housekeeping.ts'
import { finishKeyChange, makeNextKey, takeNextKey, whatIsMissing } from './keeping/key-change.ts'
import { type AuditLoss, type KnownLine, LogMemory } from './verifying/known-log.ts'
import { LedgerLog, nameOf, partOf } from './ledger/ledger-log.ts'
import { tellEvent, type ToldEvent } from './line.ts'
import { strangeTail } from './verifying/log-tail.ts'
import { type RestoredBackup, restoreOf } from './verifying/restored.ts'
import { removeUnfinished } from './files/retention.ts'
import { type AuditSettings, auditSettings } from './settings.ts'
import { forwardersOf, sameSinks } from './forward/sinks.ts'
import type { AuditVerification } from './verifying/verification.ts'
import {
  type AuditCondition,
  writingCondition,
  latenessOf,
  type LogParts,
  type LogSize,
  record,
  requireWritable,
  type SharedPart,
} from './writing.ts'

/** The state of the log, for `status`, `audit stats` and the metrics. */
export interface AuditStats extends AuditCondition, Omit<LogSize, 'lines'> {
  /** The number of lines written; where several daemons write, of lines kept. */
  readonly seq: number
  /** The sinks that events are forwarded to. */
  readonly forwards: readonly ForwardStats[]
}

/** The place of the log, and the store whose transactions carry events until they are in it. */
export interface AuditOptions extends Pick<LogParts, 'folder' | 'store' | 'clock' | 'log' | 'reserveBytes'> {
  readonly settings?: Partial<AuditSettings>
  /** Called with each event that is recorded. */
  readonly counted?: (event: AuditEvent) => void
  /** Set when the state was just made from a backup: the log records what the backup knew of it, which is missed no more. */
  readonly restored?: RestoredBackup
}

/** Opens the log; makes its folder when it is missing, and takes in what was left outside of the log. */
export async function openAudit(options: AuditOptions): Promise<AuditLog> {
  const { folder, log, store } = options
  const { ledger } = store
  await openPrivateFolder(folder, log)
  await removeUnfinished(folder)
  await finishKeyChange(folder, ledger ?? new FileLedger(folder))
  const key = await openKey(folder)
  const part = ledger && (await partOf(ledger, folder, key.id))
  const audit = new AuditLog(options, key, part)
  await audit.open()
  return audit
}

/** The audit log as the daemon and the offline command line hold it. */
export class AuditLog implements Audit {
  /** The folder of keys and head, and of the files of a log that is kept in files. */
  readonly folder: string
  readonly growth = new Growth()
  readonly #options: AuditOptions
  readonly #kept: FileLog | LedgerLog
  /** The same log, when daemons share it. */
  readonly #shared: LedgerLog | undefined
  /** The name of its writer. */
  readonly #id: string
  #key: LogKey
  readonly #memory: LogMemory
  readonly #housekeeping: Housekeeping
  #settings: AuditSettings
  #forwarders: readonly Forwarder[]
  #closed = false
  #now = Number.NaN
  #time = ''

  constructor(options: AuditOptions, key: LogKey, part: SharedPart | undefined) {
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
        this.growth.grew()
      },
      told: (event) => this.#record(event),
      rotated: () => this.#housekeeping.look(),
      signed: (id, end) => void this.#memory.remember(id, end),
      missing: (expected, end) => {
        const what = `it ends at line ${end.seq}, and line ${expected} had been written`
        void this.#miss({ what, expected, found: end.seq }, end)
      },
    }
    this.#id = part?.id ?? fileWriter
    this.#shared = part && new LedgerLog({ ...parts, ...part })
    this.#kept = this.#shared ?? new FileLog(parts)
    this.#housekeeping = new Housekeeping(this.#kept, parts)
  }

  /** The ledger that holds the lines; `searchAudit`, `tailAudit` and `followAudit` read them there. */
  get place(): Ledger {
    return this.#kept.place
  }

  async open(): Promise<void> {
    const known = await this.#memory.load(this.#key.id)
    const { writer, place } = this.#kept
    const heads = await this.#kept.prepare()
    if (heads.includes('forged'))
      this.#options.log.error('the head of the audit log is not signed with its key')
    const written = [...heads.filter((head) => head !== 'forged'), ...(known ? [known] : [])]
    const tail = place.read({ writer: this.#id, backward: true })
    const strange = await strangeTail(tail, await openPublicKeys(this.folder), written)
    await writer.open()
    const { end } = writer.chain
    const expected = Math.max(0, ...written.map(({ seq }) => seq))
    const found = end.seq
    const what =
      (await whatIsMissing(this.folder, place, this.#key.id, known, { expected, found })) ?? strange
    if (this.#options.restored) await this.#beginAfter(this.#options.restored)
    else if (what !== undefined) await this.#miss({ what, expected, found }, end)
    else if (!known) await this.#memory.remember(this.#key.id, end)
    await this.#kept.takeLeftOver()
    await this.#kept.settled()
    this.#housekeeping.begin()
  }

  /** Records in the log where the logs that a backup knew had ended. */
  async #beginAfter(restored: RestoredBackup): Promise<void> {
    const { writer } = this.#kept
    const time = isoTime(this.#options.clock.now())
    await writer.lines.add(restoreOf(restored, await this.#memory.all(), time))
    await this.#memory.beginAnew(this.#key.id, writer.chain.end)
  }

  /** Records, in the log and in the state, that lines are missing or are not those that had been written. */
  async #miss(
    data: { readonly what: string; readonly expected: number; readonly found: number },
    end: KnownLine,
  ): Promise<void> {
    const text =
      data.expected > data.found
        ? 'lines are missing at the end of the audit log'
        : 'the end of the audit log is not as it was written'
    this.#options.log.error(text, data)
    const told = this.#tell({ type: 'audit.truncated', status: 'error', user: 'system', data })
    void this.#kept.writer.lines.add(told)
    await this.#memory.remember(this.#key.id, end, { time: told.time, ...data })
  }

  record(event: AuditEvent): Promise<void> {
    this.#options.counted?.(event)
    return this.#record(event)
  }

  #record(event: AuditEvent): Promise<void> {
    return record(this.#kept.writer, event, this.#tell, this.#options.log)
  }

  async recordIn(transaction: Transaction, event: AuditEvent): Promise<void> {
    this.requireWritable()
    await this.#kept.tellIn(transaction, this.#tell(event))
    transaction.onCommit(() => this.#options.counted?.(event))
  }

  requireWritable(reading = false): void {
    requireWritable(this.#kept.writer, reading)
    const late = latenessOf(this.#kept.writer)
    if (late !== undefined) throw new AppError('unavailable', `the audit log cannot be written now: ${late}`)
  }

  async stats(): Promise<AuditStats> {
    const { lines, warnings, ...size } = await this.#kept.size()
    return {
      seq: lines,
      ...size,
      ...this.condition,
      warnings: [...this.#housekeeping.warnings, ...warnings],
      forwards: this.#forwarders.map((forwarder) => forwarder.stats()),
    }
  }

  get condition(): AuditCondition {
    return writingCondition(this.#kept.writer, this.#memory.known?.losses ?? [])
  }

  /** Reads the whole log and checks that it is as it was written, and as the anchors know it. */
  verify(anchors: readonly KnownLine[] = []): Promise<AuditVerification> {
    return this.#kept.verify(anchors, 'start')
  }

  /** Reads the log from the last signed line up to which it was found whole, or all of it; signs for what it finds whole. */
  verifyOn(): Promise<AuditVerification> {
    return this.#kept.verify([], 'mark')
  }

  /** Makes a new key, for which the present one signs; returns the names of both. */
  async changeKey(): Promise<{ from: string; to: string }> {
    const { writer } = this.#kept
    requireWritable(writer)
    const from = this.#key.id
    const next = await makeNextKey(this.folder)
    if (this.#shared) await this.#shared.announceKey()
    await writer.lines.add(writer.chain.handOver(next))
    await takeNextKey(this.folder)
    this.#key = next
    return { from, to: next.id }
  }

  /** Accepts losses: from now on only `verify` reports them, as a note. Returns the losses. */
  async acceptLosses(by: string, reason: string): Promise<readonly AuditLoss[]> {
    const older = await this.#shared?.acceptOlder()
    // With an older server the log can be written from now on, and is at once.
    if (!older) requireWritable(this.#kept.writer)
    await this.#memory.settled()
    const losses = (await this.#memory.all()).flatMap((known) => known.losses)
    if (older) {
      const { what, expected, found } = older
      losses.unshift({ time: isoTime(this.#options.clock.now()), what, expected, found })
    }
    if (losses.length === 0) return []
    const data = { by, reason, losses }
    const told = this.#tell({ type: 'audit.accept', status: 'ok', user: 'cli', data })
    await this.#kept.writer.lines.add({ ...told, sealed: true })
    await this.#memory.accept()
    return losses
  }

  /** Signs for another daemon that writes the same log. AppError `not_found` when no such daemon needs it. */
  async acceptWriter(writer: string, by: string, reason: string): Promise<{ id: string; name: string }> {
    requireWritable(this.#kept.writer)
    if (!this.#shared) throw new AppError('not_found', 'this daemon alone writes the audit log')
    return await this.#shared.acceptWriter(writer, { by, reason })
  }

  /** Settles when everything recorded so far is in the log (or the log cannot be written). */
  async settled(): Promise<void> {
    await this.#kept.settled()
  }

  /** Applies changed settings. */
  configure(settings: Partial<AuditSettings>): void {
    const next = auditSettings(settings)
    if (!sameSinks(next, this.#settings)) {
      const forwarders = forwardersOf(next, this.#options.log)
      for (const forwarder of this.#forwarders) void forwarder.close()
      this.#forwarders = forwarders
    }
    this.#settings = next
    this.#housekeeping.look()
  }

  /** Compresses closed files and removes those that are too old or too many. Also happens by itself. */
  async tidy(): Promise<void> {
    await this.#housekeeping.tidy()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const order = this.#housekeeping.close()
    await this.#kept.close()
    await order
    await this.#memory.settled()
    await Promise.all(this.#forwarders.map((forwarder) => forwarder.close()))
  }

  readonly #tell = (event: AuditEvent): ToldEvent => {
    const now = this.#options.clock.now()
    // Many events fall into one millisecond, and formatting a time costs more than comparing one.
    if (now !== this.#now) {
      this.#now = now
      this.#time = isoTime(now)
    }
    return tellEvent(event, this.#time, this.#settings.max_event_bytes)
  }
}
