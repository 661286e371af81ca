/** The log of a daemon that is alone: files in its folder. */
import { unlink } from 'node:fs/promises'
import type { Transaction } from '../store/store.ts'
import { type Head, openPublicKeys, readHead } from './checkpoint.ts'
import { type KeptLog, type LogParts, type LogSize, settle } from './kept-log.ts'
import type { KnownLine } from './known-log.ts'
import type { ToldEvent } from './line.ts'
import { listLogFiles } from './log-files.ts'
import { LogWriter } from './log-writer.ts'
import { Outbox } from './outbox.ts'
import { compressLogFile, prunable } from './retention.ts'
import type { AuditVerification } from './verification.ts'
import { verifyAudit } from './verify.ts'

export class FileLog implements KeptLog {
  readonly place: string
  readonly writer: LogWriter
  readonly #parts: LogParts
  readonly #outbox: Outbox

  constructor(parts: LogParts) {
    this.place = parts.folder
    this.#parts = parts
    this.#outbox = new Outbox(parts.store, parts.log)
    this.writer = new LogWriter(parts)
  }

  async prepare(): Promise<readonly (Head | 'forged')[]> {
    const head = await readHead(this.place, await openPublicKeys(this.place))
    return head ? [head] : []
  }

  async tellIn(transaction: Transaction, told: ToldEvent): Promise<void> {
    await this.#outbox.put(transaction, told, this.writer.chain.end.seq)
    transaction.onCommit(() => this.#move(told))
  }

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
    const files = await listLogFiles(this.place)
    const bytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
    return {
      lines: this.writer.chain.end.seq,
      files: files.length,
      bytes,
      ...(files[0] && { oldest: files[0].day }),
    }
  }

  verify(anchors?: readonly KnownLine[]): Promise<AuditVerification> {
    return verifyAudit(this.place, { known: this.#parts.memory.known, ...(anchors && { anchors }) })
  }

  /** The next key lies in the folder already. */
  async announceKey(): Promise<void> {}

  async tidy(): Promise<void> {
    await this.#prune()
    const files = await listLogFiles(this.place)
    for (const file of files.slice(0, -1)) {
      if (!file.compressed && file.path !== this.writer.current) await compressLogFile(file)
    }
  }

  async #prune(): Promise<void> {
    const { store, settings, tell } = this.#parts
    const { files, through } = await prunable(this.place, store.believed.now(), settings())
    if (files.length === 0) return
    // Told before it is done: from then on, a log that begins behind these lines is whole.
    const data = { through, files: files.map(({ name }) => name) }
    await this.writer.lines.add(tell({ type: 'audit.prune', status: 'ok', user: 'system', data }))
    for (const { path } of files) await unlink(path)
  }

  async settled(): Promise<void> {
    await settle(this.writer)
    await this.#outbox.settled()
  }

  async close(): Promise<void> {
    await this.writer.close()
    await this.#outbox.settled()
  }
}
