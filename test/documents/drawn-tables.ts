/** Tables of others that hold drawn documents, in each kind of database. */
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import type { TestMariadb } from '../helpers/mariadb.ts'
import type { TestPostgres } from '../helpers/postgres.ts'
import { type DrawnDoctype, type DrawnField, people, texts } from './drawn-doctypes.ts'

/** A database that holds documents: its source, the key of their table, and the columns of their rows that hold it. */
export interface Filled {
  readonly source: Readonly<Record<string, unknown>>
  readonly key: readonly string[]
  readonly parent: readonly string[]
  /** The type of each column. */
  readonly types: ReadonlyMap<string, string>
}

/** Fills a new database with documents. */
export type Fill = (
  doctype: DrawnDoctype,
  values: readonly Record<string, unknown>[],
  seed: number,
) => Promise<Filled>

type ColumnTypes = Partial<Record<DrawnField['type'], readonly string[]>>

/** What a field's column may be; one is drawn for each. */
const postgresTypes: ColumnTypes = {
  text: ['text', 'varchar(40)', 'text COLLATE "und-x-icu"', 'char(20)'],
  long_text: ['text', 'varchar'],
  select: ['kind', 'text'],
  link: ['text'],
  currency: ['numeric(15,4)', 'numeric(30,4)', 'numeric'],
  number: ['float8', 'numeric', 'numeric(40,20)', 'real'],
  percent: ['float8', 'numeric(12,3)'],
  integer: ['int2', 'int4', 'int8', 'numeric(9,0)'],
  check: ['bool', 'int4'],
  date: ['date'],
  datetime: ['timestamptz', 'timestamp'],
  json: ['jsonb', 'text[]'],
}
const mariadbTypes: ColumnTypes = {
  text: ['text', 'varchar(40)', 'varchar(40) COLLATE utf8mb4_bin', 'char(20)'],
  long_text: ['text', 'longtext COLLATE utf8mb4_unicode_520_ci'],
  select: [`enum('Open', 'open', 'Öffen') COLLATE utf8mb4_bin`, 'varchar(10)'],
  link: ['varchar(140)'],
  currency: ['decimal(15,4)', 'decimal(30,4)', 'double'],
  number: ['double', 'decimal(25,10)', 'decimal(40,20)', 'float'],
  percent: ['double', 'decimal(12,3)'],
  integer: ['smallint', 'int', 'bigint', 'decimal(9,0)'],
  check: ['tinyint(1)', 'int', 'bit(1)'],
  date: ['date'],
  datetime: ['datetime(6)', 'timestamp(6) NULL', 'datetime(3)'],
  json: ['json'],
}

const keys = [
  { columns: ['id int PRIMARY KEY'], of: (n: number) => [n * 7 - 100] },
  { columns: ['id text PRIMARY KEY'], of: (n: number) => [`${texts[n % texts.length]!}${n}`] },
  {
    columns: ['id uuid PRIMARY KEY'],
    of: (n: number) => [`00000000-0000-4000-8000-${String((n * 7919) % 97).padStart(12, '0')}`],
  },
  {
    columns: ['id text', 'nr bigint', 'PRIMARY KEY (id, nr)'],
    of: (n: number) => [['a/b', '~c', '', 'x'][n % 4]!, n - 5],
  },
] as const

type Key = (typeof keys)[number]

function typesOf({ fields }: DrawnDoctype, of: ColumnTypes, seed: number): Map<string, string> {
  const plain = fields.filter(({ type }) => type !== 'table')
  return new Map(
    plain.map(({ name, type }, index) => [name, of[type]![(seed + index) % of[type]!.length]!] as const),
  )
}

