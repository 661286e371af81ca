/** The log of daemons that share a database: in its ledger, which all of them write and any of them reads. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { isoTime } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Ledger, LedgerPlace, LedgerRow } from '../store/ledger.ts'
import type { Transaction } from '../store/store.ts'
import {
  type Head,
  headName,
  headNameOf,
  openKey,
  openPublicKeys,
  publicTextsIn,
  readHead,
  writeHead,
} from './checkpoint.ts'
import { exportLog, importLog, writerOf } from './import-log.ts'
import { type KeptLog, type LogParts, type LogSize, settle } from './kept-log.ts'
import { nextPublicText } from './key-change.ts'
import type { KnownLine } from './known-log.ts'
import { lastLineOf, ChainWriter, type LedgerPart } from './ledger-writer.ts'
import { lineHash, parseLine, toldBefore, type ToldEvent } from './line.ts'
import { outboxSpec, type WaitingEvent } from './outbox.ts'
import type { AuditVerification } from './verification.ts'
import { verifyLedger } from './verify-ledger.ts'

const dayMilliseconds = 86_400_000
/** What a daemon of an earlier version left for so long it will not fetch any more. */
const orphanedMilliseconds = 3_600_000
/** What is asked again and again, by metrics for one, is counted so often. */
const countedMilliseconds = 1_000

/** The names of the files with heads. */
const headPattern = /^head-.+\.json$/

/** What the daemon with a folder and a key is in a ledger. */
export async function partOf(ledger: Ledger, folder: string, key: string): Promise<LedgerPart> {
  const head = headNameOf(await ledger.name())
  return { ledger, id: await writerOf(ledger, folder, key), name: nameOf(folder), head }
}

/** Takes the log of a folder, which no daemon writes, into the ledger of a database that the state was carried to. */
export async function carryLog(folder: string, ledger: Ledger, log: Log): Promise<void> {
  const key = await openKey(folder)
  const part = await partOf(ledger, folder, key.id)
  await importLog(folder, ledger, part, log)
  await writeHead(folder, key, await lastLineOf(ledger, part.id), part.head)
}

/** Writes the log of a ledger into a folder: the lines of the daemon with its key as its log, those of the others into folders of their own. */
export async function fetchLog(folder: string, ledger: Ledger, log: Log): Promise<void> {
  const key = await openKey(folder)
  const own = await writerOf(ledger, folder, key.id)
  for (const writer of await ledger.writers()) {
    const isOwn = writer.id === own
    await exportLog(ledger, writer, isOwn ? folder : join(folder, writer.id), log)
    if (isOwn) await writeHead(folder, key, await lastLineOf(ledger, own))
  }
}

/** What tells the logs of daemons apart that share a state. */
export function nameOf(folder: string): string {
  return `${hostname()} ${resolve(folder)}`
}

export class LedgerLog implements KeptLog {
  readonly place: Ledger
  readonly writer: ChainWriter
  readonly #parts: LogParts & LedgerPart
  #counted: { readonly at: number; readonly size: Promise<LogSize> } | undefined

  constructor(parts: LogParts & LedgerPart) {
    this.#parts = parts
    this.place = parts.ledger
    this.writer = new ChainWriter(parts)
  }

  /** The files of before come first: what is written goes on behind their last line. */
  async prepare(): Promise<readonly (Head | 'forged')[]> {
    const { folder, log, store, id, name, head } = this.#parts
    const others = (await readdir(folder)).filter((file) => file !== head && headPattern.test(file))
    const isKnown = existsSync(join(folder, head))
    const isNew = Object.values(store.stats().documents).every((count) => count === 0)
    const imported = await importLog(folder, this.place, { id, name }, log)
    const keys = await publicTextsIn(folder)
    const known = (await this.place.writers()).find((writer) => writer.id === id)
    if (known?.keys.join() !== keys.join() || known.name !== name) await this.place.enter({ id, name, keys })
    // A ledger that this daemon has never seen is a new one only with a new state, or with the files that it had written.
    const names = isKnown ? [head] : isNew || imported > 0 ? [headName] : [headName, ...others]
    const publicKeys = await openPublicKeys(folder)
    const heads = await Promise.all(names.map((file) => readHead(folder, publicKeys, file)))
    return heads.filter((one) => one !== undefined)
  }

  async tellIn(transaction: Transaction, told: ToldEvent): Promise<void> {
    this.writer.addIn(transaction, told)
  }

