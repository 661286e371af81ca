/**
 * The tables of the state in PostgreSQL: one for the documents of each collection, all of them partitions of
 * `document`, and one for the version of the whole. Names are constants, values are bound.
 */
import { AppError } from '#leaf/errors.ts'
import { randomId, randomSecret } from '#leaf/secrets.ts'
import { requireKnownSchema } from '../migrate.ts'
import type { Queryable } from './servers/connection.ts'
import { indexesOf, tableOf } from './indexes.ts'
import { language, quoted } from './language.ts'
import { lockAll, type Locking, lockingFirst, lockMaker, sharing } from './running/locks.ts'
import { segmentTables } from './ledger/ledger-segments.ts'
import { endMoving, moveAhead } from './moving.ts'
import type { TableSpec } from '../embedded/table.ts'

/** The version of the tables' layout; a newer one is refused. */
const tablesFormat = 3

/** The facts that every writer must know before it writes. */
export interface StateHead {
  /** The schema version of the documents. */
  readonly schema: number
  /** The time by the database's clock, in milliseconds since the epoch. */
  readonly time: number
  /** The start time of the server, which tells one server from another. */
  readonly server: number
}

/** What the database said when a transaction began. */
export interface Begun extends StateHead {
  /** Its id. */
  readonly number: string
}

/** SQL that begins a read-only transaction with one snapshot. */
export const beginPicture = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/**
 * Returns SQL that begins a transaction, whose last two results are its id and the head. What it waits for, by numbers, is
 * locked before its snapshot and for the session: the lock must hold until the transaction has ended, and a lock that is taken
 * inside is taken too late. Sequential scans are off, because reads by index conflict with fewer writes, even in a
 * small table. Acknowledged writes must be on disk, whatever the database is set to.
 */
export function begin(locking: Locking, numbers: readonly string[], patience: string): string {
  return `${lockingFirst(numbers, patience)}BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE;
    ${patience}${sharing(locking)};
    SELECT set_config('enable_seqscan', 'off', true);
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
    SELECT txid_current()::text; ${headQuery}`
}

/** SQL for the table of documents, partitioned by collection. Only documents of doctypes are searched by words. */
const documents = (name: string): readonly string[] => [
  ...language,
  `CREATE TABLE assistant_core.${name} (
    collection text COLLATE "C" NOT NULL,
    id bytea NOT NULL,
    body text NOT NULL,
    data jsonb GENERATED ALWAYS AS (assistant_core.data(body)) STORED,
    words tsvector GENERATED ALWAYS AS
      (CASE WHEN collection LIKE 'document.%' THEN assistant_core.words(assistant_core.data(body)) END) STORED,
    PRIMARY KEY (collection, id)
  ) PARTITION BY LIST (collection)`,
]

// The columns format and generation are for versions up to 2.13, which read them first and then find a schema unknown to them.
const tables = [
  `CREATE TABLE assistant_core.state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    format integer NOT NULL DEFAULT 2,
    schema integer NOT NULL,
    generation bigint NOT NULL DEFAULT 0
  )`,
  ...documents('document'),
]

/** The number added to the documents' schema version to store the tables' version with it. */
const schemaBase = tablesFormat * 1000

/**
 * Makes the tables where there are none, with the schema version given; returns the state's head. The
 * caller writes alone. AppError `invalid` for a database that cannot hold the state.
 */
export async function openTables(on: Queryable, schema: number): Promise<StateHead> {
  await requireAble(on)
  if (!(await hasTables(on))) {
    // Even with IF NOT EXISTS this takes a right on the whole database, which the owner of the schema need not have.
    const missing = { text: "SELECT to_regnamespace('assistant_core') IS NULL", values: [] }
    const made = (await on.rows(missing))[0]![0] === true ? ['CREATE SCHEMA assistant_core'] : []
    for (const text of [...made, ...tables]) await on.rows({ text, values: [] })
    await on.rows({
      text: 'INSERT INTO assistant_core.state (schema) VALUES ($1)',
      values: [schemaBase + schema],
    })
  } else await upgradeTables(on)
  await openLedgerTables(on)
  await openSealTable(on)
  return await readStateHead(on)
}

const ledgerTables = [
  `CREATE TABLE assistant_core.ledger_name (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    name text NOT NULL
  )`,
  `CREATE TABLE assistant_core.ledger_writer (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    keys text[] NOT NULL
  )`,
  `CREATE TABLE assistant_core.ledger (
    writer text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    at double precision NOT NULL,
    terms text[] COLLATE "C" NOT NULL,
    line text NOT NULL,
    CONSTRAINT ledger_place PRIMARY KEY (writer, seq)
  )`,
  'CREATE INDEX ledger_at ON assistant_core.ledger (at, writer, seq)',
  'CREATE INDEX ledger_terms ON assistant_core.ledger USING gin (terms)',
]

/** Makes the ledger's tables where they are missing. The caller holds the founding lock. */
async function openLedgerTables(on: Queryable): Promise<void> {
  if (!(await hasTable(on, 'ledger_segment')))
    for (const text of segmentTables) await on.rows({ text, values: [] })
  if (await hasTable(on, 'ledger')) return
  for (const text of ledgerTables) await on.rows({ text, values: [] })
  const text = 'INSERT INTO assistant_core.ledger_name (name) VALUES ($1)'
  await on.rows({ text, values: [randomId()] })
}

