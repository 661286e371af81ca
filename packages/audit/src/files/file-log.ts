/** The log of a daemon that is alone: files in its folder. */
import { unlink } from 'node:fs/promises'
import type { Transaction } from '#state/store.ts'
import { type Head, headName, openPublicKeys, readHead } from '../checkpoint.ts'
import { FileLedger, fileWriter } from './file-ledger.ts'
import type { KnownLine } from '../verifying/known-log.ts'
import type { ToldEvent } from '../line.ts'
import { listLogFiles } from './log-files.ts'
import { Outbox } from './outbox.ts'
import { deadlines, pruneOf, removable, type Retention, toldAgain } from '../keeping/removal.ts'
import { compressLogFile, endOfExcess } from './retention.ts'
import type { AuditVerification } from '../verifying/verification.ts'
import type { Extent } from '../verifying/mark.ts'
import { verifyAudit } from '../verifying/verify.ts'
import { AuditWriter } from '../writer.ts'
import { type LogParts, type LogSize, settle } from '../writing.ts'

export class FileLog {
  readonly place: FileLedger
  readonly writer: AuditWriter
  readonly #parts: LogParts
  readonly #outbox: Outbox
  /** The last line whose removal this run recorded. */
  #removed = 0

  constructor(parts: LogParts) {
    this.place = new FileLedger(parts.folder, parts)
    this.#parts = parts
    this.#outbox = new Outbox(parts.store, parts.log)
    const part = { ledger: this.place, files: this.place, id: fileWriter, head: headName, reserve: '' }
    this.writer = new AuditWriter({ ...parts, ...part })
  }

  /** Prepares opening: returns how far the log had come, as the folder says. */
  async prepare(): Promise<readonly (Head | 'forged')[]> {
    const { folder } = this.#parts
    const head = await readHead(folder, await openPublicKeys(folder))
    return head ? [head] : []
  }

  /** Records an event in a transaction: it is kept if and only if the transaction is. */
  async tellIn(transaction: Transaction, told: ToldEvent): Promise<void> {
    await this.#outbox.put(transaction, told, this.writer.chain.end.seq)
    transaction.onCommit(() => this.#move(told))
  }

  /** Moves events into the log that an earlier run left outside of it. */
  async takeLeftOver(): Promise<void> {
    for (const told of await this.#outbox.leftOver(this.place)) this.#move(told)
    await this.settled()
  }

  /** Moves an event that is kept in the store into the log. */
  #move(told: ToldEvent): void {
    this.writer.lines.add(told).then(
      () => this.#outbox.moved(told.id),
      () => undefined, // It stays in the store and is moved at the next start.
    )
  }

  async size(): Promise<LogSize> {
    const files = await listLogFiles(this.#parts.folder)
    const bytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
    return {
      lines: this.writer.chain.end.seq,
      files: files.length,
      bytes,
      warnings: [],
      ...(files[0] && { oldest: files[0].day }),
    }
  }

  verify(anchors: readonly KnownLine[], from: Extent['from']): Promise<AuditVerification> {
    const { folder, memory, clock } = this.#parts
    return verifyAudit(folder, { known: memory.known, anchors }, { from, key: this.writer.chain.key, clock })
  }

  /** Removes what is too old or too much; returns whether what has to stay is still too much. */
  async tidy(retention: Retention): Promise<boolean> {
    try {
      await this.#prune(retention)
    } finally {
      for (const file of (await listLogFiles(this.#parts.folder)).slice(0, -1)) {
        if (!file.compressed && file.path !== this.place.current) await compressLogFile(file)
      }
    }
    const { bytes } = await this.size()
    return retention.max_total_bytes > 0 && bytes > retention.max_total_bytes
  }

  async #prune(retention: Retention): Promise<void> {
    const { store, tell } = this.#parts
    const files = await listLogFiles(this.#parts.folder)
    const due = deadlines(retention, store.believed.now())
    const ends = new Set(files.slice(1).map(({ first }) => first - 1))
    const removal = await removable(this.place.read({}), due, {
      excess: endOfExcess(files, retention.max_total_bytes),
      last: (files.at(-1)?.first ?? 1) - 1,
      ends: (seq) => ends.has(seq),
    })
    if (!removal) return
    const old = files.slice(0, -1).filter(({ first }) => first <= removal.through)
    // Recorded before it is done: from then on, a log that begins after these lines is whole.
    // Once: a file that cannot be removed is tried in each round.
    if (removal.through > this.#removed) {
      const lasting = removal.lasting.filter(({ seq }) => seq > this.#removed)
      const files = { files: old.map(({ name }) => name) }
      const event = tell(pruneOf({ ...removal, lasting }, due, retention, files))
      const told = [{ ...event, sealed: true }, ...lasting.map(toldAgain)]
      await Promise.all(told.map((one) => this.writer.lines.add(one)))
      this.#removed = removal.through
    }
    for (const { path } of old) await unlink(path)
  }

  /** Settles when everything recorded so far is in the log, or it cannot be written. */
  async settled(): Promise<void> {
    await settle(this.writer)
    await this.#outbox.settled()
  }

  async close(): Promise<void> {
    await this.writer.close()
    await this.#outbox.settled()
  }
}
