/** Whether the log of all daemons is whole: each writer's lines by themselves, and what the writers signed of each other. */
import type { Ledger, LedgerRow, LedgerWriter } from '../store/ledger.ts'
import { ChainCheck } from './chain-check.ts'
import {
  headNameOf,
  openPublicKeys,
  publicKeysOf,
  type PublicKeys,
  readHead,
  type WriterHead,
} from './checkpoint.ts'
import type { KnownLine, KnownLog } from './known-log.ts'
import { rawLine, termsOf } from './ledger-lines.ts'
import { lineHash, parseLine } from './line.ts'
import { type AuditVerification, together } from './verification.ts'

/** What the lines of a ledger are held against. */
export interface LedgerWitnesses {
  /** With the key and the head of this daemon, to which what happens to the database does not happen. */
  readonly folder: string
  /** The writer that this daemon is. */
  readonly mine: string
  readonly known: readonly KnownLog[]
  readonly anchors?: readonly KnownLine[]
}

/** One writer under examination. */
interface Examined {
  readonly writer: LedgerWriter
  readonly label: string
  readonly keys: PublicKeys
  readonly check: ChainCheck
}

/** Reads the lines of every writer. May be asked while they are written. */
export async function verifyLedger(ledger: Ledger, witnesses: LedgerWitnesses): Promise<AuditVerification> {
  const { folder, mine, known, anchors = [] } = witnesses
  const own = await openPublicKeys(folder)
  const headName = headNameOf(await ledger.name())
  const head = await readHead(folder, own, headName)
  const all: Examined[] = []
  for (const writer of await writersAnd(ledger, mine)) {
    const isMine = writer.id === mine
    const keys = isMine ? own : publicKeysOf(writer.keys)
    const of = known.filter(({ id, key }) => id === writer.name && keys.all.has(key))
    const check = new ChainCheck(keys, [...(isMine && head !== 'forged' ? [head] : []), ...of])
    const label = `${writer.name} (${writer.id})`
    if (isMine && head === 'forged') check.fault(`${headName}:1`, 'the signature does not hold')
    all.push({ writer, label, keys, check })
    await readAll(ledger, all.at(-1)!)
  }
  const byId = new Map(all.map((one) => [one.writer.id, one]))
  for (const { check } of all)
    for (const line of check.answers) for (const other of all) other.check.answer(line)
  for (const { check } of all) {
    // What removes must be signed: anybody could add it at the end.
    for (const { seq, writer, through } of check.prunes)
      if (seq <= check.signed) byId.get(writer)?.check.prunedThrough(through)
  }
  const faults = await joined(ledger, all, byId)
  for (const { losses, id } of known)
    for (const { time, what } of losses) faults.push(`the state: ${id}: ${time}: ${what}`)
  faults.push(...(await strangers(ledger, all, anchors)))
  return summed(all, faults)
}

/** Those that the ledger names, and this one even when it does not. */
async function writersAnd(ledger: Ledger, mine: string): Promise<readonly LedgerWriter[]> {
  const writers = await ledger.writers()
  if (writers.some(({ id }) => id === mine)) return writers
  const none = { first: 0, last: 0, since: undefined, line: undefined }
  return [...writers, { id: mine, name: 'this daemon', keys: [], ...none }]
}

async function readAll(ledger: Ledger, { writer, label, check }: Examined): Promise<void> {
  const file = { name: label, first: writer.first }
  if (writer.first > 0) check.begin(file)
  for await (const rows of ledger.read({ writer: writer.id })) {
    for (const row of rows) {
      check.line(file, rawLine(row), false)
      if (!isFound(row)) check.fault(`${label}:${row.seq}`, 'this line is not found by what it tells')
    }
  }
}

/** Whether what a row is found by is what its line tells, so that no search passes it over. */
function isFound({ seq, at, terms, line }: LedgerRow): boolean {
  const parsed = parseLine(Buffer.from(line))
  if (!parsed) return true
  const wanted = termsOf(parsed)
  return parsed.seq === seq && Date.parse(parsed.time) === at && wanted.every((term) => terms.includes(term))
}

/** What the writers signed of each other and is not so. */
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

/** The chain binds all lines before one: of lines with growing numbers the last is enough. */
function furthest(heads: readonly WriterHead[]): readonly WriterHead[] {
  const kept = new Map<string, WriterHead[]>()
  for (const head of heads) {
    const [id, seq] = head
    const list = kept.get(id) ?? []
    if (list.length > 0 && list.at(-1)![1] <= seq) list.pop()
    list.push(head)
    kept.set(id, list)
  }
  return [...kept.values()].flat()
}

async function lineAt(ledger: Ledger, writer: string, seq: number): Promise<string | undefined> {
  for await (const rows of ledger.read({ writer, after: seq - 1 }))
    return rows[0]?.seq === seq ? rows[0].line : undefined
  return undefined
}

/** Lines that were sent away and are not here. */
async function strangers(
  ledger: Ledger,
  all: readonly Examined[],
  anchors: readonly KnownLine[],
): Promise<string[]> {
  const faults: string[] = []
  for (const { seq, hash, writer } of anchors) {
    // Who sent it says so since daemons share a log.
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
    if (found.lines === 0 && found.faults.length === 0) return []
    const notes = found.notes.map((note) => (note.startsWith(label) ? note : `${label}: ${note}`))
    return [{ ...found, notes, id, name }]
  })
  const writers = parts.map(({ id, name, lines, first, last, signed }) => {
    return { id, name, lines, first, last, signed }
  })
  return { ...together(parts, joining), writers }
}
