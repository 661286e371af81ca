/** Verifies that a log is whole and unchanged: each writer's lines by themselves, and what the writers signed of each other. */
import type { Ledger, LedgerLine, LedgerRow, LedgerWriter, SharedLedger } from '#state/store.ts'
import { ChainCheck } from './chain-check.ts'
import {
  type Head,
  headName,
  openPublicKeys,
  publicKeysOf,
  type PublicKeys,
  readHead,
} from '../checkpoint.ts'
import { type KnownLine, type KnownLog, noHead } from './known-log.ts'
import { type Extent, extended, furthest, type LogMark, markOf, type LogReading } from './mark.ts'
import type { KnownWriters } from '../ledger/known-writers.ts'
import { termsOf, writerIds } from '../ledger/ledger-lines.ts'
import { lineHash, parseLine } from '../line.ts'
import { inTurns } from '../finding/search.ts'
import { fileWriter } from '../files/file-ledger.ts'
import { isThere, listLogFiles, type LogFile, readLogFile } from '../files/log-files.ts'
import { type AuditVerification, together, type WriterMark } from './verification.ts'
import type { LogParts, SharedPart } from '../writing.ts'

/** Knowledge of a log from elsewhere, so that not even all of it can be changed unnoticed. */
export interface Witnesses {
  /** The state's knowledge of the log. */
  readonly known?: KnownLog | undefined
  /** Lines that were sent away when they were written. */
  readonly anchors?: readonly KnownLine[]
  /** True for one daemon's part of a log from a database: others record what was removed of it, and where it ends. */
  readonly exported?: boolean
}

/** One writer under examination. */
interface Examined {
  readonly label: string
  readonly writer: LedgerWriter
  readonly keys: PublicKeys
  readonly check: ChainCheck
}

/** A log that reports something; a log that stands alone has no writer's name. */
type Teller = Pick<Examined, 'check'> & Partial<Pick<Examined, 'writer'>>

/** Verifies a log in files, also while it is written; all of it where no extent is given. */
export async function verifyAudit(
  folder: string,
  witnesses: Witnesses = {},
  extent?: Extent,
): Promise<AuditVerification> {
  const read = (mark?: LogMark): Promise<LogReading> => readLog(folder, witnesses, mark?.writers[0])
  return extent ? await extended(folder, headName, extent, read) : (await read()).found
}

async function readLog(
  folder: string,
  { known, anchors = [], exported = false }: Witnesses,
  mark?: WriterMark,
): Promise<LogReading> {
  // Read the head first: lines written after this only make the log longer.
  const keys = await openPublicKeys(folder)
  const head = await readHead(folder, keys)
  const files = await listLogFiles(folder)
  const check = checkOf(keys, [known, ...anchors], head, headName)
  if (known) check.state(known, keys)
  if (mark) check.goOn(mark, files[0]?.first ?? 0)
  await readFiles(files, check, mark?.seq)
  believe([{ check }])
  if (exported && files[0]) check.beginsAt(files[0].first)
  const found = check.end(`${files[0]?.name}:1`, files.length, exported ? 'elsewhere' : head)
  return { found, writers: [markOf(fileWriter, check)] }
}

/** A daemon's part in a ledger, and what it knows of the others. */
interface Examination extends SharedPart, Pick<LogParts, 'folder' | 'memory'> {
  readonly acquainted: KnownWriters
  readonly reserved: () => readonly LedgerLine[]
  readonly anchors: readonly KnownLine[]
}

/** Verifies the lines of every writer of a ledger, and those that wait for room in it, also while they are written. */
export function verifyLedger(examination: Examination, extent: Extent): Promise<AuditVerification> {
  const { folder, head } = examination
  return extended(folder, head, extent, (mark) => readLedger(examination, mark))
}

