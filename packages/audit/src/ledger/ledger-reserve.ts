/** A file of lines that a daemon records while the database has no room for them: lines of its chain, until there is room. */
import { existsSync } from 'node:fs'
import { readFile, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { replaceFile, syncFolder } from '#leaf/files.ts'
import { AppendFile } from '#state/lines.ts'
import type { LedgerLine } from '#state/store.ts'
import type { Chain } from '../chain.ts'
import type { KnownLine } from '../verifying/known-log.ts'
import { lastLineOf, ledgerLine } from './ledger-lines.ts'
import { lineHash, parseLine, type ToldEvent, toldBefore } from '../line.ts'
import type { LedgerPart, LogParts } from '../writing.ts'

/** Returns the path of the file where lines of a ledger wait, by the ledger's name. */
export function reservePathOf(folder: string, ledger: string): string {
  return join(folder, `reserve-${ledger}.jsonl`)
}

/** The number of lines that go into the database at once. */
const movedAtOnce = 200

/** The ledger where the lines of a writer belong, and the file where they wait. */
type ReservePlace = Pick<LogParts, 'missing'> & Pick<LedgerPart, 'ledger' | 'id' | 'reserve'>

/** The lines of one writer that are not in the ledger yet, in the order of its chain. */
export class ReservedLines {
  readonly #place: ReservePlace
  #file: AppendFile
  #lines: LedgerLine[]

  private constructor(place: ReservePlace, file: AppendFile, lines: LedgerLine[]) {
    this.#place = place
    this.#file = file
    this.#lines = lines
  }

  /** Begins a reserve without lines. */
  static async begin(place: ReservePlace): Promise<ReservedLines> {
    return new ReservedLines(place, await AppendFile.create(place.reserve), [])
  }

  /** Opens what an earlier run left, up to its last whole line; undefined when there is nothing. */
  static async left(place: ReservePlace): Promise<ReservedLines | undefined> {
    if (!existsSync(place.reserve)) return undefined
    const lines: LedgerLine[] = []
    for (const line of (await readFile(place.reserve, 'utf8')).split('\n').slice(0, -1)) {
      const parsed = parseLine(Buffer.from(line))
      const follows = parsed && (lines.length === 0 || parsed.seq === lines.at(-1)!.seq + 1)
      // The head detects that lines cut off here are missing.
      if (!follows) break
      lines.push(ledgerLine(line))
    }
    return new ReservedLines(place, await AppendFile.open(place.reserve, bytesOf(lines).length), lines)
  }

  get lines(): readonly LedgerLine[] {
    return this.#lines
  }

  get end(): KnownLine | undefined {
    const last = this.#lines.at(-1)
    return last && { seq: last.seq, hash: lineHash(last.line) }
  }

  /** Adds lines, unless the file would exceed this number of bytes. */
  async append(texts: readonly string[], most: number): Promise<void> {
    const lines = texts.map(ledgerLine)
    const bytes = bytesOf(lines)
    if (this.#file.length + bytes.length > most)
      throw new AppError('unavailable', "the database's disk is full, and so is the reserve")
    await this.#file.append(bytes)
    this.#lines.push(...lines)
  }

  /** Moves the lines into the ledger, in their order and each once, whatever was moved before a crash. */
  async move(chain: Chain): Promise<void> {
    const { ledger, id } = this.#place
    await this.#fit(chain)
    while (this.#lines.length > 0) {
      const lines = this.#lines.slice(0, movedAtOnce)
      if (!(await ledger.add({ writer: id, lines }, lines[0]!.seq - 1)))
        throw new Error('others write the same part of the audit log')
      this.#lines.splice(0, lines.length)
    }
    await this.close()
    await unlink(this.#place.reserve)
    // Otherwise the file may reappear after a power cut, when the ledger has gone on.
    await syncFolder(dirname(this.#place.reserve))
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  /** Drops lines that the ledger has. After another end, as in a restored database, the same events are recorded anew. */
  async #fit(chain: Chain): Promise<void> {
    const { ledger, id, reserve, missing } = this.#place
    const end = await lastLineOf(ledger, id)
    const at = this.#lines.findIndex(({ seq, line }) => seq === end.seq && lineHash(line) === end.hash)
    this.#lines.splice(0, at + 1)
    if (at === -1 && (await this.#isBefore(end))) {
      this.#lines = []
      chain.goOn(end)
    }
    const [next] = this.#lines
    if (!next || parseLine(Buffer.from(next.line))!.prev === end.hash) return
    const before = chain.end
    chain.goOn(end)
    const links = chain.next(eventsIn(this.#lines), true)!
    chain.goOn(before)
    const lines = links.lines.map(ledgerLine)
    await replaceFile(reserve, bytesOf(lines))
    chain.took(links)
    this.#lines = lines
    await this.close()
    this.#file = await AppendFile.open(reserve, bytesOf(lines).length)
    missing(next.seq - 1, end)
  }

  /** True when all of them are in the ledger, which has gone on since: an orderly stop ends it with a line of its own. */
  async #isBefore(end: KnownLine): Promise<boolean> {
    const { ledger, id: writer } = this.#place
    const last = this.#lines.at(-1)
    if (!last || last.seq >= end.seq) return false
    for await (const [row] of ledger.read({ writer, after: last.seq - 1 }))
      return row?.bytes.toString() === last.line
    return false
  }
}

/** Returns the events of lines, without signatures for positions that they no longer have. */
function eventsIn(lines: readonly LedgerLine[]): ToldEvent[] {
  return lines.flatMap(({ line }) => {
    const { seq: _, prev: _prev, writer: _writer, id, time, ...event } = parseLine(Buffer.from(line))!
    return event.type === 'audit.checkpoint' ? [] : [toldBefore(id, time, event)]
  })
}

function bytesOf(lines: readonly LedgerLine[]): Buffer {
  return Buffer.from(lines.map(({ line }) => `${line}\n`).join(''))
}
