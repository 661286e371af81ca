/** Old lines of the ledger in compressed segments: a row for up to a thousand lines of a writer, exactly as they were. */
import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'
import { Slice } from '#leaf/slices.ts'
import type { LedgerRow } from '../../ledger.ts'
import type { Statement } from '../servers/connection.ts'

/** The most lines of a segment, and about the most bytes of them. */
export const segmentLines = 1_000
const segmentBytes = 1 << 20
/** The most bytes that a segment may become: more than any that was made here. */
const mostBytes = 64 << 20

/** The bits of a term's number: a search opens few segments in vain, and the index stays small. */
const termBits = 22

const [zip, unzip] = [promisify(gzip), promisify(gunzip)]

/** A segment as the database keeps it. */
export interface Segment {
  readonly writer: string
  readonly first: number
  readonly last: number
  readonly since: number
  readonly until: number
  readonly terms: readonly number[]
  readonly lines: Buffer
}

export const segmentTables = [
  `CREATE TABLE assistant_core.ledger_segment (
    writer text COLLATE "C" NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    since double precision NOT NULL,
    until double precision NOT NULL,
    terms integer[] NOT NULL,
    lines bytea NOT NULL,
    taken bigint NOT NULL,
    CONSTRAINT ledger_segment_place PRIMARY KEY (writer, first),
    CONSTRAINT ledger_segment_whole CHECK (taken = last - first + 1)
  )`,
  'ALTER TABLE assistant_core.ledger_segment ALTER COLUMN lines SET STORAGE EXTERNAL',
  'CREATE INDEX ledger_segment_since ON assistant_core.ledger_segment (since, writer, first)',
  'CREATE INDEX ledger_segment_until ON assistant_core.ledger_segment (until, writer, first)',
  'CREATE INDEX ledger_segment_terms ON assistant_core.ledger_segment USING gin (terms)',
]

/**
 * Puts a segment in the place of its lines, in one statement. Where they are not all there, since another daemon was
 * faster, the constraint `ledger_segment_whole` refuses, and nothing happens.
 */
export function replacing({ writer, first, last, since, until, terms, lines }: Segment): Statement {
  const text = `WITH taken AS (
      DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq BETWEEN $2 AND $3 RETURNING seq
    ) INSERT INTO assistant_core.ledger_segment (writer, first, last, since, until, terms, lines, taken)
    SELECT $1, $2, $3, $4, $5, $6, $7, count(*) FROM taken`
  return { text, values: [writer, first, last, since, until, terms, lines] }
}

/** Returns a segment of the first of a writer's lines, of which the last stays; undefined while they are too few or too young. */
export async function segmentOf(rows: readonly LedgerRow[], before: number): Promise<Segment | undefined> {
  let bytes = 0
  let count = 0
  for (const [index, { seq, at, line }] of rows.slice(0, -1).entries()) {
    // What was tampered with stays as it is, to be reported.
    if (seq !== rows[0]!.seq + index || line.includes('\n') || at >= before || bytes >= segmentBytes) break
    bytes += line.length
    count++
  }
  const isFull = count === segmentLines || bytes >= segmentBytes
  const isCut = count > 0 && rows[count]!.seq !== rows[0]!.seq + count
  if (!isFull && !isCut) return undefined
  const taken = rows.slice(0, count)
  const times = taken.map(({ at }) => at)
  const text = taken.map(({ at, terms, line }) => `${JSON.stringify([at, terms])}\n${line}\n`).join('')
  return {
    writer: taken[0]!.writer,
    first: taken[0]!.seq,
    last: taken.at(-1)!.seq,
    since: Math.min(...times),
    until: Math.max(...times),
    terms: termNumbers(taken.flatMap(({ terms }) => terms)),
    lines: await zip(text, { level: constants.Z_BEST_COMPRESSION }),
  }
}

/**
 * Returns the lines of a segment, each with the terms and the time by which it is found there. Of one that is not as it was
 * made a single row without a line.
 */
export async function linesOf({
  writer,
  first,
  last,
  since,
  until,
  terms,
  lines,
}: Segment): Promise<LedgerRow[]> {
  const found = new Set(terms)
  try {
    const texts = (await unzip(lines, { maxOutputLength: mostBytes })).toString().split('\n')
    if (texts.length !== 2 * (last - first + 1) + 1) return [rowOf([writer, first, since, [], ''])]
    const slice = new Slice()
    const rows: LedgerRow[] = []
    for (let index = 0; index <= last - first; index++) {
      const [at, own] = JSON.parse(texts[2 * index]!) as [number, string[]]
      const isFound = own.filter((term) => found.has(termNumber(term)))
      const time = Math.min(Math.max(at, since), until)
      rows.push(rowOf([writer, first + index, time, isFound, texts[2 * index + 1]]))
      await slice.rest()
    }
    return rows
  } catch {
    return [rowOf([writer, first, since, [], ''])]
  }
}

/** Returns the numbers by which a segment is found for terms. */
export function termNumbers(terms: readonly string[]): readonly number[] {
  return [...new Set([...new Set(terms)].map(termNumber))].sort((a, b) => a - b)
}

/** A hash that costs little (FNV-1a): whoever makes two terms alike makes a search open a segment in vain. */
function termNumber(term: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193)
  return (hash ^ (hash >>> termBits)) & ((1 << termBits) - 1)
}

/** Reads a line from its columns: writer, number, time, terms, text. */
export function rowOf([writer, seq, at, terms, line]: readonly unknown[]): LedgerRow {
  const bytes = Buffer.from(line as string)
  return {
    writer: writer as string,
    seq: Number(seq),
    at: Number(at),
    terms: terms as string[],
    line: line as string,
    number: Number(seq),
    bytes,
    offset: 0,
    end: bytes.length,
    complete: true,
  }
}
