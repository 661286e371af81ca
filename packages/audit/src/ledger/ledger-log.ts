/** The log of daemons that share a database: in its ledger, which all of them write and any of them reads. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import type {
  LedgerEnds,
  LedgerLine,
  LedgerPlace,
  LedgerWriter,
  OlderServer,
  SharedLedger,
  Transaction,
} from '#state/store.ts'
import { inTime } from '#leaf/turns.ts'
import {
  type Head,
  headName,
  headNameOf,
  openKey,
  openPublicKeys,
  publicTextsIn,
  readHead,
  writeHead,
} from '../checkpoint.ts'
import { exportLog, folderOfWriter, importLog, writerOf } from '../import-log.ts'
import { nextPublicText } from '../keeping/key-change.ts'
import type { KnownLine } from '../verifying/known-log.ts'
import { type Answerer, KnownWriters, vouchFor } from './known-writers.ts'
import { lastLineOf } from './ledger-lines.ts'
import { reservePathOf } from './ledger-reserve.ts'
import type { ToldEvent } from '../line.ts'
import { idsIn, outboxSpec, toldAs, type WaitingEvent } from '../files/outbox.ts'
import {
  type Deadlines,
  deadlines,
  pruneOf,
  removable,
  type Retention,
  toldAgain,
} from '../keeping/removal.ts'
import type { AuditVerification } from '../verifying/verification.ts'
import type { Extent } from '../verifying/mark.ts'
import { verifyLedger } from '../verifying/verify.ts'
import { AuditWriter } from '../writer.ts'
import { type LogParts, type LogSize, settle, type SharedPart } from '../writing.ts'

/** The age at which an event that a daemon of an earlier version left will no longer be fetched by it. */
const orphanedMilliseconds = 3_600_000
/** The most lines that are recorded again in one transaction. */
const lastingAtOnce = 1_000
/** The age at which lines are compressed: most of what people look for is younger. */
const rawMilliseconds = 86_400_000
/** The interval between counts of what metrics, for one, ask again and again; also the longest wait for a count. */
const countedMilliseconds = 1_000

/** The form of the names of head files. */
const headPattern = /^head-.+\.json$/

/** Returns the part in a ledger of the daemon with this folder and key. */
export async function partOf(ledger: SharedLedger, folder: string, key: string): Promise<SharedPart> {
  const of = await ledger.name()
  const [head, reserve] = [headNameOf(of), reservePathOf(folder, of)]
  return { ledger, id: await writerOf(ledger, folder, key), name: nameOf(folder), head, reserve }
}

/** Imports the log of a folder, which no daemon writes, into the ledger of a database that the state was copied to. */
export async function carryLog(folder: string, ledger: SharedLedger, log: Log): Promise<void> {
  const key = await openKey(folder)
  const part = await partOf(ledger, folder, key.id)
  await importLog(folder, ledger, part, log)
  await writeHead(folder, key, await lastLineOf(ledger, part.id), part.head)
}

/** Writes the log of a ledger into a folder: the lines of the daemon with its key as its log, others' into subfolders. */
export async function fetchLog(folder: string, ledger: SharedLedger, log: Log): Promise<void> {
  if (existsSync(reservePathOf(folder, await ledger.name())))
    throw new AppError(
      'conflict',
      'lines of the audit log wait for room in the database: start the service first',
    )
  const key = await openKey(folder)
  const own = await writerOf(ledger, folder, key.id)
  for (const writer of await ledger.writers()) {
    const isOwn = writer.id === own
    await exportLog(ledger, writer, isOwn ? folder : folderOfWriter(folder, writer), log)
    if (isOwn) await writeHead(folder, key, await lastLineOf(ledger, own))
  }
}

/** Returns the name that tells apart the logs of daemons that share a state. */
export function nameOf(folder: string): string {
  return `${hostname()} ${resolve(folder)}`
}

export class LedgerLog {
  readonly place: SharedLedger
  readonly writer: AuditWriter
  readonly #parts: LogParts & SharedPart
  readonly #writers: KnownWriters
  readonly #pending = new WeakMap<Transaction, ToldEvent[]>()
  /** Strangers that were logged, so that each is logged once. */
  #strangers = new Set<string>()
  #isClosing = false
  #counted: { readonly at: number; readonly size: Promise<LogSize> } | undefined

