/** The ledger in PostgreSQL: one row for each line, with its search terms, and segments of old ones. Names are constants, values are bound. */
import type {
  LastLines,
  LedgerEnd,
  LedgerEnds,
  LedgerLines,
  LedgerQuestion,
  LedgerRow,
  LedgerWriter,
  OlderServer,
  SharedLedger,
} from '../../ledger.ts'
import type { Statement } from '../servers/connection.ts'
import { Database, type Running } from '../servers/database.ts'
import { codeOf, Collision, isPlaceTaken } from '../servers/errors.ts'
import { readLedger } from './ledger-reading.ts'
import { replacing, rowOf, segmentLines, segmentOf } from './ledger-segments.ts'
import type { Outgoing } from '../telling/outgoing.ts'
import { sendableOf } from '../running/pending.ts'

const droppedAtOnce = 20_000
/** The newest lines by which the bytes of a line are estimated. */
const weighedLines = 1_000
/** Milliseconds behind the newest line after which a writer counts as gone. */
const goneMilliseconds = 600_000

/** Returns the statements that add and remove lines in a transaction. They read nothing, so that they collide with nobody. */
function changing(lines: LedgerLines): readonly Statement[] {
  const dropping = [
    'DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq <= $2',
    // Of a segment that somebody made of them meanwhile not a part may go: then this collides, and is tried again later.
    'DELETE FROM assistant_core.ledger_segment WHERE writer = $1 AND first <= $2 AND 1 / (last <= $2)::integer = 1',
  ]
  return [
    ...(lines.dropped ?? []).flatMap(({ writer, through }) =>
      dropping.map((text) => ({ text, values: [writer, through] })),
    ),
    { keep: true, text: adding, values: valuesOf(lines) },
  ]
}

const adding = `INSERT INTO assistant_core.ledger (writer, seq, at, terms, line)
  SELECT $1, l.seq, l.at, string_to_array(l.terms, E'\\n'), l.line
  FROM unnest($2::bigint[], $3::double precision[], $4::text[], $5::text[]) AS l (seq, at, terms, line)`

/** Adds lines in its own transaction, only after the line that must be there. Synced to disk, whatever the database's setting. */
const addingBehind = `WITH sure AS (
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'
  ), added AS (${adding}
    WHERE (SELECT count(*) FROM sure) < 2
      AND ($6 = 0 OR EXISTS (SELECT FROM assistant_core.ledger WHERE writer = $1 AND seq = $6))
    RETURNING seq
  ) SELECT count(*) FROM added`

function valuesOf({ writer, lines }: LedgerLines): unknown[] {
  return [
    writer,
    lines.map(({ seq }) => seq),
    lines.map(({ at }) => at),
    lines.map(({ terms }) => terms.join('\n')),
    lines.map(({ line }) => line),
  ]
}

/** What a transaction writes last. */
interface LastPart {
  readonly part: unknown
  readonly linesFor: (parts: readonly unknown[]) => LastLines
}

/** Milliseconds that one transaction may keep the lines of others waiting, at its first try. */
const hurried = sendableOf({ text: "SELECT set_config('lock_timeout', '250ms', true)", values: [] })

/** The ledger of all daemons on a database. */
export class PostgresLedger implements SharedLedger {
  readonly #database: Database
  readonly #last = new WeakMap<object, LastPart>()
  /** The start time of the server, as of the last transaction. */
  server: number | undefined

  constructor(database: Database) {
    this.#database = database
  }

  async name(): Promise<string> {
    const text = 'SELECT name FROM assistant_core.ledger_name'
    const [row] = await this.#database.alone({ text, values: [] })
    return String(row?.[0])
  }

