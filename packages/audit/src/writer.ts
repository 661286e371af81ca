import { AppError, messageOf } from '#leaf/errors.ts'
import { LineLog } from '#state/lines.ts'
import type { LastLines, LedgerLine, LedgerLines } from '#state/store.ts'
import { Turns } from '#leaf/turns.ts'
import { Chain, type ChainLinks, type Tried } from './chain.ts'
import { newsOf, readHead, type WriterHead, writeHead } from './checkpoint.ts'
import { EndNotes } from './end-notes.ts'
import {
  closeLines,
  type LedgerPart,
  type LogParts,
  requireWritable,
  settle,
  type TransactionPart,
} from './writing.ts'
import { isSameLine } from './verifying/known-log.ts'
import { lastLineOf, ledgerLine, unfound } from './ledger/ledger-lines.ts'
import { ReservedLines } from './ledger/ledger-reserve.ts'
import { firstPrev, type ToldEvent } from './line.ts'
import { Reserve, reserveMilliseconds } from './keeping/reserve.ts'

/** The time within which events share one write and one sync, which is the cost of a write. */
const gatherMilliseconds = 20
const checkpointMilliseconds = 60_000
/** The number of times that lines are offered, when others lie at their place. */
const attempts = 3
/** The part of the reserve's room that the head needs. */
const spareBytes = 1 << 16

/**
 * Writes events as lines, each with the hash of the one before, signed at intervals: in files, or in the ledger that
 * daemons share, events of a change in its transaction. Accepted events wait until they are kept, together with others.
 * Nobody else writes this chain, and one write of it is under way at a time.
 */