/** The documents as rows: of their table, and of the table of their rows, by the columns of each. */
function* rowsOf(
  { fields }: DrawnDoctype,
  values: readonly Record<string, unknown>[],
  key: Key,
  held: (name: string, type: DrawnField['type'], value: unknown, n: number) => unknown,
): Generator<readonly [table: string, row: Readonly<Record<string, unknown>>]> {
  const table = fields.find(({ type }) => type === 'table')!
  for (const [n, document] of values.entries()) {
    const id = key.of(n) as readonly unknown[]
    yield [
      'thing',
      {
        ...Object.fromEntries(id.map((one, at) => [['id', 'nr'][at], one])),
        of: String(people.indexOf(document['owner'] as (typeof people)[0]) + 1),
        made: n % 9 === 0 ? null : `2026-03-0${(n % 7) + 1}T00:00:00.${n % 2 ? '123' : '12345' + (n % 10)}Z`,
        changed: n % 11 === 0 ? 'infinity' : '2026-03-01T00:00:00Z',
        by: 'x',
        state: 0,
        ...Object.fromEntries(
          fields
            .filter(({ type }) => type !== 'table')
            .map(({ name, type }) => [name, held(name, type, document[name], n)]),
        ),
      },
    ]
    for (const line of (document[table.name] ?? []) as { item?: string | null; price?: number | null }[])
      yield [
        'lines',
        {
          ...Object.fromEntries(id.map((one, at) => [['owner_id', 'owner_nr'][at], one])),
          item: line.item ?? null,
          price: line.price ?? null,
        },
      ]
  }
}

const standardColumns = ['by text', 'state int']
const isComposed = ({ columns }: Key): boolean => columns.length > 1
const parentOf = (key: Key): readonly string[] => (isComposed(key) ? ['owner_id', 'owner_nr'] : ['owner_id'])

