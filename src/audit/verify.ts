/** Whether the log is whole and nobody changed it: numbers, chain, signatures, beginning and end. */
import type { KeyObject } from 'node:crypto'
import type { RawLine } from '../line-log/read-lines.ts'
import { checkpointText, type Head, isSigned, openPublicKey, readHead } from './checkpoint.ts'
import type { AuditLine } from './event.ts'
import { firstPrev, hashOf, parseLine } from './line.ts'
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

/** A line that the state remembers to have been written. */
export interface KnownLine {
  readonly seq: number
  readonly hash: string
}

/**
 * Reads the whole log. May be asked while it is being written. `known` says what else remembers how far it
 * had come, so that not even the log together with its head can be cut unnoticed.
 */
export async function verifyAudit(folder: string, known?: KnownLine): Promise<AuditVerification> {
  // The head first: what is written after this only makes the log longer.
  const key = await openPublicKey(folder)
  const head = await readHead(folder, key?.key)
  const files = await listLogFiles(folder)
  const check = new Check(key, [head === 'forged' ? undefined : head, known])
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

interface PublicKey {
  readonly id: string
  readonly key: KeyObject
}

class Check {
  readonly #key: PublicKey | undefined
  readonly #known: readonly KnownLine[]
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
  #suspect: { readonly before: string; readonly here: string } | undefined
  lines = 0

  constructor(key: PublicKey | undefined, known: readonly (KnownLine | undefined)[]) {
    this.#key = key
    this.#known = known.filter((line) => line !== undefined)
    if (!key) this.#notes.push('there is no public key; signatures were not checked')
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
    const hash = hashOf(bytes)
    for (const known of this.#known) {
      if (known.seq === line.seq && known.hash !== hash)
        this.fault(place, 'this is not the line that was signed')
    }
    if (line.type === 'audit.checkpoint') this.#checkpoint(line, place)
    if (line.type === 'audit.prune')
      this.#through = Math.max(this.#through, Number(line.data?.['through'] ?? 0))
    if (line.type === 'audit.truncated') {
      this.fault(
        place,
        `lines were missing here: ${Number(line.data?.['expected'])} had been written, ${Number(line.data?.['found'])} were found`,
      )
    }
    this.#hash = hash
    this.#place = place
    this.#next = `${file.name}:${number + 1}`
    this.#expected = line.seq + 1
  }

  end(files: readonly LogFile[], head: Head | 'forged' | undefined): AuditVerification {
    if (this.#suspect) this.fault(this.#suspect.before, 'this line or the next was changed')
    const last = this.#expected === 0 ? 0 : this.#expected - 1
    if (this.#first > 1 && this.#through < this.#first - 1) {
      this.fault(`${files[0]!.name}:1`, missing(this.#through + 1, this.#first))
    } else if (this.#first === 1 && !this.#firstChained) {
      this.fault(`${files[0]!.name}:1`, 'the first line does not begin the chain')
    }
    const end = Math.max(0, ...this.#known.map(({ seq }) => seq))
    if (end > last) this.fault(this.#next, `the log ends at line ${last}, but line ${end} had been signed`)
    if (head === undefined && this.lines > 0) {
      this.fault('head.json', 'the file is missing; lines cut off the end would not be noticed')
    }
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
    if (!this.#key) return
    if (id !== this.#key.id) return this.fault(place, 'this was signed with another key')
    if (typeof signed !== 'string' || !isSigned(this.#key.key, checkpointText(line.seq, line.prev), signed)) {
      return this.fault(
        place,
        `the signature does not hold: lines ${this.#signed + 1} to ${line.seq} are not as they were`,
      )
    }
    this.#signed = line.seq
  }
}

function missing(expected: number, found: number): string {
  if (found < expected) return `line ${expected} should stand here, not ${found}`
  return found === expected + 1
    ? `line ${expected} is missing`
    : `lines ${expected} to ${found - 1} are missing`
}