  constructor(parts: LogParts & SharedPart) {
    this.#parts = parts
    this.place = parts.ledger
    this.#writers = new KnownWriters(parts, parts.folder)
    this.writer = new AuditWriter(parts)
  }

  /** Imports files from before first: new lines follow their last one. Returns how far the log had come. */
  async prepare(): Promise<readonly (Head | 'forged')[]> {
    const { folder, log, store, id, name, head } = this.#parts
    const others = (await readdir(folder)).filter((file) => file !== head && headPattern.test(file))
    const isKnown = existsSync(join(folder, head))
    const isNew = Object.values(store.stats().documents).every((count) => count === 0)
    const imported = await importLog(folder, this.place, { id, name }, log)
    const keys = await publicTextsIn(folder)
    const known = (await this.place.writers()).find((writer) => writer.id === id)
    if (known?.keys.join() !== keys.join() || known.name !== name) await this.place.enter({ id, name, keys })
    await this.#strangersAmong(await this.place.writers())
    // A ledger that this daemon has never seen is new only with a new state, or with the files that it had written.
    const names = isKnown ? [head] : isNew || imported > 0 ? [headName] : [headName, ...others]
    const publicKeys = await openPublicKeys(folder)
    const heads = await Promise.all(names.map((file) => readHead(folder, publicKeys, file)))
    return heads.filter((one) => one !== undefined)
  }

  async tellIn(transaction: Transaction, told: ToldEvent): Promise<void> {
    this.#addIn(transaction, told)
  }