  async writers(): Promise<readonly LedgerWriter[]> {
    const rows = await this.#database.alone({
      text: `SELECT w.id, w.name, w.keys, coalesce(first.seq, 0), first.at, coalesce(last.seq, 0), last.line
          FROM assistant_core.ledger_writer w
          LEFT JOIN LATERAL (
            (SELECT first AS seq, since AS at FROM assistant_core.ledger_segment WHERE writer = w.id ORDER BY first LIMIT 1)
            UNION ALL (SELECT seq, at FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq LIMIT 1)
            LIMIT 1
          ) AS first ON true
          LEFT JOIN LATERAL (
            SELECT seq, line FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq DESC LIMIT 1
          ) AS last ON true
          ORDER BY w.name, w.id`,
      values: [],
    })
    return rows.map(([id, name, keys, first, at, seq, line]) => ({
      id: id as string,
      name: name as string,
      keys: keys as string[],
      first: Number(first),
      since: at === null ? undefined : Number(at),
      last: Number(seq),
      line: (line as string | null) ?? undefined,
    }))
  }

  async enter({ id, name, keys }: Pick<LedgerWriter, 'id' | 'name' | 'keys'>): Promise<void> {
    await this.#database.alone({
      text: `INSERT INTO assistant_core.ledger_writer (id, name, keys) VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, keys = excluded.keys`,
      values: [id, name, keys],
    })
  }

  async add(lines: LedgerLines, after: number): Promise<boolean> {
    try {
      const statement = { keep: true, text: addingBehind, values: [...valuesOf(lines), after] }
      const [row] = await this.#database.alone(statement)
      return Number(row![0]) === lines.lines.length
    } catch (error) {
      if (isPlaceTaken(error)) return false
      throw error
    }
  }

  read(question: LedgerQuestion): AsyncGenerator<readonly LedgerRow[]> {
    return readLedger((statement) => this.#database.alone(statement), question)
  }

  async compress(before: number, mine: string): Promise<boolean> {
    const text = `SELECT w.id FROM assistant_core.ledger_writer w
      JOIN LATERAL (SELECT at FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq DESC LIMIT 1) AS last ON true
      WHERE w.id = $1 OR last.at < (SELECT max(at) FROM assistant_core.ledger) - ${goneMilliseconds}`
    let isAny = false
    for (const [writer] of await this.#database.alone({ text, values: [mine] }))
      if (await this.#compressFirst(writer as string, before)) isAny = true
    return isAny
  }

  async #compressFirst(writer: string, before: number): Promise<boolean> {
    const text = `SELECT writer, seq, at, terms, line FROM assistant_core.ledger
      WHERE writer = $1 ORDER BY seq LIMIT ${segmentLines + 1}`
    const rows = await this.#database.alone({ text, values: [writer] })
    const segment = await segmentOf(rows.map(rowOf), before)
    if (!segment) return false
    try {
      await this.#database.alone(replacing(segment))
      return true
    } catch (error) {
      // Another daemon put them, or removed them, in the meantime.
      if (['23505', '23514'].includes(codeOf(error) ?? '')) return false
      throw error
    }
  }

  async oldestEnd(before: number, mine: string): Promise<readonly LedgerEnds[]> {
    const text = `SELECT w.id, packed.ends, packed.count, (
        SELECT max(seq) FROM (
          SELECT seq, at FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq LIMIT ${droppedAtOnce}
        ) AS oldest WHERE at < $1 AND (seq < last.seq OR w.id <> $2 AND at < newest.at - ${goneMilliseconds})
      ) FROM assistant_core.ledger_writer w
      JOIN LATERAL (
        SELECT seq FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq DESC LIMIT 1
      ) AS last ON true
      JOIN LATERAL (
        SELECT array_agg(last::float8 ORDER BY last) FILTER (WHERE until < $1) AS ends, count(*) FROM (
          SELECT last, until FROM assistant_core.ledger_segment WHERE writer = w.id
          ORDER BY first LIMIT ${droppedAtOnce / segmentLines}
        ) AS oldest
      ) AS packed ON true
      CROSS JOIN (SELECT max(at) AS at FROM assistant_core.ledger) AS newest`
    const rows = await this.#database.alone({ text, values: [before, mine] })
    return rows.flatMap(([writer, ends, segments, seq]) => {
      const old = ends as number[] | null
      if (old) return [{ writer: writer as string, through: old.at(-1)!, ends: old }]
      return seq === null || Number(segments) > 0 ? [] : [{ writer: writer as string, through: Number(seq) }]
    })
  }

  async timeOfExcess(most: number): Promise<number | undefined> {
    const { lines, each, packed } = await this.#weigh()
    const excess = packed + lines * each - most
    if (excess <= 0) return undefined
    // Removed lines give no space back to the disk, so the lines themselves are measured.
    const inSegments = `SELECT until FROM (
        SELECT until, sum(octet_length(lines)) OVER (ORDER BY until, writer, first) AS sum FROM assistant_core.ledger_segment
      ) AS all_of_them WHERE sum >= $1 ORDER BY until LIMIT 1`
    const [end] = excess > packed ? [] : await this.#database.alone({ text: inSegments, values: [excess] })
    if (end) return Number(end[0]) + 1
    const inRows = 'SELECT at FROM assistant_core.ledger ORDER BY at, writer, seq OFFSET $1 LIMIT 1'
    // The newest line stays, however small the limit.
    const behind = Math.min(lines - Math.floor(most / each), lines - 1)
    const [place] = await this.#database.alone({ text: inRows, values: [behind] })
    return place && Number(place[0])
  }

  async lineBytes(): Promise<number> {
    const { lines, each, packed } = await this.#weigh()
    return packed + lines * each
  }

  /** Returns the number of lines in rows, about the bytes of each, and the bytes of all segments. */
  async #weigh(): Promise<{ readonly lines: number; readonly each: number; readonly packed: number }> {
    const text = `SELECT (SELECT avg(octet_length(line)) FROM (
        SELECT line FROM assistant_core.ledger ORDER BY at DESC, writer DESC, seq DESC LIMIT ${weighedLines}) AS newest),
      (SELECT sum(octet_length(lines)) FROM assistant_core.ledger_segment),
      (SELECT sum(last.seq - first.seq + 1) FROM assistant_core.ledger_writer w
        JOIN LATERAL (SELECT seq FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq LIMIT 1) AS first ON true
        JOIN LATERAL (SELECT seq FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq DESC LIMIT 1) AS last ON true)`
    const [row] = await this.#database.alone({ text, values: [] })
    return { each: Number(row![0] ?? 1), packed: Number(row![1] ?? 0), lines: Number(row![2] ?? 0) }
  }

  lastIn<P>(transaction: object, part: P, linesFor: (parts: readonly P[]) => LastLines): void {
    this.#last.set(transaction, { part, linesFor: linesFor as LastPart['linesFor'] })
  }

  /**
   * Commits transactions that share one, with their last lines. The next lines of this daemon wait for these, so that nothing
   * may keep them waiting for long: where there may be locks to wait for, the writes are sent before.
   */
  async commit(
    transactions: readonly object[],
    out: Outgoing,
    { running, isPatient }: { readonly running: Running; readonly isPatient: boolean },
  ): Promise<void> {
    const all = transactions.flatMap((transaction) => this.#last.get(transaction) ?? [])
    const last = all[0]?.linesFor(all.map(({ part }) => part))
    if (isPatient) await out.flush()
    const rest = await out.rest()
    if (!last) return await running.commit(rest.map((one) => () => out.send(one)))
    const lines = await last.lines()
    let kept = false
    try {
      const sending = [...(isPatient ? [] : [hurried]), ...rest, ...changing(lines).map(sendableOf)]
      await running.commit(sending.map((one) => () => out.send(one)))
      kept = true
    } catch (error) {
      throw !isPatient && codeOf(error) === '55P03' ? new Collision([], { cause: error }) : error
    } finally {
      last.over(kept)
    }
  }

  async bytes(): Promise<number> {
    const text = `SELECT pg_total_relation_size('assistant_core.ledger')
      + pg_total_relation_size('assistant_core.ledger_segment')`
    const [row] = await this.#database.alone({ text, values: [] })
    return Number(row![0])
  }

  reached(end: LedgerEnd): void {
    this.#database.history.reached(end)
  }

  acceptOlder(): Promise<OlderServer | undefined> {
    return this.#database.history.accept(() => this.#database.alone({ text: 'SELECT 1', values: [] }))
  }
}

/** Runs work on the ledger of a database beside its daemons; with undefined where it has none. */
export async function withLedgerAt<R>(
  url: string,
  work: (ledger: SharedLedger | undefined) => Promise<R>,
): Promise<R> {
  const text = "SELECT to_regclass('assistant_core.ledger') IS NOT NULL"
  return await Database.during(url, async (database) => {
    const [row] = await database.alone({ text, values: [] })
    return await work(row![0] === true ? new PostgresLedger(database) : undefined)
  })
}