  /** Until 2.8 events waited in the database for the files of their daemon, which may be lost with them. */
  async takeLeftOver(): Promise<void> {
    const { store, key, clock } = this.#parts
    const waiting = store.collection<WaitingEvent>(outboxSpec)
    for (const one of await waiting.find({ order: [{ field: 'after' }, { field: 'time' }] })) {
      const isMine = one.log === key.id
      if (!isMine && clock.now() - Date.parse(one.time) < orphanedMilliseconds) continue
      const isThere = await this.#has(one)
      await store.transaction(async (transaction) => {
        const taken = await transaction.in(waiting).delete(one.id)
        if (taken && !isThere) this.writer.addIn(transaction, toldBefore(one.id, one.time, one.event))
      })
    }
  }

  async #has({ id, time }: WaitingEvent): Promise<boolean> {
    const at = Date.parse(time)
    for await (const rows of this.place.read({ since: at, until: at + 1 }))
      if (rows.some(({ line }) => parseLine(Buffer.from(line))?.id === id)) return true
    return false
  }

  size(): Promise<LogSize> {
    const now = this.#parts.clock.now()
    if (!this.#counted || Math.abs(now - this.#counted.at) > countedMilliseconds)
      this.#counted = { at: now, size: this.#size() }
    return this.#counted.size
  }

  async #size(): Promise<LogSize> {
    try {
      const [writers, bytes] = await Promise.all([this.place.writers(), this.place.bytes()])
      const writing = writers.filter(({ last }) => last > 0)
      const lines = writing.reduce((sum, { first, last }) => sum + last - first + 1, 0)
      const since = Math.min(...writing.map(({ since = Infinity }) => since))
      const oldest = Number.isFinite(since) && { oldest: isoTime(since).slice(0, 10) }
      return { lines, files: 0, bytes, writers: writing.length, ...oldest }
    } catch {
      // The database does not answer, which the state tells: what is asked here is how this daemon writes.
      return { lines: this.writer.chain.end.seq, files: 0, bytes: 0 }
    }
  }

  async verify(anchors?: readonly KnownLine[]): Promise<AuditVerification> {
    const { folder, memory, id: mine } = this.#parts
    const witnesses = { folder, mine, known: await memory.all() }
    return await verifyLedger(this.place, { ...witnesses, ...(anchors && { anchors }) })
  }

  async announceKey(): Promise<void> {
    const { folder, id, name } = this.#parts
    const keys = [...(await publicTextsIn(folder)), await nextPublicText(folder)]
    await this.place.enter({ id, name, keys })
  }

  /** Removes the oldest lines, whoever wrote them: who did may be gone. */
  async tidy(): Promise<void> {
    const { store, settings, tell, id } = this.#parts
    await this.takeLeftOver()
    const { retention_days: days, max_total_bytes: most } = settings()
    const old = store.believed.now() - (days + 1) * dayMilliseconds
    const before = Math.max(old, (await this.place.timeOfExcess(most)) ?? 0)
    for (;;) {
      const places = await this.#sound(await this.place.oldestEnd(before, id), before)
      if (places.length === 0) return
      for (const place of places) {
        const told = tell({ type: 'audit.prune', status: 'ok', user: 'system', data: { ...place } })
        await store.transaction(async (transaction) => this.writer.addIn(transaction, told, [place]))
      }
    }
  }

  /** How far the oldest lines are as old as they say themselves, and chained: what was meddled with stays, to be told. */
  async #sound(places: readonly LedgerPlace[], before: number): Promise<LedgerPlace[]> {
    const sound: LedgerPlace[] = []
    for (const { writer, through } of places) {
      const end = await this.#soundEnd(writer, through, before)
      if (end > 0) sound.push({ writer, through: end })
    }
    return sound
  }

  async #soundEnd(writer: string, through: number, before: number): Promise<number> {
    let end = 0
    let last: LedgerRow | undefined
    for await (const rows of this.place.read({ writer }))
      for (const row of rows) {
        const { prev, time = '' } = parseLine(Buffer.from(row.line)) ?? {}
        if (last && lineHash(last.line) !== prev) return end
        end = last?.seq ?? end
        if (row.seq > through || !(Date.parse(time) < before)) return end
        last = row
      }
    // Nothing stands behind it; its writer is long gone, and others have signed what it came to.
    return last?.seq ?? end
  }

  settled(): Promise<void> {
    return settle(this.writer)
  }

  close(): Promise<void> {
    return this.writer.close()
  }
}