async function readLedger(
  { ledger, folder, head: headFile, id: mine, memory, acquainted, reserved, anchors }: Examination,
  mark?: LogMark,
): Promise<LogReading> {
  const known = await memory.all()
  const own = await openPublicKeys(folder)
  const head = await readHead(folder, own, headFile)
  const waiting = reserved()
  const writers = await writersAnd(ledger, mine)
  const strangers = await acquainted.strangers(writers)
  const all: Examined[] = []
  for (const writer of writers) {
    const isMine = writer.id === mine
    // Of a stranger nothing is believed, whichever of its keys signed.
    const trusted = strangers.includes(writer) ? undefined : acquainted.keysOf(writer.id)
    const keys = isMine ? own : { ...publicKeysOf(writer.keys), trusted }
    const of = known.filter(({ id, key }) => id === writer.name && keys.all.has(key))
    const check = checkOf(keys, of, isMine ? head : undefined, headFile)
    const before = mark?.writers.find(({ id }) => id === writer.id)
    if (before) check.goOn(before, writer.first)
    const label = `${writer.name} (${writer.id})`
    all.push({ writer, label, keys, check })
    await readRows(ledger, all.at(-1)!, isMine ? waiting : [], before?.seq)
    if (isMine && head === undefined && check.lines > 0) check.fault(headFile, noHead)
  }
  for (const { writer, label, check } of all.filter((one) => strangers.includes(one.writer))) {
    const unknown = 'nobody whom this daemon knows has signed for this writer'
    // The command that people are told to type must hold nothing that somebody wrote for them.
    const remedy = `assistant-core audit accept-writer --reason WHY -- ${writer.id}`
    check.fault(label, writerIds.test(writer.id) ? `${unknown}; if it is yours: ${remedy}` : unknown)
  }
  const believed = all.filter(({ writer }) => !strangers.includes(writer))
  believe(believed, all)
  const faults = await joined(ledger, believed, new Map(all.map((one) => [one.writer.id, one])))
  for (const { losses, id } of known)
    for (const { time, what } of losses) faults.push(`the state: ${id}: ${time}: ${what}`)
  faults.push(...(await missingAnchors(ledger, all, anchors)))
  return { found: summed(all, faults), writers: all.map(({ writer, check }) => markOf(writer.id, check)) }
}

function checkOf(
  keys: PublicKeys,
  known: readonly (KnownLine | undefined)[],
  head: Head | 'forged' | undefined,
  headFile: string,
): ChainCheck {
  const check = new ChainCheck(keys, [head === 'forged' ? undefined : head, ...known])
  if (head === 'forged') check.fault(`${headFile}:1`, 'the signature does not hold')
  return check
}

/** Applies the reports of some logs to all: accepted losses, and removals. */
function believe(tellers: readonly Teller[], all: readonly Teller[] = tellers): void {
  for (const one of tellers) {
    for (const line of one.check.answers) for (const other of all) other.check.answer(line, other === one)
    for (const prune of one.check.prunes)
      for (const { writer, check } of all)
        if (prune.isOwn ? check === one.check : writer !== undefined && writer.id === prune.writer)
          check.removed(prune)
  }
}

/** Returns the writers that the ledger names, and this one even when it does not. */
async function writersAnd(ledger: Ledger, mine: string): Promise<readonly LedgerWriter[]> {
  const writers = await ledger.writers()
  if (writers.some(({ id }) => id === mine)) return writers
  const none = { first: 0, last: 0, since: undefined, line: undefined }
  return [...writers, { id: mine, name: 'this daemon', keys: [], ...none }]
}

async function readFiles(files: readonly LogFile[], check: ChainCheck, from = 0): Promise<void> {
  for (const [index, file] of files.entries()) {
    const isLast = index === files.length - 1
    if (!isLast && files[index + 1]!.first <= from) continue
    const before = check.lines
    let isBegun = file.first >= from
    check.begin(isBegun ? file : { name: file.name, first: from })
    for await (const line of inTurns(readLogFile(file))) {
      isBegun ||= parseLine(line.bytes)?.seq === from
      if (isBegun) check.line(file, line, isLast)
    }
    if (check.lines === before && !isLast && !(await isThere(file))) check.pruned(files[index + 1]!)
  }
}

