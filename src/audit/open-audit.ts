import { unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { type Clock, isoTime } from '../core/clock.ts'
import { openPrivateFolder } from '../core/files.ts'
import type { Log } from '../core/log.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Audit } from './audit.ts'
import { type LogKey, openKey, openPublicKeys, readHead } from './checkpoint.ts'
import type { AuditEvent } from './event.ts'
import { finishKeyChange, makeNextKey, takeNextKey, whatIsMissing } from './key-change.ts'
import { type AuditLoss, type KnownLine, LogMemory } from './known-log.ts'
import type { Forwarder, ForwardStats } from './forward.ts'
import { tellEvent, type ToldEvent } from './line.ts'
import { listLogFiles } from './log-files.ts'
import { LogWriter } from './log-writer.ts'
import { Outbox } from './outbox.ts'
import { compressLogFile, prunable, removeUnfinished } from './retention.ts'
import { type AuditSettings, auditSettings } from './settings.ts'
import { forwardersOf, sameSinks } from './sinks.ts'
import { type AuditVerification, verifyAudit } from './verify.ts'

const retentionMilliseconds = 3_600_000

/** The audit log as the daemon and the offline command line hold it. */
export interface AuditLog extends Audit {
  /** Where the log lies; `searchAudit`, `tailAudit`, `followAudit` and `verifyAudit` read it there. */
  readonly folder: string
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
export interface AuditStats {
  /** The number of the last line on disk. */
  readonly seq: number
  readonly files: number
  readonly bytes: number
  /** The day of the oldest file, as `2026-01-31`. */
  readonly oldest?: string
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
export interface AuditOptions {
  readonly folder: string
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly settings?: Partial<AuditSettings>
  readonly reserveBytes?: number
}

/** Opens the log in a folder of its own, which is made when it is missing, and moves into it what a crash left in the store. */
export async function openAudit(options: AuditOptions): Promise<AuditLog> {
  await openPrivateFolder(options.folder, options.log)
  await removeUnfinished(options.folder)
  await finishKeyChange(options.folder)
  const audit = new OpenedAudit(options, await openKey(options.folder))
  await audit.open()
  return audit
}

class OpenedAudit implements AuditLog {
  readonly folder: string
  readonly #clock: Clock
  readonly #believed: Clock
  readonly #log: Log
  readonly #writer: LogWriter
  readonly #outbox: Outbox
  #key: LogKey
  readonly #memory: LogMemory
  #settings: AuditSettings
  #forwarders: readonly Forwarder[]
  #housekeeping: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #now = Number.NaN
  #time = ''

  constructor(options: AuditOptions, key: LogKey) {
    const { folder, store, log } = options
    this.folder = folder
    this.#clock = options.clock
    this.#believed = store.believed
    this.#log = log
    this.#key = key
    this.#settings = auditSettings(options.settings)
    this.#forwarders = forwardersOf(this.#settings, log)
    this.#memory = new LogMemory(store, `${hostname()} ${resolve(folder)}`, log)
    this.#outbox = new Outbox(store, log, key.id)
    this.#writer = new LogWriter({
      ...options,
      key,
      maximumFileBytes: () => this.#settings.max_file_bytes,
      maximumEventBytes: () => this.#settings.max_event_bytes,
      written: (lines) => {
        for (const forwarder of this.#forwarders) forwarder.offer(lines)
      },
      rotated: () => this.#keepHouse(),
      signed: (id, end) => void this.#memory.remember(id, end),
    })
  }

  async open(): Promise<void> {
    const known = await this.#memory.load(this.#key.id)
    const beside = await readHead(this.folder, await openPublicKeys(this.folder))
    if (beside === 'forged') this.#log.error('the head of the audit log is not signed with its key')
    await this.#writer.open()
    const { end } = this.#writer
    const expected = Math.max(known?.seq ?? 0, beside === 'forged' ? 0 : (beside?.seq ?? 0))
    const what = await whatIsMissing(this.folder, this.#key.id, known, { expected, found: end.seq })
    if (what !== undefined) {
      const data = { what, expected, found: end.seq }
      this.#log.error('lines are missing at the end of the audit log', data)
      const told = this.#tell({ type: 'audit.truncated', status: 'error', user: 'system', data })
      void this.#add(told)
      await this.#memory.remember(this.#key.id, end, { time: told.time, ...data })
    } else if (!known) await this.#memory.remember(this.#key.id, end)
    for (const told of await this.#outbox.leftOver(this.folder)) this.#move(told)
    await this.#writer.settled()
    await this.#outbox.settled()
    this.#keepHouse()
    this.#timer = setInterval(() => this.#keepHouse(), retentionMilliseconds).unref()
  }

  record(event: AuditEvent): Promise<void> {
    return quiet(this.#record(this.#tell(event)))
  }

  async recordIn(transaction: Transaction, event: AuditEvent): Promise<void> {
    this.#writer.requireWritable()
    const told = this.#tell(event)
    await this.#outbox.put(transaction, told, this.#writer.end.seq)
    transaction.onCommit(() => this.#move(told))
  }

  requireWritable(reading = false): void {
    this.#writer.requireWritable(reading)
  }

  async stats(): Promise<AuditStats> {
    const files = await listLogFiles(this.folder)
    const { end, waiting, fault } = this.#writer
    return {
      seq: end.seq,
      files: files.length,
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      ...(files[0] && { oldest: files[0].day }),
      waiting,
      ...(fault !== undefined && { fault }),
      on_reserve: this.#writer.isOnReserve,
      losses: this.#memory.known?.losses ?? [],
      forwards: this.#forwarders.map((forwarder) => forwarder.stats()),
    }
  }

  async verify(anchors?: readonly KnownLine[]): Promise<AuditVerification> {
    return await verifyAudit(this.folder, { known: this.#memory.known, ...(anchors && { anchors }) })
  }

  async changeKey(): Promise<{ from: string; to: string }> {
    this.#writer.requireWritable()
    const from = this.#key.id
    const next = await makeNextKey(this.folder)
    await this.#writer.changeKey(next)
    await takeNextKey(this.folder)
    this.#key = next
    return { from, to: next.id }
  }

  async acceptLosses(by: string, reason: string): Promise<readonly AuditLoss[]> {
    this.#writer.requireWritable()
    const losses = this.#memory.known?.losses ?? []
    if (losses.length === 0) return []
    const data = { by, reason, losses }
    await this.#writer.add(this.#tell({ type: 'audit.accept', status: 'ok', user: 'cli', data }))
    await this.#memory.accept()
    return losses
  }

  async settled(): Promise<void> {
    await this.#writer.settled()
    await this.#outbox.settled()
  }

  configure(settings: Partial<AuditSettings>): void {
    const next = auditSettings(settings)
    if (!sameSinks(next, this.#settings)) {
      const forwarders = forwardersOf(next, this.#log)
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

  async #prune(): Promise<void> {
    const { files, through } = await prunable(this.folder, this.#believed.now(), this.#settings)
    if (files.length === 0) return
    // Told before it is done: from then on, a log that begins behind these lines is whole.
    const data = { through, files: files.map(({ name }) => name) }
    await this.#add(this.#tell({ type: 'audit.prune', status: 'ok', user: 'system', data }))
    for (const { path } of files) await unlink(path)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#timer)
    await this.#writer.close()
    await this.#housekeeping
    await this.#outbox.settled()
    await this.#memory.settled()
    await Promise.all(this.#forwarders.map((forwarder) => forwarder.close()))
  }

  #tell(event: AuditEvent): ToldEvent {
    const now = this.#clock.now()
    // Many events fall into one millisecond, and writing a time costs more than looking at one.
    if (now !== this.#now) {
      this.#now = now
      this.#time = isoTime(now)
    }
    return tellEvent(event, this.#time, this.#settings.max_event_bytes)
  }

  async #record(told: ToldEvent): Promise<void> {
    try {
      this.#writer.requireWritable(true)
    } catch (error) {
      // Whoever does not wait for this must still be able to find what was not kept.
      this.#log.error('an audit event was refused', { event: told.event })
      throw error
    }
    await this.#writer.add(told)
  }

  #add(told: ToldEvent): Promise<void> {
    return quiet(this.#writer.add(told))
  }

  /** Moves an event that is kept in the store into the log. */
  #move(told: ToldEvent): void {
    this.#add(told).then(
      () => this.#outbox.moved(told.id),
      () => undefined, // It stays in the store and is moved at the next start.
    )
  }

  #keepHouse(): void {
    if (this.#closed) return
    this.#housekeeping ??= this.#compressAndPrune()
      .catch((error: unknown) => this.#log.warn('old audit files could not be put in order', { error }))
      .finally(() => {
        this.#housekeeping = undefined
      })
  }

  async #compressAndPrune(): Promise<void> {
    await this.#prune()
    const files = await listLogFiles(this.folder)
    for (const file of files.slice(0, -1)) {
      if (!file.compressed && file.path !== this.#writer.current) await compressLogFile(file)
    }
  }
}

/** A promise that nobody needs to wait for: its refusal alone ends no program. */
function quiet(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined)
  return promise
}
