/** What a database of others says of its tables: columns, keys, indexes, and what its login may do. */
import type { PoolClient } from 'pg'
import { messageOf } from '#leaf/errors.ts'
import { type Dialect, postgresDialect, quotedName } from '#state/postgres.ts'

/** A column of a table, as the catalogue has it. */
export interface CatalogueColumn {
  readonly name: string
  /** The name of its type in `pg_type`, of a domain's the type below it, such as `int4` or `_text`. */
  readonly type: string
  /** The name as people write it, such as `numeric(12,2)`. */
  readonly written: string
  /** `e` for an enumeration. */
  readonly kind: string
  readonly nullable: boolean
  readonly generated: boolean
  /** True if a new row that is not given it gets a value. */
  readonly filled: boolean
  /** False if that value is a number of a sequence, which the login may not draw. */
  readonly drawable: boolean
  /** True if a new row is numbered by it, and the number told. */
  readonly numbered?: boolean
  readonly insertable: boolean
  readonly updatable: boolean
  /** Digits in all and after the point of a `numeric` that has them. */
  readonly precision: number | null
  readonly scale: number | null
  /** False where the collation takes different texts for the same. */
  readonly deterministic: boolean
  readonly labels: readonly string[]
  readonly comment: string | null
}

/** A reference to another table. */
export interface CatalogueReference {
  readonly columns: readonly string[]
  readonly schema: string
  readonly table: string
  readonly to: readonly string[]
  /** True if the rows go with the row that they refer to. */
  readonly cascades: boolean
}

/** A table or view. */
export interface CatalogueTable {
  readonly schema: string
  readonly name: string
  readonly isView: boolean
  /** About the number of rows, as of the last time that the database looked. */
  readonly rows: number
  readonly readable: boolean
  readonly deletable: boolean
  /** True if rows can be locked: the login may update some column. */
  readonly lockable: boolean
  readonly secured: boolean
  /** What keeps its rows, where that has no transactions. */
  readonly engine?: string
  /** True if row-level security does not bind this login. */
  readonly passed: boolean
  readonly comment: string | null
  readonly columns: readonly CatalogueColumn[]
  /** The columns of each unique index over all rows, the primary key first. */
  readonly unique: readonly (readonly string[])[]
  /** The first column of each index. */
  readonly indexed: readonly string[]
  readonly references: readonly CatalogueReference[]
  /** `column = ANY (…)` and the like. */
  readonly checks: readonly string[]
}

/** The login, and whose database it is. */
export interface CatalogueLogin {
  readonly name: string
  /** True for one that no row-level security binds. */
  readonly above: boolean
  /** True for a database with the state of a service like this one. */
  readonly isState: boolean
  readonly version: number
  /** Why no documents can lie here, where the login is not the reason. */
  readonly refusal?: string | undefined
  /** What the login may do beyond reading. */
  readonly remark?: string | undefined
  /** The schema of tables that are named without one. */
  readonly home: string
  /** False where times cannot be read in a time zone. */
  readonly zones: boolean
  /** The words of the database. */
  readonly dialect: Dialect
}

/** A table by its schema and name. */
export type TableName = readonly [schema: string, name: string]

/** What its operator asks of a database. */
export interface SourceLook {
  login(): Promise<CatalogueLogin>
  /** Named tables, or all that people made. */
  tables(names?: readonly TableName[]): Promise<readonly CatalogueTable[]>
  /** Returns why the columns are not unique, and never null, in a view. */
  uniqueness(name: TableName, key: readonly string[]): Promise<string | undefined>
  /** Has a statement analysed; throws what is wrong with it. */
  tryOut(text: string): Promise<void>
  /** Runs a statement of ours, with values bound to `$1`, `$2` …, and returns its rows. */
  rows(text: string, values?: readonly unknown[]): Promise<readonly (readonly unknown[])[]>
}

async function readLogin(client: PoolClient): Promise<CatalogueLogin> {
  const { rows } = await client.query<Omit<CatalogueLogin, 'dialect' | 'home' | 'zones'>>(
    `SELECT current_user AS name, rolsuper OR rolbypassrls AS above,
       to_regclass('assistant_core.document') IS NOT NULL AS "isState",
       current_setting('server_version_num')::int AS version
     FROM pg_roles WHERE rolname = current_user`,
  )
  return { ...rows[0]!, dialect: postgresDialect, home: 'public', zones: true }
}