/** Makes tables in databases of a PostgreSQL, some of which sort and change case as people are used to. */
export function postgresTables(server: TestPostgres): Fill {
  return async (doctype, values, seed) => {
    const url = new URL(await server.newDatabase())
    if (Math.floor(seed / 3) % 2 === 0) {
      const name = `words_${seed}`
      const locale = `LOCALE_PROVIDER icu ICU_LOCALE 'de-DE' LOCALE 'C.UTF-8'`
      await server.admin.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' ${locale}`)
      url.pathname = `/${name}`
    }
    const client = new Client({ connectionString: url.href })
    await client.connect()
    const key = keys[seed % keys.length]!
    const types = typesOf(doctype, postgresTypes, seed)
    const columns = [
      ...key.columns,
      'of text',
      'made timestamptz',
      'changed timestamptz NOT NULL',
      ...standardColumns,
      ...[...types].map(([name, type]) => `"${name}" ${type}`),
    ]
    await client.query(`CREATE TYPE kind AS ENUM ('Open', 'open', 'Öffen'); CREATE TABLE "thing" (${columns.join(', ')});
      CREATE TABLE lines (owner_id ${key.columns[0].split(' ')[1]}${isComposed(key) ? ', owner_nr bigint' : ''},
      nr serial PRIMARY KEY, item text, price float8);
      CREATE TABLE person (code int PRIMARY KEY, mail text); INSERT INTO person VALUES (1, '${people[0]}'), (2, '${people[1]}');
      GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`)
    const held = (name: string, type: DrawnField['type'], value: unknown, n: number): unknown =>
      stored(types.get(name)!, type, value, n)
    for (const [table, row] of rowsOf(doctype, values, key, held)) {
      const names = Object.keys(row)
      await client.query({
        text: `INSERT INTO ${table} (${names.map((one) => `"${one}"`).join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
        values: Object.values(row),
      })
    }
    await client.query(`ALTER TABLE thing ALTER of TYPE int USING of::int`)
    await client.end()
    const database = url.pathname.slice(1)
    return {
      source: { type: 'postgres', host: '127.0.0.1', port: Number(url.port), database, user: 'reader' },
      key: isComposed(key) ? ['id', 'nr'] : ['id'],
      parent: parentOf(key),
      types,
    }
  }
}

/** Makes tables in databases of a MariaDB, with collations that take different texts for the same, and zero dates. */
export function mariadbTables(server: TestMariadb): Fill {
  return async (doctype, values, seed) => {
    const collation = ['utf8mb4_general_ci', 'utf8mb4_unicode_520_ci', 'utf8mb4_bin'][seed % 3]!
    const database = await server.newDatabase(`CHARACTER SET utf8mb4 COLLATE ${collation}`)
    const admin = await createConnection({ ...server.admin.config, database })
    await admin.query(`SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', time_zone = '+00:00'`)
    const key = keys[seed % keys.length]!
    const keyColumns = key.columns.map((one) =>
      one.replace(/^id text/, 'id varchar(60)').replace(/^id uuid/, 'id char(36)'),
    )
    const types = typesOf(doctype, mariadbTypes, seed)
    const columns = [
      ...keyColumns,
      '"of" int',
      'made datetime(6)',
      'changed datetime NOT NULL',
      ...standardColumns.map((one) => one.replace(/^(\w+)/, '"$1"')),
      ...[...types].map(([name, type]) => `"${name}" ${type}`),
    ]
    await admin.query(`CREATE TABLE thing (${columns.join(', ')})`)
    await admin.query(
      `CREATE TABLE \`lines\` (owner_id ${keyColumns[0]!.split(' ')[1]}${isComposed(key) ? ', owner_nr bigint' : ''},
        nr int AUTO_INCREMENT PRIMARY KEY, item text, price double)`,
    )
    await admin.query('CREATE TABLE person (code int PRIMARY KEY, mail text)')
    await admin.query(`INSERT INTO person VALUES (1, '${people[0]}'), (2, '${people[1]}')`)
    const held = (name: string, type: DrawnField['type'], value: unknown, n: number): unknown =>
      type === 'json' && value !== undefined && value !== null
        ? JSON.stringify(value)
        : stored(types.get(name)!, type, value, n)
    for (const [table, row] of rowsOf(doctype, values, key, held)) {
      const names = Object.keys(row)
      await admin.execute(
        `INSERT INTO "${table}" (${names.map((one) => `"${one}"`).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
        Object.values(row).map(asMysql),
      )
    }
    await admin.end()
    return {
      source: { type: 'mariadb', host: '127.0.0.1', port: server.port, database, user: 'reader' },
      key: isComposed(key) ? ['id', 'nr'] : ['id'],
      parent: parentOf(key),
      types,
    }
  }
}

/** What has no value there is a day without year, month and day. */
function asMysql(value: unknown): string | number | null {
  if (value === 'infinity') return '0000-00-00'
  if (value === 'NaN') return null
  if (typeof value === 'boolean') return Number(value)
  if (typeof value !== 'string') return value as number | null
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? value.slice(0, -1).replace('T', ' ') : value
}

/** What a column takes of a drawn value, with more than a document shows now and then. */
function stored(column: string, type: DrawnField['type'], value: unknown, n: number): unknown {
  if (value === null || value === undefined) return n % 13 === 0 && column === 'float8' ? 'NaN' : null
  if (column === 'bool') return Boolean(value)
  if (type === 'check') return Number(value)
  if (type === 'date') return n % 12 === 0 ? 'infinity' : typeof value === 'string' ? value : null
  if (type === 'datetime')
    return typeof value === 'string' ? value.replace('Z', n % 2 ? `${n % 10}7Z` : 'Z') : null
  if (column === 'jsonb') return JSON.stringify(value)
  if (column === 'text[]') return [value].flat().map((one) => (typeof one === 'string' ? one : null))
  if (column.endsWith('(12,3)')) return Math.min(Number(value), 1e8).toFixed(3)
  if (/^(?:int8|bigint)$/.test(column) && n % 10 === 0) return '9007199254740993'
  if (column.endsWith('(40,20)') && n % 5 === 0) return '123456789012345678.12345678901234567890'
  return value
}
