import type { RawLine } from '#state/lines.ts'
import {
  type Head,
  isCheckpoint,
  isClosing,
  isSigned,
  type PublicKeys,
  type WriterHead,
} from '../checkpoint.ts'
import type { AuditLine } from '../audit.ts'
import { keyChangeText } from '../keeping/key-change.ts'
import {
  type AuditLoss,
  type KnownLine,
  type KnownLog,
  lossIn,
  missing,
  noHead,
  textOf,
  type ToldLoss,
} from './known-log.ts'
import { firstPrev, lineHash, parseLine } from '../line.ts'
import type { LogFile } from '../files/log-files.ts'
import { prunedIn, type ToldPrune } from '../keeping/removal.ts'
import { restoredIn } from './restored.ts'
import type { AuditVerification, WriterMark } from './verification.ts'

const shownFaults = 20

/** Checks the lines of one log in order, each against those before it and against what is known of them. */
export class ChainCheck {
  readonly #keys: PublicKeys
  readonly #known = new Map<number, string[]>()
  readonly #faults: string[] = []
  readonly #notes: string[] = []
  /** What its lines tell people: restores, and losses that somebody accepted. */
  readonly told = new Set<string>()
  #unsaid = 0
  #expected = 0
  #hash: string | undefined
  #place = ''
  #next = 'the log'
  #first = 0
  #from = 0
  #firstChained = true
  #signer: string | undefined
  /** Where a key signed that nobody trusts; what a trusted one signs behind it covers it. */
  #untrusted: { readonly seq: number; readonly place: string } | undefined
  #suspect: { readonly before: string; readonly here: string } | undefined
  /** Losses that the state remembers. */
  readonly #remembered: string[] = []
  /** Losses that the log itself reports, until it reports that somebody accepts them. */
  #losses: ToldLoss[] = []
  lines = 0
  /** The last line that a signature covers. */
  signed = 0
  /** The last line that signs, by a key whose word counts. */
  checkpoint: KnownLine = { seq: 0, hash: '' }
  /** The last line that was removed. */
  through = 0
  /** Numbers of lines that are lost and may have been assigned again. */
  readonly lost: { readonly from: number; readonly to: number }[] = []
  /** The heads of other writers, as this one signed them. */
  readonly heads: WriterHead[] = []
  readonly #prunes: ToldPrune[] = []
  readonly #answers: AuditLine[] = []
  /** The first line after the end of a run that its next run did not sign. */
  #behind: string | undefined
  #isClosed = false
  /** What is to be told of the last removal. */
  removal: string | undefined

  constructor(keys: PublicKeys, known: readonly (KnownLine | undefined)[]) {
    this.#keys = keys
    for (const line of known)
      if (line) this.#known.set(line.seq, [...(this.#known.get(line.seq) ?? []), line.hash])
    if (keys.id === undefined) this.#notes.push('there is no public key; signatures were not checked')
  }

  /** Checks what the state says of the log as a whole. */
  state({ key, losses }: KnownLog, { id }: PublicKeys): void {
    if (id !== key) {
      const here = id === undefined ? 'is not here' : `should be here, not ${id}`
      this.fault('key.pub.pem', `key ${key}, which signs the log, ${here}`)
    }
    for (const { time, what } of losses) this.#remembered.push(`${time}: ${what}`)
  }

  /** Goes on at a checkpoint up to which all was whole; `first` is the first line that is there now. */
  goOn({ seq, hash, through, lost, heads, told, removal }: WriterMark, first: number): void {
    this.through = through
    this.removal = removal
    for (const note of told) this.told.add(note)
    this.lost.push(...lost)
    this.heads.push(...heads)
    if (seq === 0) return
    this.#known.set(seq, [...(this.#known.get(seq) ?? []), hash])
    this.#expected = seq
    this.#from = seq
    this.#first = first
    this.lines = seq - first
  }

  /** The number of the last line. */
  get last(): number {
    return this.#expected === 0 ? 0 : this.#expected - 1
  }

  /** Counts lines up to this number as signed, since another writer signed that this log had come so far. */
  cover(seq: number): void {
    this.signed = Math.max(this.signed, seq)
  }

  /** The removals that it reports, of its own lines or of others'. They must be signed: anybody could add one at the end. */
  get prunes(): readonly ToldPrune[] {
    return this.#prunes.filter(({ seq }) => seq <= this.signed)
  }

  /** The signed lines by which somebody accepts losses, of whichever log. */
  get answers(): readonly AuditLine[] {
    return this.#answers.filter(({ seq }) => seq <= this.signed)
  }

  /** Notes that lines of this log were removed, as a trusted log reports. */
  removed({ place, through, fault, note }: ToldPrune): void {
    if (fault !== undefined) this.fault(place, fault)
    if (through <= this.through) return
    this.through = through
    this.removal = `${place}: ${note}`
  }

  /** Marks this as a part of a log: the lines before this one are elsewhere. */
  beginsAt(seq: number): void {
    this.through = Math.max(this.through, seq - 1)
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

  /** Skips a file that was removed for its age before it could be read. */
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
    this.#meaning(line, place)
    if (this.signed === line.seq) this.checkpoint = { seq: line.seq, hash }
    this.#hash = hash
    this.#place = place
    this.#next = `${file.name}:${number + 1}`
    this.#expected = line.seq + 1
  }