const tablesQuestion = `
  SELECT n.nspname AS schema, c.relname AS name, c.relkind IN ('v', 'm') AS "isView",
    greatest(c.reltuples, 0)::float8 AS rows, has_table_privilege(c.oid, 'SELECT') AS readable,
    has_table_privilege(c.oid, 'DELETE') AS deletable, has_any_column_privilege(c.oid, 'UPDATE') AS lockable,
    c.relrowsecurity AS secured, c.relrowsecurity AND NOT row_security_active(c.oid) AS passed,
    obj_description(c.oid, 'pg_class') AS comment,
    COALESCE((SELECT json_agg(json_build_object('name', a.attname, 'type', b.typname,
        'written', format_type(a.atttypid, a.atttypmod), 'kind', b.typtype, 'nullable', NOT a.attnotnull,
        'generated', a.attgenerated <> '' OR a.attidentity = 'a', 'filled', a.atthasdef OR a.attidentity <> '',
        'drawable', COALESCE(CASE WHEN a.atthasdef AND c.relkind IN ('r', 'p') THEN
          has_sequence_privilege(pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname), 'USAGE') END, true),
        'insertable', has_column_privilege(c.oid, a.attnum, 'INSERT'), 'updatable', has_column_privilege(c.oid, a.attnum, 'UPDATE'),
        'precision', CASE WHEN b.typname = 'numeric' AND m.typmod > 4 THEN ((m.typmod - 4) >> 16) & 65535 END,
        'scale', CASE WHEN b.typname = 'numeric' AND m.typmod > 4 THEN (m.typmod - 4) & 2047 END,
        'deterministic', COALESCE(l.collisdeterministic, true),
        'labels', COALESCE((SELECT json_agg(enumlabel ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = b.oid), '[]'),
        'comment', col_description(c.oid, a.attnum)) ORDER BY a.attnum)
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
        CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS typmod) m
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]') AS columns,
    COALESCE((SELECT json_agg(i.columns ORDER BY i.indisprimary DESC, cardinality(i.columns)) FROM (
        SELECT indisprimary, ARRAY(SELECT attname::text FROM unnest(indkey[0:indnkeyatts - 1]) WITH ORDINALITY k (n, at)
          JOIN pg_attribute ON attrelid = c.oid AND attnum = n ORDER BY at) AS columns
        FROM pg_index WHERE indrelid = c.oid AND indisunique AND indisvalid AND indpred IS NULL AND indexprs IS NULL
      ) i), '[]') AS unique,
    COALESCE((SELECT json_agg(attname) FROM pg_index JOIN pg_attribute ON attrelid = c.oid AND attnum = indkey[0]
      WHERE indrelid = c.oid AND indisvalid AND indpred IS NULL), '[]') AS indexed,
    COALESCE((SELECT json_agg(json_build_object('schema', fn.nspname, 'table', fc.relname, 'cascades', k.confdeltype = 'c',
        'columns', ARRAY(SELECT attname::text FROM unnest(k.conkey) WITH ORDINALITY u (n, at)
          JOIN pg_attribute ON attrelid = c.oid AND attnum = n ORDER BY at),
        'to', ARRAY(SELECT attname::text FROM unnest(k.confkey) WITH ORDINALITY u (n, at)
          JOIN pg_attribute ON attrelid = k.confrelid AND attnum = n ORDER BY at)) ORDER BY k.conname)
      FROM pg_constraint k JOIN pg_class fc ON fc.oid = k.confrelid JOIN pg_namespace fn ON fn.oid = fc.relnamespace
      WHERE k.conrelid = c.oid AND k.contype = 'f'), '[]') AS references,
    COALESCE((SELECT json_agg(pg_get_constraintdef(k.oid)) FROM pg_constraint k
      WHERE k.conrelid = c.oid AND k.contype = 'c'), '[]') AS checks
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')`

async function readTables(
  client: PoolClient,
  names: readonly TableName[],
): Promise<readonly CatalogueTable[]> {
  const text = `${tablesQuestion} AND (n.nspname, c.relname) IN (SELECT * FROM unnest($1::text[], $2::text[]))`
  const values = [names.map(([schema]) => schema), names.map(([, name]) => name)]
  return (await client.query<CatalogueTable>({ text, values })).rows
}

async function readAllTables(client: PoolClient): Promise<readonly CatalogueTable[]> {
  const text = `${tablesQuestion} AND n.nspname !~ '^pg_|^information_schema$' ORDER BY n.nspname, c.relname`
  return (await client.query<CatalogueTable>(text)).rows
}

/** Milliseconds for which the database may look whether the key of a view is unique. */
const uniqueMilliseconds = 5000

/** A view has no index that tells whether its key is unique: its rows are looked at. */
async function uniquenessIn(
  client: PoolClient,
  [schema, name]: TableName,
  key: readonly string[],
): Promise<string | undefined> {
  const columns = key.map(quotedName)
  const text = `SELECT 1 FROM ${quotedName(schema)}.${quotedName(name)} GROUP BY ${columns.join(', ')}
    HAVING count(*) > 1 OR bool_or(${columns.map((one) => `${one} IS NULL`).join(' OR ')}) LIMIT 1`
  try {
    await client.query('SAVEPOINT looking')
    await client.query(`SET LOCAL statement_timeout = ${uniqueMilliseconds}`)
    const { rowCount } = await client.query(text)
    return (rowCount ?? 0) > 0 ? notUnique(`${schema}.${name}`, key) : undefined
  } catch (error) {
    await client.query('ROLLBACK TO looking')
    return notTold(`${schema}.${name}`, key, error)
  }
}

/** Says that the key of a view is not unique. */
export function notUnique(view: string, key: readonly string[]): string {
  return `${key.join(', ')} of the view ${view} are not unique, or null`
}

/** Says that nobody knows whether the key of a view is unique. */
export function notTold(view: string, key: readonly string[], error: unknown): string {
  return `whether ${key.join(', ')} of the view ${view} are unique could not be told: ${messageOf(error)}`
}

/** Returns what is asked of PostgreSQL on a connection. */
export function lookOf(client: PoolClient): SourceLook {
  return {
    login: () => readLogin(client),
    tables: (names) => (names ? readTables(client, names) : readAllTables(client)),
    uniqueness: (name, key) => uniquenessIn(client, name, key),
    tryOut: async (text) => void (await client.query(text)),
    rows: async (text, values = []) =>
      (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' })).rows,
  }
}

/** Splits the name of a table into schema and name. */
export function tableNameOf(table: string, home: string): TableName {
  const dot = table.indexOf('.')
  return dot < 0 ? [home, table] : [table.slice(0, dot), table.slice(dot + 1)]
}