/** Makes the key that seals announcements between daemons: a restored or copied state gets its own. */
async function openSealTable(on: Queryable): Promise<void> {
  if (await hasTable(on, 'seal')) return
  const made = `CREATE TABLE assistant_core.seal (one boolean PRIMARY KEY DEFAULT true CHECK (one), key text NOT NULL);
    REVOKE ALL ON assistant_core.seal FROM PUBLIC`
  for (const text of made.split(';')) await on.rows({ text, values: [] })
  await on.rows({ text: 'INSERT INTO assistant_core.seal (key) VALUES ($1)', values: [randomSecret('')] })
}

/** What moving documents takes of the tables. */
const movingTables = {
  made: documents,
  part: (on: Queryable, name: string, whole: string) => makeTable(on, { name }, whole),
}

/** Copies the documents of tables up to format 2 while older daemons use them, so that little is left to do for `openTables`. */
export async function prepareTables(
  found: <R>(work: (on: Queryable) => Promise<R>) => Promise<R>,
): Promise<void> {
  if (await found(async (on) => (await hasTables(on)) && (await isOlder(on))))
    await moveAhead(found, movingTables)
}

/** Upgrades tables up to format 2; what changed since they were prepared, or all of it, while nobody writes. */
async function upgradeTables(on: Queryable): Promise<void> {
  if (!(await isOlder(on))) return
  await lockAll(on, 3_600_000)
  await moveAhead((work) => work(on), movingTables)
  await endMoving(on, movingTables)
  const text = `UPDATE assistant_core.state SET format = 2, schema = ${schemaBase} + schema`
  await on.rows({ text, values: [] })
}

async function isOlder(on: Queryable): Promise<boolean> {
  const [row] = await on.rows({ text: headQuery, values: [] })
  return Number(row?.[0]) < tablesFormat
}

/** Makes the table of a collection where it is missing, with its indexes as far as they are known. */
export async function makeTable(
  on: Queryable,
  spec: Pick<TableSpec, 'name'> & Partial<TableSpec>,
  whole = 'document',
): Promise<void> {
  await lockMaker(on)
  const table = tableOf(spec.name)
  if (await hasTable(on, table)) return
  const steps = [
    `CREATE TABLE assistant_core.${table} (LIKE assistant_core.${whole} INCLUDING ALL)`,
    ...[...indexesOf(spec)].map(([name, text]) => `CREATE INDEX ${name} ${text}`),
    // Attaching it afterwards, unlike creating it as a partition, lets everybody go on reading and writing.
    `ALTER TABLE assistant_core.${whole} ATTACH PARTITION assistant_core.${table} FOR VALUES IN (${quoted(spec.name)})`,
  ]
  for (const text of steps) await on.rows({ text, values: [] })
}

/** Reads the names of the collections that have a table. */
export async function readCollections(on: Queryable): Promise<Set<string>> {
  const text = `SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM '''(.*)''') FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'assistant_core.document'::regclass`
  return new Set((await on.rows({ text, values: [] })).map(([name]) => name as string))
}

/** True when the database holds a state. */
export function hasTables(on: Queryable): Promise<boolean> {
  return hasTable(on, 'state')
}

async function hasTable(on: Queryable, name: string): Promise<boolean> {
  const text = 'SELECT to_regclass($1) IS NOT NULL'
  const [row] = await on.rows({ text, values: [`assistant_core.${name}`] })
  return row![0] === true
}

/** Reads the head of the state. */
export async function readStateHead(on: Queryable): Promise<StateHead> {
  const [row] = await on.rows({ text: headQuery, values: [] })
  return headOf(row)
}

/** The query for the head, exported for sending it along with other statements. */
export const headQuery = `SELECT GREATEST(format, schema / 1000), schema % 1000, extract(epoch FROM clock_timestamp()) * 1000,
    extract(epoch FROM pg_postmaster_start_time()) FROM assistant_core.state`

/** Writes the schema version of the documents. */
export async function writeSchema(on: Queryable, schema: number): Promise<void> {
  await on.rows({ text: 'UPDATE assistant_core.state SET schema = $1', values: [schemaBase + schema] })
}

/** Parses the head from the query's row; AppError `invalid` when only a newer version knows the tables. */
export function headOf(row: readonly unknown[] | undefined): StateHead {
  if (!row) throw new AppError('invalid', 'the database holds no whole state: its version is missing')
  const [format, schema, time, server] = row.map(Number) as [number, number, number, number]
  if (format > tablesFormat) {
    throw new AppError(
      'invalid',
      `the database has format ${format}, but this version of assistant-core knows formats up to ${tablesFormat}; use a newer version`,
    )
  }
  return { schema, time, server }
}

/** Throws for a state of another version, also one that was migrated or replaced while this version runs. */
export function requireOurs(head: StateHead, known: number): void {
  requireKnownSchema(head.schema, known)
  if (head.schema < known) {
    throw new AppError('unavailable', 'the state was replaced by an older one; start again')
  }
}

async function requireAble(on: Queryable): Promise<void> {
  const text = "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int"
  const [row] = await on.rows({ text, values: [] })
  const [encoding, version] = row as [string, number]
  if (encoding !== 'UTF8') {
    throw new AppError('invalid', `the database has the encoding ${encoding}; create it with UTF8`)
  }
  if (version < 120_000) throw new AppError('invalid', 'the database is older than PostgreSQL 12')
}
