/** Whether the log is whole and nobody changed it: numbers, chain, signatures, beginning and end. */
import type { RawLine } from '../line-log/read-lines.ts'
import {
  checkpointText,
  type Head,
  isSigned,
  openPublicKeys,
  type PublicKeys,
  readHead,
} from './checkpoint.ts'
import type { AuditLine } from './event.ts'
import { keyChangeText } from './key-change.ts'
import type { KnownLine, KnownLog } from './known-log.ts'
import { firstPrev, lineHash, parseLine } from './line.ts'
import { isThere, listLogFiles, type LogFile, readLogFile } from './log-files.ts'

const shownFaults = 20

/** What was found. */
export interface AuditVerification {
  readonly ok: boolean
  readonly files: number
  readonly lines: number
  /** The numbers of the first and the last line; 0 when there is none. */
  readonly first: number
  readonly last: number
  /** The last line that a valid signature covers. */
  readonly signed: number
  /** The last line that was removed for its age or for room, as the log itself says; 0 when none was. */
  readonly pruned: number
  /** What is wrong, the first place first: each as `file:line: fault`. */
  readonly faults: readonly string[]
  readonly notes: readonly string[]
}

/** What is known of a log from elsewhere, so that not even the whole folder can be changed unnoticed. */
export interface Witnesses {
  /** What the state knows. */
  readonly known?: KnownLog | undefined
  /** Lines that were sent away when they were written. */
  readonly anchors?: readonly KnownLine[]
}

/** Reads the whole log. May be asked while it is being written. */
export async function verifyAudit(
  folder: string,
  { known, anchors = [] }: Witnesses = {},
): Promise<AuditVerification> {
  // The head first: what is written after this only makes the log longer.
  const keys = await openPublicKeys(folder)
  const head = await readHead(folder, keys)
  const files = await listLogFiles(folder)
  const check = new Check(keys, [head === 'forged' ? undefined : head, known, ...anchors])
  if (known) check.state(known, keys)
  if (head === 'forged') check.fault('head.json:1', 'the signature does not hold')
  for (const [index, file] of files.entries()) {
    const isLast = index === files.length - 1
    const before = check.lines
    check.begin(file)
    for await (const lines of readLogFile(file)) for (const line of lines) check.line(file, line, isLast)
    if (check.lines === before && !isLast && !(await isThere(file))) check.pruned(files[index + 1]!)
  }
  return check.end(files, head)
}

class Check {
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
  #through = 0
  #signed = 0
  #signer: string | undefined
  #suspect: { readonly before: string; readonly here: string } | undefined
  /** Losses that the state remembers. */
  readonly #remembered: string[] = []
  /** Those that the log tells of itself, until it tells that somebody answers for them. */
  #losses: { readonly place: string; readonly text: string }[] = []
  lines = 0

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
    for (const { time, what } of losses) this.#remembered.push(`${time}: ${what}`)
  }

  fault(place: string, message: string): void {
    if (this.#faults.length < shownFaults) this.#faults.push(`${place}: ${message}`)
    else this.#unsaid++
  }

  begin(file: LogFile): void {
    this.#next = `${file.name}:1`
    if (this.#expected === 0) this.#expected = file.first
    else if (file.first !== this.#expected) {
      this.fault(`${file.name}:1`, missing(this.#expected, file.first))
      this.#expected = file.first
      this.#hash = undefined
    }
  }

  /** A file was removed for its age while it was to be read. */
  pruned(next: LogFile): void {
    if (this.#first !== 0) return
    this.#expected = next.first
    this.#hash = undefined
  }

  line(file: LogFile, { number, bytes, complete }: RawLine, isLastFile: boolean): void {
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
    if (this.#first === 0) this.#begins(line, place)
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
    if (line.type === 'audit.prune')
      this.#through = Math.max(this.#through, Number(line.data?.['through'] ?? 0))
    if (line.type === 'audit.truncated') {
      const { expected, found, what } = line.data ?? {}
      const text = `lines were missing here: ${Number(expected)} had been written, ${Number(found)} were found`
      this.#losses.push({ place, text: typeof what === 'string' ? `${text} (${what})` : text })
    }
    if (line.type === 'audit.accept') this.#accepted(line)
    this.#hash = hash
    this.#place = place
    this.#next = `${file.name}:${number + 1}`
    this.#expected = line.seq + 1
  }

  end(files: readonly LogFile[], head: Head | 'forged' | undefined): AuditVerification {
    if (this.#suspect) this.fault(this.#suspect.before, 'this line or the next was changed')
    for (const { place, text } of this.#losses) this.fault(place, text)
    for (const loss of this.#remembered) this.fault('the state', loss)
    const last = this.#expected === 0 ? 0 : this.#expected - 1
    if (this.#first > 1 && this.#through < this.#first - 1) {
      this.fault(`${files[0]!.name}:1`, missing(this.#through + 1, this.#first))
    } else if (this.#first === 1 && !this.#firstChained) {
      this.fault(`${files[0]!.name}:1`, 'the first line does not begin the chain')
    }
    const end = [...this.#known.keys()].reduce((most, seq) => Math.max(most, seq), 0)
    if (end > last) this.fault(this.#next, `the log ends at line ${last}, but line ${end} had been signed`)
    if (head === undefined && this.lines > 0) {
      this.fault('head.json', 'the file is missing; lines cut off the end would not be noticed')
    }
    if (this.#signer !== undefined && this.#signer !== this.#keys.id)
      this.fault('key.pub.pem', `the log was handed to key ${this.#signer}, which is not here`)
    if (last > this.#signed) this.#notes.push(`${last - this.#signed} lines at the end are not signed yet`)
    if (this.#unsaid > 0) this.#faults.push(`and ${this.#unsaid} more faults`)
    return {
      ok: this.#faults.length === 0,
      files: files.length,
      lines: this.lines,
      first: this.#first,
      last,
      signed: this.#signed,
      pruned: this.#through,
      faults: this.#faults,
      notes: this.#notes,
    }
  }

  #begins(line: AuditLine, place: string): void {
    this.#first = this.#expected
    this.#firstChained = line.prev === firstPrev
    this.#place = place
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
    if (this.#keys.id === undefined) return
    const key = this.#keys.all.get(String(id))
    if (!key || (this.#signer !== undefined && id !== this.#signer))
      return this.fault(place, 'this was signed with another key')
    if (typeof signed !== 'string' || !isSigned(key, checkpointText(line.seq, line.prev), signed)) {
      return this.fault(
        place,
        `the signature does not hold: lines ${this.#signed + 1} to ${line.seq} are not as they were`,
      )
    }
    this.#signer = String(id)
    this.#signed = line.seq
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

  #accepted({ data }: AuditLine): void {
    const { by, reason } = data ?? {}
    for (const { place, text } of this.#losses)
      this.#notes.push(`${place}: ${text}; accepted by ${textOf(by)}: ${textOf(reason)}`)
    this.#losses = []
  }
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
