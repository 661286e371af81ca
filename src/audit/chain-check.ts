import type { RawLine } from '../line-log/read-lines.ts'
import { checkpointText, type Head, isSigned, type PublicKeys, type WriterHead } from './checkpoint.ts'
import type { AuditLine } from './event.ts'
import { keyChangeText } from './key-change.ts'
import type { AuditLoss, KnownLine, KnownLog } from './known-log.ts'
import { firstPrev, lineHash, parseLine } from './line.ts'
import type { LogFile } from './log-files.ts'
import type { AuditVerification } from './verification.ts'

const shownFaults = 20

/** Lines of one log after the other, each held against those before it and against what is known of them. */
export class ChainCheck {
  readonly #keys: PublicKeys
  readonly #known = new Map<number, string[]>()
  readonly #faults: string[] = []
  readonly #notes: string[] = []
  #unsaid = 0
  #expected = 0
  #hash: string | undefined
  #place = ''
  #next = 'the log'
  #first = 0
  #firstChained = true
  #signer: string | undefined
  #suspect: { readonly before: string; readonly here: string } | undefined
  /** Losses that the state remembers. */
  readonly #remembered: string[] = []
  /** Those that the log tells of itself, until it tells that somebody answers for them. */
  #losses: ToldLoss[] = []
  lines = 0
  /** The last line that a signature covers. */
  signed = 0
  /** The last line that was removed. */
  through = 0
  /** Numbers of lines that are lost and may have been given anew. */
  readonly lost: { readonly from: number; readonly to: number }[] = []
  /** How far other writers had come, as this one signed. */
  readonly heads: WriterHead[] = []
  /** What was removed of other writers' lines, as this one tells. */
  readonly prunes: { readonly seq: number; readonly writer: string; readonly through: number }[] = []
  /** That somebody answers for losses, of whichever log. */
  readonly answers: AuditLine[] = []

  constructor(keys: PublicKeys, known: readonly (KnownLine | undefined)[]) {
    this.#keys = keys
    for (const line of known) {
      if (line) this.#known.set(line.seq, [...(this.#known.get(line.seq) ?? []), line.hash])
    }
    if (keys.id === undefined) this.#notes.push('there is no public key; signatures were not checked')
  }

  /** What the state says of the log as a whole. */
  state({ key, losses }: KnownLog, { id }: PublicKeys): void {
    if (id !== key) {
      const here = id === undefined ? 'is not here' : `should be here, not ${id}`
      this.fault('key.pub.pem', `key ${key}, which signs the log, ${here}`)
    }
    this.remember(losses)
  }

  /** What the state remembers to have been missing. */
  remember(losses: readonly AuditLoss[]): void {
    for (const { time, what } of losses) this.#remembered.push(`${time}: ${what}`)
  }

  /** The number of the last line. */
  get last(): number {
    return this.#expected === 0 ? 0 : this.#expected - 1
  }

  /** Another writer signed that this log had come so far. */
  cover(seq: number): void {
    this.signed = Math.max(this.signed, seq)
  }

  /** Another writer tells that it removed the lines up to this one. */
  prunedThrough(seq: number): void {
    this.through = Math.max(this.through, seq)
  }