  #meaning(line: AuditLine, place: string): void {
    const isAgain = line.again !== undefined
    const wasClosed = this.#isClosed
    this.#isClosed = isClosing(line)
    if (line.type === 'audit.checkpoint') this.#checkpoint(line, place)
    else if (wasClosed) this.#behind ??= place
    if (line.type === 'audit.key' && !isAgain) this.#keyChange(line, place)
    if (line.type === 'audit.prune' && !isAgain) this.#prunes.push(prunedIn(line, place))
    if (line.type === 'audit.restore') this.told.add(`${place}: ${restoredIn(line)}`)
    if (line.type === 'audit.truncated') this.#truncated(line, place)
    if (line.type === 'audit.accept') this.#answers.push(line)
  }

  /** Returns the result; `begin` is the place of the first line, `head` how far the log had come by its own file. */
  end(begin: string, files: number, head: Head | 'forged' | 'elsewhere' | undefined): AuditVerification {
    if (this.#suspect) this.fault(this.#suspect.before, 'this line or the next was changed')
    if (this.#behind !== undefined && this.#keys.id !== undefined)
      this.fault(this.#behind, 'this was added while nothing ran, and is not signed')
    if (this.removal !== undefined) this.#notes.push(this.removal)
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
    if (head === undefined && this.lines > 0) this.fault('head.json', noHead)
    if (this.#signer !== undefined && this.#signer !== this.#keys.id)
      this.fault('key.pub.pem', `the log was handed to key ${this.#signer}, which is not here`)
    if (this.#untrusted && this.#untrusted.seq > this.signed)
      this.fault(this.#untrusted.place, 'a key signed this for which no known key has signed')
    if (last > this.signed) this.#notes.push(`${last - this.signed} lines at the end are not signed yet`)
    if (this.#unsaid > 0) this.#faults.push(`and ${this.#unsaid} more faults`)
    return {
      ok: this.#faults.length === 0,
      files,
      lines: this.lines,
      first: this.#first,
      from: this.#from || this.#first,
      last,
      signed: this.signed,
      pruned: this.through,
      faults: this.#faults,
      notes: [...this.told, ...this.#notes],
    }
  }

  /** Checks the hash of the line before; only the line after can tell which of the two was changed. */
  #chain(line: AuditLine, place: string): void {
    const holds = this.#hash === undefined || line.prev === this.#hash
    if (this.#suspect) {
      this.fault(holds ? this.#suspect.before : this.#suspect.here, 'this line was changed')
      this.#suspect = undefined
    } else if (!holds) this.#suspect = { before: this.#place, here: place }
  }

  #checkpoint(line: AuditLine, place: string): void {
    const id = line.data?.['key']
    const heads = line.data?.['heads'] as readonly WriterHead[] | undefined
    if (this.#keys.id === undefined) return
    if (!this.#keys.all.has(String(id)) || (this.#signer !== undefined && id !== this.#signer))
      return this.fault(place, 'this was signed with another key')
    if (!isCheckpoint(line, this.#keys))
      return this.fault(
        place,
        `the signature does not hold: lines ${this.signed + 1} to ${line.seq} are not as they were`,
      )
    this.#signer = String(id)
    if (this.#keys.trusted?.has(this.#signer) === false)
      return void (this.#untrusted = { seq: line.seq, place })
    this.signed = line.seq
    this.#behind = undefined
    if (Array.isArray(heads)) for (const one of heads) this.heads.push(one)
  }

  /** Checks a change of keys: from here on another key signs, as the one before says itself. */
  #keyChange(line: AuditLine, place: string): void {
    const { from, to, signed } = line.data ?? {}
    const key = this.#keys.all.get(String(from))
    if (!key || (this.#signer !== undefined && this.#signer !== from))
      return this.fault(place, 'the key that hands over here is not the one that signed')
    if (typeof signed !== 'string' || !isSigned(key, keyChangeText(String(from), String(to)), signed))
      return this.fault(place, 'the old key has not signed for the new one')
    this.#signer = String(to)
  }

  #truncated(line: AuditLine, place: string): void {
    const { loss, lost } = lossIn(line, place)
    this.#losses.push(loss)
    this.lost.push(lost)
  }

  /** Turns losses into notes: those that an accepting line names and, in its own log, all before it. */
  answer({ seq, data, again }: AuditLine, isOwn: boolean): void {
    const { by, reason, losses: named } = data ?? {}
    const ids = (Array.isArray(named) ? (named as readonly Partial<AuditLoss>[]) : []).map(
      ({ time, what }) => `${textOf(time)} ${textOf(what)}`,
    )
    this.#losses = this.#losses.filter((loss) => {
      if (!ids.includes(loss.id) && !(isOwn && !again && loss.seq < seq)) return true
      this.told.add(`${loss.place}: ${loss.text}; accepted by ${textOf(by)}: ${textOf(reason)}`)
      return false
    })
  }
}
