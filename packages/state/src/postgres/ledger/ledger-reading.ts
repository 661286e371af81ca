/**
 * Reads the ledger in one order from its rows and its segments. What becomes a segment meanwhile is neither missed nor read
 * twice: a statement sees one state of both tables, and segments made since are known by the numbers of their lines.
 */
import type { LedgerQuestion, LedgerRow } from '../../ledger.ts'
import type { Statement } from '../servers/connection.ts'
import { linesOf, rowOf, termNumbers } from './ledger-segments.ts'

const readAtOnce = 1_000

type Ask = (statement: Statement) => Promise<readonly unknown[][]>

/** A place in the order of numbers for one writer, of times for all. */
type Place = Pick<LedgerRow, 'writer' | 'seq' | 'at'>

/** A segment that is not opened yet; its place is that of its first line. */
interface Found extends Place {
  readonly last: number
  /** The number or time before which, in the order that is read, none of its lines stand. */
  readonly begin: number
  /** True when it was made after the reading began. */
  readonly isFresh: boolean
}

/** How far reading has come. */
interface Progress {
  place: Place | undefined
  /** The last segment in order that was opened. */
  opened: Found | undefined
  /** The last line of each writer that was in a segment when the reading began, or in one opened since. */
  readonly through: Map<string, number>
}

/** Yields exactly the lines that are asked for, in batches. */
export async function* readLedger(ask: Ask, question: LedgerQuestion): AsyncGenerator<readonly LedgerRow[]> {
  const { writer, after, backward } = question
  const way = backward ? -1 : 1
  const order = (one: Place, other: Place): number => way * compared(one, other, writer !== undefined)
  const through = await segmentedBy(ask, question)
  const atStart = new Map(through)
  const place = after === undefined ? undefined : { writer: '', seq: after, at: 0 }
  const progress: Progress = { place, opened: undefined, through }
  let ready: LedgerRow[] = []
  for (;;) {
    const rows = await ask(stepping(question, progress))
    const lines = rows.filter(([kind]) => kind === 'line').map((row) => rowOf(row.slice(1)))
    const found = rows.length > lines.length ? foundIn(rows[0]!) : undefined
    const isFull = lines.length === readAtOnce
    ready = merged(ready, lines, order)
    if (!found?.isFresh) {
      // What follows the last of a full batch, or the beginning of a segment, may not all be here yet.
      const isLater = (row: LedgerRow): boolean =>
        isFull
          ? order(row, lines.at(-1)!) > 0
          : found !== undefined && way * ((writer === undefined ? row.at : row.seq) - found.begin) >= 0
      const later = ready.findIndex(isLater)
      const batch = ready.splice(0, later === -1 ? ready.length : later)
      if (batch.length > 0) {
        progress.place = batch.at(-1)!
        yield batch
      }
      if (!found && !isFull) return
    }
    if (!found || isFull) continue
    if (found.isFresh) through.set(found.writer, found.last)
    else progress.opened = found
    // One that was opened while it was fresh is met again in its place.
    const isAgain = writer === undefined && !found.isFresh && found.last > (atStart.get(found.writer) ?? 0)
    if (isAgain) continue
    const isNew = (row: LedgerRow): boolean => !progress.place || order(row, progress.place) > 0
    const more = (await opening(ask, found)).filter((row) => isWanted(question, row) && isNew(row))
    ready = merged(ready, more, order)
  }
}

function compared(one: Place, other: Place, isOne: boolean): number {
  if (isOne) return one.seq - other.seq
  const names = one.writer < other.writer ? -1 : Number(one.writer > other.writer)
  return one.at - other.at || names || one.seq - other.seq
}

function merged(
  ready: LedgerRow[],
  more: readonly LedgerRow[],
  order: (one: Place, other: Place) => number,
): LedgerRow[] {
  return more.length === 0 ? ready : [...ready, ...more].sort(order)
}

function isWanted({ terms = [], since, until }: LedgerQuestion, row: LedgerRow): boolean {
  if ((since !== undefined && row.at < since) || (until !== undefined && row.at >= until)) return false
  return terms.every((term) => row.terms.includes(term))
}

/** Returns the last line in a segment of every writer, where all are read. */
async function segmentedBy(ask: Ask, { writer }: LedgerQuestion): Promise<Map<string, number>> {
  if (writer !== undefined) return new Map()
  const text = `SELECT w.id, coalesce((SELECT last FROM assistant_core.ledger_segment
    WHERE writer = w.id ORDER BY first DESC LIMIT 1), 0) FROM assistant_core.ledger_writer w`
  return new Map((await ask({ text, values: [] })).map(([id, last]) => [id as string, Number(last)]))
}

async function opening(ask: Ask, { writer, seq }: Place): Promise<readonly LedgerRow[]> {
  const text = `SELECT last, since, until, terms, lines FROM assistant_core.ledger_segment
    WHERE writer = $1 AND first = $2`
  const [row] = await ask({ text, values: [writer, seq] })
  if (!row) return []
  const [last, since, until, terms, lines] = row as [string, number, number, number[], Buffer]
  return await linesOf({ writer, first: seq, last: Number(last), since, until, terms, lines })
}

