/**
 * The table in a database of others that keeps which calls wrote there and what they gave, in the transaction of what they
 * wrote: a call that is sent again is answered from it, and never writes twice. Where a database does not tell what became of
 * a transaction, each that writes leaves a mark in it. Its owner makes it, this program never.
 */
import { AppError } from '#leaf/errors.ts'
import { type Queryable, quotedName } from '#state/postgres.ts'
import type { Source } from './source.ts'
import type { TransactionThere } from './in-writing.ts'
import { type CatalogueTable, tableNameOf } from './catalogue.ts'

/** The table, in the words of its kind of database. */
export interface WriteKeys {
  readonly table: string
  readonly words: Words
}

interface Words {
  /** The types of its columns, as the catalogue has them. */
  readonly columns: ReadonlyMap<string, string>
  /** The moment before which keys are too old: a day, as everywhere, and an hour in which the clocks of the two may differ. */
  readonly old: string
  /** Inserts `$1` and `$2`, and gives a row where nobody has the key. */
  insert(table: string): string
  ddl(name: readonly [schema: string, table: string], login: Pick<Source, 'role' | 'user'>): readonly string[]
}

const columns = { key: 'text', call: 'text', outcome: 'text', made_at: 'timestamptz' }

const postgres: Words = {
  columns: new Map(Object.entries(columns)),
  old: "now() - interval '25 hours'",
  insert: (table) =>
    `INSERT INTO ${table} ("key", "call") VALUES ($1, $2) ON CONFLICT ("key") DO NOTHING RETURNING 1`,
  ddl: (name, { role, user }) => {
    const login = quotedName(role ?? user)
    const [schema, table] = name.map(quotedName) as [string, string]
    return [
      `CREATE TABLE ${schema}.${table} (key text PRIMARY KEY, call text NOT NULL, outcome text, made_at timestamptz NOT NULL DEFAULT now());`,
      `CREATE INDEX ON ${schema}.${table} (made_at);`,
      `GRANT USAGE ON SCHEMA ${schema} TO ${login};`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.${table} TO ${login};`,
    ]
  },
}

const mysql: Words = {
  // Bytes, which no collation takes for others.
  columns: new Map(Object.entries({ ...columns, key: 'varbinary' })),
  old: 'UTC_TIMESTAMP(6) - INTERVAL 25 HOUR',
  insert: (table) => `INSERT IGNORE INTO ${table} ("key", "call") VALUES ($1, $2)`,
  ddl: (name, { role, user }) => {
    const table = name.map((one) => `\`${one}\``).join('.')
    const login = role === undefined ? `'${user.replaceAll("'", "''")}'@'%'` : `\`${role}\``
    return [
      `CREATE TABLE ${table} (\`key\` varbinary(255) PRIMARY KEY, \`call\` text NOT NULL, outcome longtext, made_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), INDEX (made_at)) ENGINE=InnoDB CHARACTER SET utf8mb4;`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${login};`,
    ]
  },
}

/** Returns the table that a source names. */
export function writeKeysIn({ type, write_keys: table }: Source): WriteKeys | undefined {
  return table === undefined ? undefined : { table, words: type === 'postgres' ? postgres : mysql }
}

/** The most keys that a call removes of those that are older. */
const mostRemoved = 100

/** Returns the statements with which the owner of a database makes the table. */
export function writeKeysDdl(
  { table, words }: WriteKeys,
  login: Pick<Source, 'role' | 'user'>,
): readonly string[] {
  return words.ddl(tableNameOf(table, ''), login)
}

/** Returns what keeps a table from being used; its columns are as the catalogue has them. */
export function wrongWith(
  { table: named, words: { columns } }: WriteKeys,
  found: readonly CatalogueTable[],
): readonly string[] {
  const [schema, name] = tableNameOf(named, '')
  const table = found.find((one) => one.schema === schema && one.name === name)
  if (!table) return ['is not there, or its login may not see it']
  if (table.isView) return ['is a view']
  if (table.secured) return ['has row-level security, which could hide a key']
  const wrong: string[] = []
  if (table.engine !== undefined) wrong.push(`is kept by ${table.engine}, which has no transactions`)
  for (const [name, type] of columns) {
    const found = table.columns.find((one) => one.name === name)
    if (found?.type !== type) wrong.push(`has no column ${name} of the type ${type}`)
    else if (!found.insertable || !found.updatable)
      wrong.push(`lets its login not INSERT and UPDATE (${name})`)
  }
  const made = table.columns.find(({ name }) => name === 'made_at')
  if (made && !made.filled) wrong.push('has no default for made_at')
  const more = table.columns.find((one) => !columns.has(one.name) && !one.nullable && !one.filled)
  if (more) wrong.push(`has a column ${more.name} that nothing fills`)
  if (!table.unique.some((one) => one.length === 1 && one[0] === 'key'))
    wrong.push('has no unique index of key alone')
  if (!table.readable) wrong.push('lets its login not SELECT')
  if (!table.deletable) wrong.push('lets its login not DELETE')
  return wrong
}

/** Takes the key of a call, or returns what the call gave that took it before, if it was the same, which is waited for while it is under way. */
export async function takeKey(
  on: Queryable,
  { table, words }: WriteKeys,
  { id, call }: { readonly id: string; readonly call: string },
): Promise<{ readonly value?: unknown } | 'different' | undefined> {
  const at = sqlName(table)
  await on.rows({ text: `DELETE FROM ${at} WHERE "key" = $1 AND made_at < ${words.old}`, values: [id] })
  const taken = await on.rows({ text: words.insert(at), values: [id, call] })
  if (taken.length > 0) return undefined
  const [row] = await on.rows({ text: `SELECT "call", outcome FROM ${at} WHERE "key" = $1`, values: [id] })
  const [of, outcome] = (row ?? []) as [string?, string?]
  if (typeof outcome !== 'string')
    throw new AppError('conflict', 'this call was made before, and its key was removed just now')
  if (of !== call) return 'different'
  return JSON.parse(outcome) as { readonly value?: unknown }
}

/** Keeps what a call gave. */
export async function keepOutcome(
  on: Queryable,
  { table }: WriteKeys,
  id: string,
  value: unknown,
): Promise<void> {
  const text = `UPDATE ${sqlName(table)} SET outcome = $1 WHERE "key" = $2`
  await on.rows({ text, values: [JSON.stringify({ value }), id] })
}

/** Removes keys that nobody asks for any more. */
export async function removeOldKeys(on: Queryable, { table, words }: WriteKeys): Promise<void> {
  const at = sqlName(table)
  const text = `SELECT "key" FROM ${at} WHERE made_at < ${words.old} LIMIT ${mostRemoved} FOR UPDATE SKIP LOCKED`
  const values = (await on.rows({ text, values: [] })).map(([key]) => key)
  const places = values.map((_, index) => `$${index + 1}`).join(', ')
  if (values.length > 0) await on.rows({ text: `DELETE FROM ${at} WHERE "key" IN (${places})`, values })
}

/** Leaves the mark of a transaction. */
export async function leaveMark(on: Queryable, keys: WriteKeys, id: string): Promise<void> {
  await takeKey(on, keys, { id, call: 'transaction' })
  await removeOldKeys(on, keys)
}

/**
 * Tells whether a transaction left its mark, which is waited for while it is under way; undefined for one without a mark that
 * was begun so long ago that it may have been removed.
 */
export async function hasMark(
  on: Queryable,
  { table, words }: WriteKeys,
  { transaction, time }: TransactionThere,
): Promise<boolean | undefined> {
  const text = `SELECT 1 FROM ${sqlName(table)} WHERE "key" = $1 FOR UPDATE`
  if ((await on.rows({ text, values: [transaction] })).length > 0) return true
  const begun = time.slice(0, 19).replace('T', ' ')
  const isOld = `SELECT 1 FROM (SELECT 1) AS one WHERE $1 < ${words.old} + INTERVAL 1 HOUR`
  return (await on.rows({ text: isOld, values: [begun] })).length > 0 ? undefined : false
}

function sqlName(table: string): string {
  return tableNameOf(table, '').map(quotedName).join('.')
}
