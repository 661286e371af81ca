/**
 * The tables of the state in PostgreSQL: documents, what they are looked up by, how each collection was
 * declared, and which version all of it has. Names are constants, values are bound.
 */
import { AppError } from '../core/errors.ts'
import { randomId } from '../core/secrets.ts'
import { requireKnownSchema } from './migrate.ts'
import { askedAbout, dataColumns, language } from './postgres-language.ts'
import type { Queryable } from './postgres-connection.ts'
import type { TableSpec } from './table.ts'

/** The layout of the tables; a newer one is refused. */
export const tablesFormat = 2

/** What every writer must know before it writes. */
export interface StateHead {
  /** The version of the documents' shapes. */
  readonly schema: number
  /** Grows whenever what a collection is looked up by changes. */
  readonly generation: number
  /** The time by the database's clock, in milliseconds since the epoch. */
  readonly time: number
  /** When the server started, which tells one server from another. */
  readonly server: number
}

/** Held by who makes or upgrades the tables. A number that no other program should use. */
const founderLock = '7020098563374907239'

/** Opens the transaction of who makes the tables, or begins to work on them. */
export const beginFounding = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock(${founderLock})`

/** Keeps everybody from writing until the transaction ends. */
export const lockAll = 'LOCK TABLE assistant_core.state IN EXCLUSIVE MODE'

/** Reads of one moment. */
export const beginPicture = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/**
 * Opens a transaction, alone or beside those of others. The lock comes before everything that looks, so that what is
 * seen is not older. What is read by indexes touches less of what others write than what is read by going through a
 * table that is still small. And what is acknowledged must be on disk, whatever the database is set to.
 */
export function begin(alone: boolean, patience: string): string {
  return `BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE; ${patience}
    LOCK TABLE assistant_core.state IN ${alone ? 'EXCLUSIVE' : 'ROW SHARE'} MODE;
    SELECT set_config('enable_seqscan', 'off', true);
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`
}

const tables = [
  'CREATE SCHEMA IF NOT EXISTS assistant_core',
  `CREATE TABLE assistant_core.state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    format integer NOT NULL,
    schema integer NOT NULL,
    generation bigint NOT NULL DEFAULT 0
  )`,
  `CREATE TABLE assistant_core.collection (
    name text COLLATE "C" PRIMARY KEY,
    spec text NOT NULL
  )`,
  `CREATE TABLE assistant_core.document (
    collection text COLLATE "C" NOT NULL,
    id bytea NOT NULL,
    body text NOT NULL,
    ends double precision,
    PRIMARY KEY (collection, id)
  )`,
  'CREATE INDEX document_ends ON assistant_core.document (ends) WHERE ends IS NOT NULL',
  `CREATE TABLE assistant_core.entry (
    collection text COLLATE "C" NOT NULL,
    field text COLLATE "C" NOT NULL,
    key bytea NOT NULL,
    id bytea NOT NULL,
    single boolean NOT NULL,
    PRIMARY KEY (collection, field, key, id),
    FOREIGN KEY (collection, id) REFERENCES assistant_core.document ON DELETE CASCADE
  )`,
  'CREATE INDEX entry_document ON assistant_core.entry (collection, id)',
  'CREATE UNIQUE INDEX entry_single ON assistant_core.entry (collection, field, key) WHERE single',
]

/** The constraint that lets no two documents share a unique value. */
export const uniqueConstraint = 'entry_single'

/**
 * Makes the tables where there are none, with the schema version given; answers the version of the
 * documents. The caller writes alone. AppError `invalid` for a database that cannot hold the state.
 */
export async function openTables(on: Queryable, schema: number): Promise<StateHead> {
  await requireAble(on)
  if (!(await hasTables(on))) {
    for (const text of tables) await on.rows({ text, values: [] })
    await on.rows({
      text: 'INSERT INTO assistant_core.state (format, schema) VALUES (1, $1)',
      values: [schema],
    })
  }
  await upgradeTables(on)
  await openLedgerTables(on)
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

/** Makes the tables where they are missing. The caller founds. */
async function openLedgerTables(on: Queryable): Promise<void> {
  const [row] = await on.rows({ text: "SELECT to_regclass('assistant_core.ledger') IS NULL", values: [] })
  if (row![0] !== true) return
  for (const text of ledgerTables) await on.rows({ text, values: [] })
  const text = 'INSERT INTO assistant_core.ledger_name (name) VALUES ($1)'
  await on.rows({ text, values: [randomId()] })
}

/** Format 2 can be asked about documents. Many documents take a while, during which nobody writes. */
async function upgradeTables(on: Queryable): Promise<void> {
  const [row] = await on.rows({ text: 'SELECT format FROM assistant_core.state', values: [] })
  if (row?.[0] !== 1) return
  await on.rows({ text: lockAll, values: [] })
  const steps = [
    'SET LOCAL statement_timeout = 0',
    ...language,
    dataColumns,
    // What they were looked up by before; they are declared anew.
    `DELETE FROM assistant_core.entry WHERE ${askedAbout}`,
    `DELETE FROM assistant_core.collection WHERE ${askedAbout.replace('collection', 'name')}`,
    'UPDATE assistant_core.state SET format = 2, generation = generation + 1',
  ]
  for (const text of steps) await on.rows({ text, values: [], patience: 3_600_000 })
}

/** Whether the database holds a state. */
export async function hasTables(on: Queryable): Promise<boolean> {
  const [row] = await on.rows({ text: "SELECT to_regclass('assistant_core.state') IS NOT NULL", values: [] })
  return row![0] === true
}

/** The version of everything. */
export async function readStateHead(on: Queryable): Promise<StateHead> {
  const [row] = await on.rows({ text: headQuery, values: [] })
  return headOf(row)
}

/** What the head is read by, for those who send it along with something else. */
export const headQuery =
  'SELECT format, schema, generation, extract(epoch FROM clock_timestamp()) * 1000, extract(epoch FROM pg_postmaster_start_time()) FROM assistant_core.state'

/** The head that the query answered; AppError `invalid` when only a newer version knows the tables. */
export function headOf(row: readonly unknown[] | undefined): StateHead {
  if (!row) throw new AppError('invalid', 'the database holds no whole state: its version is missing')
  const [format, schema, generation, time, server] = row.map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  if (format > tablesFormat) {
    throw new AppError(
      'invalid',
      `the database has format ${format}, but this version of assistant-core knows formats up to ${tablesFormat}; use a newer version`,
    )
  }
  return { schema, generation, time, server }
}

/** Refuses a state that a newer version has taken over, also while this one runs. */
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

/** A collection that was declared by an older version has no word of an order, or of texts. */
type PartialSpec = Omit<TableSpec, 'name' | 'ordered' | 'texts'> &
  Partial<Pick<TableSpec, 'ordered' | 'texts'>>

/** How the collections were declared, by name. */
export async function readSpecs(on: Queryable): Promise<Map<string, TableSpec>> {
  const rows = await on.rows({ text: 'SELECT name, spec FROM assistant_core.collection', values: [] })
  const specs = rows.map(([name, spec]): [string, TableSpec] => {
    const { indexes, unique, ordered = [], texts = [], expires } = JSON.parse(spec as string) as PartialSpec
    return [name as string, { name: name as string, indexes, unique, ordered, texts, expires }]
  })
  return new Map(specs)
}
