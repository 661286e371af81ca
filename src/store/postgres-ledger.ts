/** The ledger in PostgreSQL: a row a line, with what it is found by. Names are constants, values are bound. */
import type {
  LastLines,
  Ledger,
  LedgerLines,
  LedgerPlace,
  LedgerQuestion,
  LedgerRow,
  LedgerWriter,
} from './ledger.ts'
import { isPlaceTaken, type Queryable, type Statement } from './postgres-connection.ts'
import { Database } from './postgres-database.ts'

const readAtOnce = 1_000
const droppedAtOnce = 20_000
/** Who has not signed what others wrote for so long writes no more. */
const goneMilliseconds = 600_000

/** Lines as a transaction adds and removes them. It looks at nothing, so that it collides with nobody. */
function changing(lines: LedgerLines): readonly Statement[] {
  const dropping = 'DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq <= $2'
  return [
    ...(lines.dropped ?? []).map(({ writer, through }) => ({ text: dropping, values: [writer, through] })),
    { keep: true, text: adding, values: valuesOf(lines) },
  ]
}

const adding = `INSERT INTO assistant_core.ledger (writer, seq, at, terms, line)
  SELECT $1, l.seq, l.at, string_to_array(l.terms, E'\\n'), l.line
  FROM unnest($2::bigint[], $3::double precision[], $4::text[], $5::text[]) AS l (seq, at, terms, line)`

/** The same as a transaction of its own, and only behind the line that must be there. On disk, whatever the database is set to. */
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

/** The ledger of all daemons on a database. */
export class PostgresLedger implements Ledger {
  readonly #database: Database
  readonly #last = new WeakMap<object, LastLines>()
  /** When it started, as the last transaction was told. */
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
            SELECT seq, at FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq LIMIT 1
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

  async *read(question: LedgerQuestion): AsyncGenerator<readonly LedgerRow[]> {
    let place: LedgerRow | undefined
    for (;;) {
      const statement = reading(question, place)
      const rows = await this.#database.alone(statement)
      if (rows.length > 0) {
        yield rows.map(rowOf)
        place = rowOf(rows.at(-1)!)
      }
      if (rows.length < readAtOnce) return
    }
  }

  async oldestEnd(before: number, mine: string): Promise<readonly LedgerPlace[]> {
    const text = `SELECT w.id, (
        SELECT max(seq) FROM (
          SELECT seq, at FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq LIMIT ${droppedAtOnce}
        ) AS oldest WHERE at < $1 AND (seq < last.seq OR w.id <> $2 AND at < newest.at - ${goneMilliseconds})
      ) FROM assistant_core.ledger_writer w
      JOIN LATERAL (
        SELECT seq FROM assistant_core.ledger WHERE writer = w.id ORDER BY seq DESC LIMIT 1
      ) AS last ON true
      CROSS JOIN (SELECT max(at) AS at FROM assistant_core.ledger) AS newest`
    const rows = await this.#database.alone({ text, values: [before, mine] })
    return rows.flatMap(([writer, seq]) =>
      seq === null ? [] : [{ writer: writer as string, through: Number(seq) }],
    )
  }

  async timeOfExcess(most: number): Promise<number | undefined> {
    // What removed lines took is not given back to the disk: the lines themselves are measured, the newest for all.
    const sampled = `SELECT avg(octet_length(line)) FROM (
      SELECT line FROM assistant_core.ledger ORDER BY at DESC, writer DESC, seq DESC LIMIT ${readAtOnce}) AS newest`
    const lines = (await this.writers()).reduce((sum, { first, last }) => sum + (last && last - first + 1), 0)
    const [row] = await this.#database.alone({ text: sampled, values: [] })
    const excess = lines - Math.floor(most / Number(row![0] ?? 1))
    if (excess <= 0) return undefined
    const text = 'SELECT at FROM assistant_core.ledger ORDER BY at, writer, seq OFFSET $1 LIMIT 1'
    const [place] = await this.#database.alone({ text, values: [excess] })
    return place && Number(place[0])
  }

  lastIn(transaction: object, lines: LastLines): void {
    this.#last.set(transaction, lines)
  }

  /** What the transactions of one piece of work write last: it may be begun anew. */
  endings(): Endings {
    return new Endings(this.#last)
  }

  async bytes(): Promise<number> {
    const text = "SELECT pg_total_relation_size('assistant_core.ledger')"
    const [row] = await this.#database.alone({ text, values: [] })
    return Number(row![0])
  }
}

/** The end of a transaction, which tells those whose lines it wrote what became of them, once. */
class Endings {
  readonly #last: WeakMap<object, LastLines>
  #written: LastLines | undefined

  constructor(last: WeakMap<object, LastLines>) {
    this.#last = last
  }

  async write(transaction: object, on: Queryable): Promise<void> {
    const last = this.#last.get(transaction)
    if (!last) return
    const lines = await last.lines()
    this.#written = last
    for (const statement of changing(lines)) await on.rows(statement)
  }

  over(kept: boolean): void {
    const written = this.#written
    this.#written = undefined
    written?.over(kept)
  }
}

function reading(
  { writer, after, terms, since, until, backward }: LedgerQuestion,
  place: LedgerRow | undefined,
): Statement {
  const values: unknown[] = []
  const value = (given: unknown): string => `$${values.push(given)}`
  const holds: string[] = []
  const beyond = backward ? '<' : '>'
  if (writer !== undefined) {
    holds.push(`writer = ${value(writer)}`)
    const from = place?.seq ?? after
    if (from !== undefined) holds.push(`seq ${beyond} ${value(from)}`)
  } else if (place)
    holds.push(
      `(at, writer, seq) ${beyond} (${value(place.at)}::double precision, ${value(place.writer)}, ${value(place.seq)}::bigint)`,
    )
  if (terms && terms.length > 0) holds.push(`terms @> ${value(terms)}::text[]`)
  if (since !== undefined) holds.push(`at >= ${value(since)}`)
  if (until !== undefined) holds.push(`at < ${value(until)}`)
  const order = (writer === undefined ? ['at', 'writer', 'seq'] : ['seq']).map(
    (column) => `${column}${backward ? ' DESC' : ''}`,
  )
  const where = holds.length > 0 ? ` WHERE ${holds.join(' AND ')}` : ''
  const text = `SELECT writer, seq, at, terms, line FROM assistant_core.ledger${where}
    ORDER BY ${order.join(', ')} LIMIT ${readAtOnce}`
  return { text, values }
}

function rowOf([writer, seq, at, terms, line]: readonly unknown[]): LedgerRow {
  return {
    writer: writer as string,
    seq: Number(seq),
    at: Number(at),
    terms: terms as string[],
    line: line as string,
  }
}

/** Works with the ledger of a database beside the daemons on it; with nothing where it has none. */
export async function withLedgerAt<R>(
  url: string,
  work: (ledger: Ledger | undefined) => Promise<R>,
): Promise<R> {
  const text = "SELECT to_regclass('assistant_core.ledger') IS NOT NULL"
  return await Database.during(url, async (database) => {
    const [row] = await database.alone({ text, values: [] })
    return await work(row![0] === true ? new PostgresLedger(database) : undefined)
  })
}
