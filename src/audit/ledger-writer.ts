import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, messageOf } from '../core/errors.ts'
import { LineLog } from '../line-log/line-log.ts'
import type { Ledger, LedgerLines, LedgerPlace } from '../store/ledger.ts'
import type { Transaction } from '../store/store.ts'
import { Turns } from '../store/turns.ts'
import { Chain, type ChainLinks } from './chain.ts'
import { publicKeysOf, type WriterHead, writeHead } from './checkpoint.ts'
import { type AuditWriter, closeLines, type LogParts, settle } from './kept-log.ts'
import type { KnownLine } from './known-log.ts'
import { ledgerLine } from './ledger-lines.ts'
import { firstPrev, lineHash, parseLine, type ToldEvent } from './line.ts'
import { checkpointMilliseconds, gatherMilliseconds } from './log-writer.ts'

/** So often lines are offered again, when others lie at their place. */
const attempts = 3

/** What a daemon is in a ledger. */
export interface LedgerPart {
  readonly ledger: Ledger
  /** The name of its writer. */
  readonly id: string
  /** Its name for people. */
  readonly name: string
  /** The name of the file with its head: what happens to the database does not happen to it. */
  readonly head: string
}

/** What was sent to the database, of which it is not known whether it was kept. */
interface Tried {
  readonly links: ChainLinks
  readonly events: readonly ToldEvent[]
}

/**
 * Events as lines in the ledger that daemons share: those of a change in its transaction, those without one together
 * with others. Nobody else writes this chain, and one write of it is under way at a time.
 */