export class AuditWriter {
  readonly chain: Chain
  readonly lines: LineLog<ToldEvent>
  readonly #room: Reserve
  /** The lines that are recorded while the database has no room. */
  #reserved: ReservedLines | undefined
  #movedAt = 0
  readonly #ends: EndNotes
  #moveTimer: NodeJS.Timeout | undefined
  readonly #options: LogParts & LedgerPart
  readonly #turns = new Turns()
  /** The last line of each other writer when a checkpoint of this one last named it. */
  readonly #named = new Map<string, number>()
  #heads: readonly WriterHead[] = []
  #tried: Tried | undefined
  /** True when the chain is known to end where the ledger's does. */
  #sure = false
  /** The server on which the end was last looked up. */
  #server: number | undefined
  #signDue = false
  /** True when the next signature is the last of this run. */
  #ending = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: LogParts & LedgerPart) {
    this.#options = options
    this.chain = new Chain(options.clock, options.key, options.files ? undefined : options.id)
    this.lines = new LineLog({
      name: 'the audit log',
      log: options.log,
      gatherMilliseconds,
      sizeOf: ({ text }) => text.length,
      write: (events, trial) => this.#write(events, trial),
      rescue: (error) => this.#rescue(error),
    })
    this.#room = new Reserve(options)
    this.#ends = new EndNotes({ ...options, signed: (id, end) => this.#reserved || options.signed(id, end) })
  }

  /** Finds the end of this writer's lines. Remains of a crash after them, in files, are reported. */
  async open(): Promise<void> {
    const { folder, head, key, files, log, tell } = this.#options
    const torn = await files?.open()
    await this.#makeSure()
    const known = await readHead(folder, undefined, head)
    const { seq, hash } = this.chain.end
    // The last line was removed, and the machine stopped when the next file had just begun.
    if (seq > 0 && hash === firstPrev) {
      if (known !== 'forged' && known?.seq === seq) this.chain.goOn({ seq, hash: known.hash })
      else log.error('the line before the first of the audit log is not known', { seq })
    }
    const repair = torn && tell({ type: 'audit.repair', status: 'ok', user: 'system', data: torn })
    if (repair) this.lines.add(repair).catch(() => undefined)
    const left = files ? undefined : await ReservedLines.left(this.#options)
    if (left) await this.#moveBack(this.#goOnWith(left))
    else await this.#room.keep()
    // From now on, a missing head is a fault.
    if (known === undefined && (!files || seq === 0)) await writeHead(folder, key, this.chain.end, head)
    this.#timer = setInterval(() => void this.#look(), checkpointMilliseconds).unref()
  }

  /** The lines that are not in the database yet. */
  get reserved(): readonly LedgerLine[] {
    return [...(this.#reserved?.lines ?? [])]
  }

  /** True when the disk is full: then only reads are recorded. */
  get isOnReserve(): boolean {
    return this.#options.files ? this.#room.isGivenUp : this.#reserved !== undefined
  }

  /** Lets reads go on when the disk is full; others wait until there is room for the reserve again. */
  async #rescue(error: unknown): Promise<boolean> {
    if (!(await this.#room.giveUp(error))) return false
    const { log, files } = this.#options
    const what = files
      ? 'the disk is full: the audit log goes on in its reserve'
      : "the database's disk is full: the audit log goes on in a file of this daemon"
    log.error(`${what}, and what changes data is refused`, { error })
    if (!files && !this.#reserved) this.#goOnWith(await ReservedLines.begin(this.#options))
    return true
  }

  #goOnWith(reserved: ReservedLines): ReservedLines {
    this.#reserved = reserved
    this.#movedAt = performance.now()
    if (reserved.end) this.chain.goOn(reserved.end)
    this.#moveTimer = setInterval(() => this.lines.wake(), reserveMilliseconds).unref()
    return reserved
  }

  /** Moves the reserved lines into the database, if it has room by now. */
  async #moveBack(reserved: ReservedLines): Promise<void> {
    const { log, signed } = this.#options
    this.#movedAt = performance.now()
    try {
      await reserved.move(this.chain)
    } catch (error) {
      return log.debug('the audit log stays on its reserve', { error })
    }
    clearInterval(this.#moveTimer)
    this.#reserved = undefined
    log.info('what the audit log had told on its reserve is in the database')
    signed(this.chain.key.id, this.chain.end)
    void this.#room.keep()
  }

  /** Returns the lines of events, to be written last in a transaction that removes others with them. */
  linesFor(parts: readonly TransactionPart[]): LastLines {
    const [events, dropped] = [parts.flatMap((part) => part.events), parts.flatMap((part) => part.dropped)]
    let links: ChainLinks
    return {
      lines: async () => {
        await this.#turns.take()
        try {
          requireWritable(this)
          await this.#makeSure()
          links = this.chain.next(events, false)!
          return { ...this.#linesOf(links), dropped }
        } catch (error) {
          this.#turns.done()
          throw error
        }
      },
      over: (kept) => {
        if (kept) this.#took(links)
        else this.#doubt({ links, events })
        this.#turns.done()
      },
    }
  }

  async close(): Promise<void> {
    for (const timer of [this.#timer, this.#moveTimer]) clearInterval(timer)
    await settle(this)
    this.#ending = true
    const { files, log } = this.#options
    if (files || this.lines.fault === undefined) await this.#look()
    await closeLines(this, log)
    this.#room.close()
    await this.#ends.close()
    await (files ?? this.#reserved)?.close()
  }

  /** Signs what is not signed yet, or what others have written since they were last named. */
  async #look(): Promise<void> {
    const { ledger, id, log } = this.#options
    // Lines on the reserve are signed as they are written.
    if (this.#reserved) return
    const { unsigned, end } = this.chain
    if (!this.#ending) void this.#room.keep()
    else if (unsigned === 0 && (end.closed || end.seq === 0)) return
    try {
      const { heads, isNews } = newsOf(await ledger.writers(), id, this.#named)
      if (unsigned === 0 && !isNews && !this.#ending) return
      this.#heads = heads
      this.#signDue = true
      this.lines.wake()
    } catch (error) {
      log.warn('the audit log was not signed just now', { reason: messageOf(error) })
    }
  }

  async #write(events: readonly ToldEvent[], trial: boolean): Promise<void> {
    await this.#turns.take()
    try {
      const isDue = trial || performance.now() - this.#movedAt >= reserveMilliseconds
      if (this.#reserved && isDue) await this.#moveBack(this.#reserved)
      for (let attempt = 1; attempt <= attempts; attempt++) if (await this.#offer(events, trial)) return
      throw new Error('others write the same part of the audit log')
    } catch (error) {
      // The fault is shown to people, in the words of the database.
      throw error instanceof AppError ? new Error(error.message, { cause: error }) : error
    } finally {
      this.#turns.done()
    }
  }

  /** Offers lines to the ledger; returns false when it did not end where expected. */
  async #offer(all: readonly ToldEvent[], trial: boolean): Promise<boolean> {
    const kept = await this.#makeSure()
    const events = all.filter((event) => !kept.includes(event))
    const reserved = this.#reserved
    if (events.length > 0) await this.#endFile()
    const sign = reserved ? events.length > 0 : this.#signDue || (trial && all.length === 0)
    const heads = sign && !reserved && !this.#options.files ? this.#heads : undefined
    const links = this.chain.next(events, sign, { heads, closed: this.#ending && !reserved })
    if (!links) return true
    if (reserved) await reserved.append(links.lines, (this.#options.reserveBytes ?? 0) - spareBytes)
    else {
      this.#doubt({ links, events })
      if (!(await this.#options.ledger.add(this.#linesOf(links), links.first - 1))) return false
    }
    this.#took(links)
    // For lines on the reserve, only the head says that they must be there; routine need not wait for a second file.
    if (links.sealed || (reserved && links.signed)) await this.#ends.settled()
    return true
  }

  /** Ends a file that is full, or of another day, with a checkpoint, and begins the next. */
  async #endFile(): Promise<void> {
    const { files } = this.#options
    if (!files?.isFull) return
    const links = this.chain.unsigned > 0 ? this.chain.next([], true) : undefined
    if (links && (await files.add(this.#linesOf(links), links.first - 1))) this.#took(links)
    await files.begin()
  }

  /** Looks up the ledger's end when it is in doubt; returns the events that prove to be kept. */
  async #makeSure(): Promise<readonly ToldEvent[]> {
    if (this.#reserved && this.#reserved.lines.length > 0) return []
    const { server } = this.#options.ledger
    if (this.#sure && server === this.#server) return []
    const end = await lastLineOf(this.#options.ledger, this.#options.id)
    this.#server = server
    const tried = this.#tried
    this.#tried = undefined
    if (tried && isSameLine(end, tried.links.end)) {
      this.#took(tried.links)
      return tried.events
    }
    const before = this.chain.end
    if (!isSameLine(end, before)) {
      this.chain.goOn(end)
      if (end.seq <= before.seq) this.#options.missing(before.seq, end)
    }
    this.#sure = true
    return []
  }

  /** Looks up the end anew, on a server that somebody accepted. */
  async lookAgain(): Promise<void> {
    await this.#turns.take()
    this.#sure = false
    await this.#makeSure().finally(() => this.#turns.done())
  }

  #doubt(tried: Tried): void {
    this.#tried = tried
    this.#sure = false
  }

  #took(links: ChainLinks): void {
    const { id, ledger, written } = this.#options
    this.chain.took(links)
    // Lines on the reserve are not in the ledger yet.
    if (!this.#reserved) ledger.reached?.({ writer: id, ...this.chain.end })
    this.#tried = undefined
    this.#sure = true
    written(links.lines)
    if (!links.signed) return
    this.#signDue = false
    for (const [id, seq] of links.heads) this.#named.set(id, seq)
    const { key, end } = this.chain
    this.#ends.note(key, end, links.sealed || this.#ending || this.#reserved !== undefined)
  }

  #linesOf({ first, lines }: ChainLinks): LedgerLines {
    const { id: writer, files } = this.#options
    return {
      writer,
      lines: files ? lines.map((line, at) => unfound(first + at, line)) : lines.map(ledgerLine),
    }
  }
}