  fault(place: string, message: string): void {
    if (this.#faults.length < shownFaults) this.#faults.push(`${place}: ${message}`)
    else this.#unsaid++
  }

  begin(file: Pick<LogFile, 'name' | 'first'>): void {
    this.#next = `${file.name}:1`
    if (this.#expected === 0) this.#expected = file.first
    else if (file.first !== this.#expected) {
      this.fault(`${file.name}:1`, missing(this.#expected, file.first))
      this.#expected = file.first
      this.#hash = undefined
    }
  }

  /** A file was removed for its age while it was to be read. */
  pruned(next: Pick<LogFile, 'first'>): void {
    if (this.#first !== 0) return
    this.#expected = next.first
    this.#hash = undefined
  }

  line(file: Pick<LogFile, 'name'>, { number, bytes, complete }: RawLine, isLastFile: boolean): void {
    const place = `${file.name}:${number}`
    const line = parseLine(bytes)
    if (!complete || !line) {
      if (!complete && isLastFile) return void this.#notes.push(`${place}: this line is not finished`)
      this.fault(place, complete ? 'this is not a line of the log' : 'the line has no end')
      this.#next = `${file.name}:${number + 1}`
      this.#expected++
      this.#hash = undefined
      return
    }
    this.lines++
    if (this.#first === 0) {
      this.#first = this.#expected
      this.#firstChained = line.prev === firstPrev
      this.#place = place
    }
    if (line.seq !== this.#expected) {
      this.fault(place, missing(this.#expected, line.seq))
      this.#hash = undefined
    }
    this.#chain(line, place)
    const hash = lineHash(bytes)
    if (this.#known.get(line.seq)?.some((known) => known !== hash))
      this.fault(place, 'this is not the line that was signed')
    if (line.type === 'audit.checkpoint') this.#checkpoint(line, place)
    if (line.type === 'audit.key') this.#keyChange(line, place)
    if (line.type === 'audit.prune') this.#prune(line)
    if (line.type === 'audit.truncated') this.#truncated(line, place)
    if (line.type === 'audit.accept') {
      this.answers.push(line)
      this.#answered(this.#losses, line)
      this.#losses = []
    }
    this.#hash = hash
    this.#place = place
    this.#next = `${file.name}:${number + 1}`
    this.#expected = line.seq + 1
  }

  /** What is wrong in the end; `begin` is the place of the first line, and `head` how far the log had come as its own file says. */
  end(begin: string, files: number, head: Head | 'forged' | 'elsewhere' | undefined): AuditVerification {
    if (this.#suspect) this.fault(this.#suspect.before, 'this line or the next was changed')
    for (const { place, text } of this.#losses) this.fault(place, text)
    for (const loss of this.#remembered) this.fault('the state', loss)
    const { last } = this
    if (this.#first > 1 && this.through < this.#first - 1) {
      this.fault(begin, missing(this.through + 1, this.#first))
    } else if (this.#first === 1 && !this.#firstChained) {
      this.fault(begin, 'the first line does not begin the chain')
    }
    const end = [...this.#known.keys()].reduce((most, seq) => Math.max(most, seq), 0)
    if (end > Math.max(last, this.through))
      this.fault(this.#next, `the log ends at line ${last}, but line ${end} had been signed`)
    if (head === undefined && this.lines > 0) {
      this.fault('head.json', 'the file is missing; lines cut off the end would not be noticed')
    }
    if (this.#signer !== undefined && this.#signer !== this.#keys.id)
      this.fault('key.pub.pem', `the log was handed to key ${this.#signer}, which is not here`)
    if (last > this.signed) this.#notes.push(`${last - this.signed} lines at the end are not signed yet`)
    if (this.#unsaid > 0) this.#faults.push(`and ${this.#unsaid} more faults`)
    return {
      ok: this.#faults.length === 0,
      files,
      lines: this.lines,
      first: this.#first,
      last,
      signed: this.signed,
      pruned: this.through,
      faults: this.#faults,
      notes: this.#notes,
    }
  }

  /** A line names the hash of the one before; which of the two was changed, only the line after can tell. */
  #chain(line: AuditLine, place: string): void {
    const holds = this.#hash === undefined || line.prev === this.#hash
    if (this.#suspect) {
      this.fault(holds ? this.#suspect.before : this.#suspect.here, 'this line was changed')
      this.#suspect = undefined
    } else if (!holds) this.#suspect = { before: this.#place, here: place }
  }

  #checkpoint(line: AuditLine, place: string): void {
    const { key: id, signed } = line.data ?? {}
    const heads = line.data?.['heads'] as readonly WriterHead[] | undefined
    if (this.#keys.id === undefined) return
    const key = this.#keys.all.get(String(id))
    if (!key || (this.#signer !== undefined && id !== this.#signer))
      return this.fault(place, 'this was signed with another key')
    if (
      typeof signed !== 'string' ||
      !isSigned(key, checkpointText({ seq: line.seq, prev: line.prev, heads }), signed)
    ) {
      return this.fault(
        place,
        `the signature does not hold: lines ${this.signed + 1} to ${line.seq} are not as they were`,
      )
    }
    this.#signer = String(id)
    this.signed = line.seq
    if (Array.isArray(heads)) for (const one of heads) this.heads.push(one)
  }

  /** From here on another key signs; the one before says so itself. */
  #keyChange(line: AuditLine, place: string): void {
    const { from, to, signed } = line.data ?? {}
    const key = this.#keys.all.get(String(from))
    if (!key || (this.#signer !== undefined && this.#signer !== from))
      return this.fault(place, 'the key that hands over here is not the one that signed')
    if (typeof signed !== 'string' || !isSigned(key, keyChangeText(String(from), String(to)), signed))
      return this.fault(place, 'the old key has not signed for the new one')
    this.#signer = String(to)
  }

  #prune({ seq, data }: AuditLine): void {
    const through = Number(data?.['through'] ?? 0)
    const writer = data?.['writer']
    if (typeof writer === 'string') this.prunes.push({ seq, writer, through })
    else this.prunedThrough(through)
  }

  #truncated({ time, data }: AuditLine, place: string): void {
    const { expected, found, what } = data ?? {}
    const told = `lines were missing here: ${Number(expected)} had been written, ${Number(found)} were found`
    const text = typeof what === 'string' ? `${told} (${what})` : told
    this.#losses.push({ place, text, id: `${time} ${textOf(what)}` })
    this.lost.push({ from: Number(found) + 1, to: Math.max(Number(expected), Number(found) + 1) })
  }

  /** Somebody answered in another log for losses that it names. */
  answer(line: AuditLine): void {
    const named = line.data?.['losses']
    const ids = (Array.isArray(named) ? (named as readonly Partial<AuditLoss>[]) : []).map(
      ({ time, what }) => `${textOf(time)} ${textOf(what)}`,
    )
    this.#answered(
      this.#losses.filter(({ id }) => ids.includes(id)),
      line,
    )
    this.#losses = this.#losses.filter(({ id }) => !ids.includes(id))
  }

  #answered(losses: readonly ToldLoss[], { data }: AuditLine): void {
    const { by, reason } = data ?? {}
    for (const { place, text } of losses)
      this.#notes.push(`${place}: ${text}; accepted by ${textOf(by)}: ${textOf(reason)}`)
  }
}

/** A loss that a log tells of itself; its id is when it was found and what it was. */
interface ToldLoss {
  readonly place: string
  readonly text: string
  readonly id: string
}

function missing(expected: number, found: number): string {
  if (found < expected) return `line ${expected} should stand here, not ${found}`
  return found === expected + 1
    ? `line ${expected} is missing`
    : `lines ${expected} to ${found - 1} are missing`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '-'
}