export class ChainWriter implements AuditWriter {
  readonly chain: Chain
  readonly lines: LineLog<ToldEvent>
  /** The database has room or it has not. */
  readonly isOnReserve = false
  readonly #options: LogParts & LedgerPart
  readonly #turns = new Turns()
  readonly #inTransactions = new WeakMap<Transaction, Pending>()
  /** How far the other writers had come when a checkpoint of this one named them last. */
  readonly #named = new Map<string, number>()
  #heads: readonly WriterHead[] = []
  #tried: Tried | undefined
  /** Whether the chain is known to end where the ledger's does. */
  #sure = false
  /** The database server that was looked at. */
  #server: number | undefined
  #signDue = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: LogParts & LedgerPart) {
    this.#options = options
    this.chain = new Chain(options.clock, options.key, options.id)
    this.lines = new LineLog({
      name: 'the audit log',
      log: options.log,
      gatherMilliseconds,
      write: (events, trial) => this.#write(events, trial),
    })
  }

  /** Finds the end of this writer's lines. */
  async open(): Promise<void> {
    const { folder, head, key } = this.#options
    await this.#makeSure()
    // From now on, a missing head is a sign.
    if (!existsSync(join(folder, head))) await writeHead(folder, key, this.chain.end, head)
    this.#timer = setInterval(() => void this.#look(), checkpointMilliseconds).unref()
  }

  requireWritable(): void {
    this.lines.requireWritable()
  }

  /** Tells an event in a transaction, and removes what its lines say. */
  addIn(transaction: Transaction, told: ToldEvent, dropped: readonly LedgerPlace[] = []): void {
    const before = this.#inTransactions.get(transaction)
    if (before) return void before.events.push(told)
    const pending = { events: [told], dropped }
    this.#inTransactions.set(transaction, pending)
    let links: ChainLinks
    this.#options.ledger.lastIn(transaction, {
      lines: async () => {
        await this.#turns.take()
        try {
          await this.#makeSure()
          // What says that lines were removed is signed at once.
          links = this.chain.next(pending.events, dropped.length > 0)!
          return { ...this.#linesOf(links), dropped }
        } catch (error) {
          this.#turns.done()
          throw error
        }
      },
      over: (kept) => {
        if (kept) this.#took(links)
        else this.#doubt({ links, events: pending.events })
        this.#turns.done()
      },
    })
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await settle(this)
    if (this.lines.fault === undefined) await this.#look(true)
    await closeLines(this, this.#options.log)
  }

  /** Signs what is not signed yet, or what others have told since they were named. */
  async #look(ending = false): Promise<void> {
    if (ending && this.chain.unsigned === 0) return
    try {
      const moved: WriterHead[] = []
      let news = false
      for (const { id, last, line = '', keys } of await this.#options.ledger.writers()) {
        const named = this.#named.get(id)
        if (id === this.#options.id || last === 0 || named === last) continue
        moved.push([id, last, lineHash(line), publicKeysOf(keys).id!])
        // A checkpoint alone is no news: two writers would tell each other of theirs for ever.
        const isAlone = named === last - 1 && parseLine(Buffer.from(line))?.type === 'audit.checkpoint'
        if (!isAlone) news = true
      }
      if (this.chain.unsigned === 0 && !news) return
      this.#heads = moved
      this.#signDue = true
      this.lines.wake()
    } catch (error) {
      this.#options.log.warn('the audit log was not signed just now', { reason: messageOf(error) })
    }
  }

  async #write(events: readonly ToldEvent[], trial: boolean): Promise<void> {
    await this.#turns.take()
    try {
      for (let attempt = 1; attempt <= attempts; attempt++) if (await this.#offer(events, trial)) return
      throw new Error('others write the same part of the audit log')
    } catch (error) {
      // The fault is told to people, in the words of the database.
      throw error instanceof AppError ? new Error(error.message, { cause: error }) : error
    } finally {
      this.#turns.done()
    }
  }

  /** False when the ledger did not end where it was thought to. */
  async #offer(all: readonly ToldEvent[], trial: boolean): Promise<boolean> {
    const kept = await this.#makeSure()
    const events = all.filter((event) => !kept.includes(event))
    const sign = this.#signDue || (trial && all.length === 0)
    const links = this.chain.next(events, sign, sign ? this.#heads : undefined)
    if (!links) return true
    this.#doubt({ links, events })
    if (!(await this.#options.ledger.add(this.#linesOf(links), links.first - 1))) return false
    this.#took(links)
    return true
  }

  /** Looks where the ledger ends, when that is in doubt; answers the events of which that shows that they are kept. */
  async #makeSure(): Promise<readonly ToldEvent[]> {
    const { server } = this.#options.ledger
    if (this.#sure && server === this.#server) return []
    const end = await lastLineOf(this.#options.ledger, this.#options.id)
    this.#server = server
    const tried = this.#tried
    this.#tried = undefined
    if (tried && isSame(end, tried.links.end)) {
      this.#took(tried.links)
      return tried.events
    }
    const before = this.chain.end
    if (!isSame(end, before)) {
      this.chain.goOn(end)
      if (end.seq <= before.seq) this.#options.missing(before.seq, end)
    }
    this.#sure = true
    return []
  }

  #doubt(tried: Tried): void {
    this.#tried = tried
    this.#sure = false
  }

  #took(links: ChainLinks): void {
    const { folder, head, log, written, signed } = this.#options
    this.chain.took(links)
    this.#tried = undefined
    this.#sure = true
    written(links.lines)
    if (!links.signed) return
    this.#signDue = false
    for (const [id, seq] of links.heads) this.#named.set(id, seq)
    const { key, end } = this.chain
    writeHead(folder, key, end, head).catch((error: unknown) =>
      log.warn('how far the audit log has come could not be noted', { error }),
    )
    signed(key.id, end)
  }

  #linesOf({ lines }: ChainLinks): LedgerLines {
    return { writer: this.#options.id, lines: lines.map(ledgerLine) }
  }
}

/** Where the lines of a writer end. */
export async function lastLineOf(ledger: Ledger, writer: string): Promise<KnownLine> {
  const found = (await ledger.writers()).find(({ id }) => id === writer)
  return found?.line === undefined
    ? { seq: 0, hash: firstPrev }
    : { seq: found.last, hash: lineHash(found.line) }
}

interface Pending {
  readonly events: ToldEvent[]
  readonly dropped: readonly LedgerPlace[]
}

function isSame(one: KnownLine, other: KnownLine): boolean {
  return one.seq === other.seq && one.hash === other.hash
}