async function readRows(
  ledger: SharedLedger,
  { writer, label, check }: Examined,
  waiting: readonly LedgerLine[],
  from = 0,
): Promise<void> {
  const file = { name: label, first: from || writer.first || (waiting[0]?.seq ?? 0) }
  if (file.first > 0) check.begin(file)
  const rows = ledger.read({ writer: writer.id, after: from - 1 })
  for await (const row of inTurns(rows)) {
    check.line(file, row, false)
    if (!isFound(row)) check.fault(`${label}:${row.seq}`, 'this line is not found by what it tells')
  }
  // Some of them may have come into the ledger meanwhile.
  for (const { seq: number, line } of waiting) {
    const bytes = Buffer.from(line)
    if (number > check.last)
      check.line(file, { number, bytes, complete: true, offset: 0, end: bytes.length }, false)
  }
}

/** True when a row's search terms are those of its line, so that no search skips it. */
function isFound({ seq, at, terms, bytes }: LedgerRow): boolean {
  const parsed = parseLine(bytes)
  if (!parsed) return true
  const wanted = termsOf(parsed)
  return parsed.seq === seq && Date.parse(parsed.time) === at && wanted.every((term) => terms.includes(term))
}

/** Returns the faults in what the writers signed of each other. */
async function joined(
  ledger: Ledger,
  all: readonly Examined[],
  byId: ReadonlyMap<string, Examined>,
): Promise<string[]> {
  const faults: string[] = []
  for (const { label: by, check } of all) {
    for (const [id, seq, hash, key] of furthest(check.heads)) {
      const one = byId.get(id)
      if (!one) {
        faults.push(`${id}: this writer is missing: ${by} signed that it had come to line ${seq}`)
        continue
      }
      if (seq <= one.check.through || one.check.lost.some(({ from, to }) => seq >= from && seq <= to))
        continue
      const place = `${one.label}:${seq}`
      const found = await lineAt(ledger, id, seq)
      if (found === undefined)
        faults.push(
          `${place}: the log of this writer ends at line ${one.check.last}, and ${by} signed line ${seq}`,
        )
      else if (lineHash(found) !== hash) faults.push(`${place}: this is not the line that ${by} signed`)
      else if (!one.keys.all.has(key))
        faults.push(`${place}: key ${key} signed it, as ${by} saw, and not the key that lies here`)
      else one.check.cover(seq)
    }
  }
  return faults
}

async function lineAt(ledger: Ledger, writer: string, seq: number): Promise<Buffer | undefined> {
  for await (const rows of ledger.read({ writer, after: seq - 1 }))
    return rows[0]?.number === seq ? rows[0].bytes : undefined
  return undefined
}

/** Returns faults for lines that were sent away and are not here. */
async function missingAnchors(
  ledger: Ledger,
  all: readonly Examined[],
  anchors: readonly KnownLine[],
): Promise<string[]> {
  const faults: string[] = []
  for (const { seq, hash, writer } of anchors) {
    // An anchor names its writer since daemons share a log.
    const ids = writer === undefined ? all.map((one) => one.writer.id) : [writer]
    let isHere = seq === 0
    for (const id of ids) {
      const pruned = all.find((one) => one.writer.id === id)?.check.through ?? 0
      const line = await lineAt(ledger, id, seq)
      isHere ||= (line !== undefined && lineHash(line) === hash) || seq <= pruned
    }
    if (!isHere)
      faults.push(`${writer ?? 'the log'}:${seq}: the line that had been signed and sent away is not here`)
  }
  return faults
}

function summed(all: readonly Examined[], joining: readonly string[]): AuditVerification {
  const parts = all.flatMap(({ writer: { id, name, first }, label, check }) => {
    const found = check.end(`${label}:${first}`, 0, 'elsewhere')
    if (found.lines === 0 && found.faults.length === 0 && check.through === 0) return []
    const notes = found.notes.map((note) => (note.startsWith(label) ? note : `${label}: ${note}`))
    return [{ ...found, notes, id, name }]
  })
  const writers = parts.map(({ id, name, lines, first, last, signed, from }) => {
    return { id, name, lines, first, last, signed, from }
  })
  return { ...together(parts, joining), writers }
}