  /** Records an event in a transaction, and removes the lines that it names. */
  #addIn(transaction: Transaction, told: ToldEvent, dropped: readonly LedgerPlace[] = []): void {
    const before = this.#pending.get(transaction)
    if (before) return void before.push(told)
    const events = [told]
    this.#pending.set(transaction, events)
    this.place.lastIn(transaction, { events, dropped }, (parts) => this.writer.linesFor(parts))
  }

  /** Adds events that, until 2.8, waited in the database for the files of their daemon, which may be lost with them. */
  async takeLeftOver(): Promise<void> {
    const { store, key, clock } = this.#parts
    const waiting = store.collection<WaitingEvent>(outboxSpec)
    for (const one of await waiting.find({ order: [{ field: 'after' }, { field: 'time' }] })) {
      const isMine = one.log === key.id
      if (!isMine && clock.now() - Date.parse(one.time) < orphanedMilliseconds) continue
      const at = Date.parse(one.time)
      const found = await idsIn(this.place, { since: at, until: at + 1 }, new Set([one.id]))
      await store.transaction(async (transaction) => {
        const taken = await transaction.in(waiting).delete(one.id)
        if (taken && found.size === 0) this.#addIn(transaction, toldAs(one))
      })
    }
  }

  size(): Promise<LogSize> {
    const now = this.#parts.clock.now()
    if (!this.#counted || Math.abs(now - this.#counted.at) > countedMilliseconds)
      this.#counted = { at: now, size: this.#size() }
    return this.#counted.size
  }

  async #size(): Promise<LogSize> {
    try {
      const asked = Promise.all([this.place.writers(), this.place.bytes()])
      const [writers, bytes] = await inTime(asked, countedMilliseconds)
      const writing = writers.filter(({ last }) => last > 0)
      const lines = writing.reduce((sum, { first, last }) => sum + last - first + 1, 0)
      const since = Math.min(...writing.map(({ since = Infinity }) => since))
      const oldest = Number.isFinite(since) && { oldest: isoTime(since).slice(0, 10) }
      const { length } = await this.#strangersAmong(writers)
      const unknown = `${length} of the daemons that write the log nobody known has signed for; audit verify names them`
      const warnings = length === 0 ? [] : [unknown]
      return { lines, files: 0, bytes, writers: writing.length, warnings, ...oldest }
    } catch {
      // The database does not answer, which the state reports: the question here is how this daemon writes.
      return { lines: this.writer.chain.end.seq, files: 0, bytes: 0, warnings: [] }
    }
  }

  async #strangersAmong(writers: readonly LedgerWriter[]): Promise<readonly LedgerWriter[]> {
    const strangers = await this.#writers.strangers(writers)
    for (const { id, name } of strangers)
      if (!this.#strangers.has(id))
        this.#parts.log.warn('a daemon writes the audit log for which nobody known has signed', { id, name })
    this.#strangers = new Set(strangers.map(({ id }) => id))
    return strangers
  }

  verify(anchors: readonly KnownLine[], from: Extent['from']): Promise<AuditVerification> {
    const reserved = (): readonly LedgerLine[] => this.writer.reserved
    const { clock } = this.#parts
    const examination = { ...this.#parts, acquainted: this.#writers, reserved, anchors }
    return verifyLedger(examination, { from, key: this.writer.chain.key, clock })
  }

  /** Announces the next key to others before anything is signed with it. */
  async announceKey(): Promise<void> {
    const { folder, id, name } = this.#parts
    const keys = [...(await publicTextsIn(folder)), await nextPublicText(folder)]
    await this.place.enter({ id, name, keys })
  }

  /** Continues although what had been kept is missing, since somebody accepts that; returns what is missing. */
  async acceptOlder(): Promise<OlderServer | undefined> {
    const older = await this.place.acceptOlder()
    if (older) await this.writer.lookAgain()
    return older
  }

  /** Compresses old lines and removes the oldest, whoever wrote them: their writer may be gone. */
  async tidy(retention: Retention): Promise<boolean> {
    const { store, id } = this.#parts
    await this.takeLeftOver()
    while (!this.#isClosing && (await this.place.compress(store.believed.now() - rawMilliseconds, id)));
    const { age, room } = deadlines(retention, store.believed.now())
    const { max_total_bytes: most } = retention
    const excess = (most === 0 ? undefined : await this.place.timeOfExcess(most)) ?? -Infinity
    const due = { age, room: Math.max(age, Math.min(excess, room)) }
    for (;;) {
      let removed = 0
      for (const place of await this.place.oldestEnd(due.room, id))
        if (await this.#remove(place, due, retention)) removed++
      if (removed === 0) return excess > due.room
    }
  }

  async #remove(
    { writer, through, ends }: LedgerEnds,
    due: Deadlines,
    retention: Retention,
  ): Promise<boolean> {
    const { store, tell } = this.#parts
    const first = await this.#firstOf(writer)
    const bounds = {
      excess: through,
      last: through,
      lasting: lastingAtOnce,
      ...(ends && { ends: (seq: number) => ends.includes(seq) }),
    }
    const removal = await removable(this.place.read({ writer }), due, bounds)
    if (!removal) return false
    const told = { ...tell(pruneOf(removal, due, retention, { writer })), sealed: true }
    return await store.transaction(async (transaction) => {
      // Another daemon that removes them is seen here, or collides with this: lasting events are recorded again once.
      if ((await this.#firstOf(writer)) !== first) return false
      this.#addIn(transaction, told, [{ writer, through: removal.through }])
      for (const line of removal.lasting) this.#addIn(transaction, toldAgain(line))
      return true
    })
  }

  async #firstOf(writer: string): Promise<number | undefined> {
    return (await this.place.writers()).find(({ id }) => id === writer)?.first
  }

  /**
   * Makes this daemon sign for another writer, by its id: any may give itself the name of another. AppError `not_found`
   * when none needs it, `conflict` when the database names a key of that writer for which its own has not signed.
   */
  async acceptWriter(wanted: string, answer: Answerer): Promise<Pick<LedgerWriter, 'id' | 'name'>> {
    const strangers = await this.#writers.strangers(await this.place.writers())
    const writer = strangers.find(({ id }) => id === wanted)
    if (!writer) throw new AppError('not_found', `no unknown daemon ${wanted} writes the audit log`)
    const { id, name } = writer
    if (!(await this.#writers.isItself(writer)))
      throw new AppError(
        'conflict',
        `somebody has given ${id} a key in the database for which it has not signed`,
      )
    const { clock } = this.#parts
    const told = vouchFor(writer, this.writer.chain.key, isoTime(clock.now()), answer)
    await this.writer.lines.add(told)
    return { id, name }
  }

  settled(): Promise<void> {
    return settle(this.writer)
  }

  close(): Promise<void> {
    this.#isClosing = true
    return this.writer.close()
  }
}