function foundIn([kind, writer, seq, begin, , , last]: readonly unknown[]): Found {
  const place = { writer: writer as string, seq: Number(seq), at: Number(begin) }
  return { ...place, begin: Number(begin), last: Number(last), isFresh: kind === 'fresh' }
}

/** Binds a value to a statement and returns its place, such as `$3`. */
type Bind = (value: unknown) => string

/** What holds for the lines that are asked for, in rows or in segments. */
function asked(
  { writer, terms = [], since, until }: LedgerQuestion,
  inSegments: boolean,
  bind: Bind,
): string[] {
  const [newest, oldest] = inSegments ? ['until', 'since'] : ['at', 'at']
  const held = (): string =>
    inSegments ? `${bind(termNumbers(terms))}::integer[]` : `${bind(terms)}::text[]`
  return [
    'true',
    ...(writer === undefined ? [] : [`writer = ${bind(writer)}`]),
    ...(terms.length === 0 ? [] : [`terms @> ${held()}`]),
    ...(since === undefined ? [] : [`${newest} >= ${bind(since)}`]),
    ...(until === undefined ? [] : [`${oldest} < ${bind(until)}`]),
  ]
}

/**
 * Returns the statement for the next step: a segment of lines that were in rows when the reading began, alone; else the next
 * segment in order, and the lines in rows that stand before it.
 */
function stepping(question: LedgerQuestion, progress: Progress): Statement {
  const values: unknown[] = []
  const bind: Bind = (value) => `$${values.push(value)}`
  const text = (question.writer === undefined ? allStep : oneStep)(question, progress, bind)
  return { text, values }
}

/** The step in the lines of one writer, whose segments stand before all its rows. */
function oneStep(question: LedgerQuestion, { place, opened }: Progress, bind: Bind): string {
  const [way, beyond, before, begin, end] = question.backward
    ? ['DESC', '<', '>', 'last', 'first']
    : ['ASC', '>', '<', 'first', 'last']
  const from = place && bind(place.seq)
  const next = asked(question, true, bind)
  if (from) next.push(`${end} ${beyond} ${from}`)
  if (opened) next.push(`first ${beyond} ${bind(opened.seq)}`)
  const rows = asked(question, false, bind)
  if (from) rows.push(`seq ${beyond} ${from}`)
  const limit = `coalesce((SELECT begin FROM next), ${question.backward ? 0 : Number.MAX_SAFE_INTEGER})`
  return `WITH next AS (SELECT writer, first, ${begin} AS begin, NULL::text[], NULL::text, last
      FROM assistant_core.ledger_segment WHERE ${next.join(' AND ')} ORDER BY first ${way} LIMIT 1)
    SELECT 'next', * FROM next UNION ALL
    (SELECT 'line', writer, seq, at, terms, line, 0 FROM assistant_core.ledger
      WHERE ${rows.join(' AND ')} AND seq ${before} ${limit} ORDER BY seq ${way} LIMIT ${readAtOnce})`
}

/** The step in the lines of all, by time. */
function allStep(question: LedgerQuestion, { place, opened, through }: Progress, bind: Bind): string {
  const [way, beyond, before, begin] = question.backward
    ? ['DESC', '<', '>', 'until']
    : ['ASC', '>', '<', 'since']
  const behind = (names: string, at: number, { writer, seq }: Place): string =>
    `(${names}) ${beyond} (${bind(at)}::double precision, ${bind(writer)}, ${bind(seq)}::bigint)`
  const wanted = asked(question, true, bind).join(' AND ')
  const columns = `writer, first, ${begin} AS begin, NULL::text[], NULL::text, last`
  const next = opened ? behind(`${begin}, writer, first`, opened.begin, opened) : 'true'
  const rows = [...asked(question, false, bind), place ? behind('at, writer, seq', place.at, place) : 'true']
  const known = `unnest(${bind([...through.keys()])}::text[], ${bind([...through.values()])}::bigint[])`
  const limit = `coalesce((SELECT begin FROM next), '${question.backward ? '-' : ''}Infinity')`
  return `WITH fresh AS (SELECT s.* FROM assistant_core.ledger_writer w
      LEFT JOIN ${known} AS k (writer, last) ON k.writer = w.id
      CROSS JOIN LATERAL (SELECT ${columns} FROM assistant_core.ledger_segment
        WHERE writer = w.id AND first > coalesce(k.last, 0) AND ${wanted} ORDER BY first LIMIT 1) AS s LIMIT 1),
    next AS (SELECT ${columns} FROM assistant_core.ledger_segment WHERE ${wanted} AND ${next}
      ORDER BY ${begin} ${way}, writer ${way}, first ${way} LIMIT 1)
    SELECT 'fresh', * FROM fresh UNION ALL SELECT 'next', * FROM next WHERE NOT EXISTS (SELECT FROM fresh) UNION ALL
    (SELECT 'line', writer, seq, at, terms, line, 0 FROM assistant_core.ledger
      WHERE ${rows.join(' AND ')} AND at ${before} ${limit} AND NOT EXISTS (SELECT FROM fresh)
      ORDER BY at ${way}, writer ${way}, seq ${way} LIMIT ${readAtOnce})`
}
