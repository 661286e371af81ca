/**
 * The table in a database of others that keeps which calls wrote there and what they gave, in the transaction of what they
 * wrote: a call that is sent again is answered from it, and never writes twice. Its owner makes it, this program never.
 */
import { AppError } from '#leaf/errors.ts'
import { type Queryable, quotedName } from '#state/postgres.ts'
import { type Source, sourcesFile } from '../../site/sources.ts'
import type { ChangeThere } from '../tables-of-others.ts'
import { usedOtherwise } from '../writing/once.ts'
import { type CatalogueTable, tableNameOf } from './catalogue.ts'
import type { Lack } from './lacks.ts'

/** A day, as everywhere, and an hour in which the clocks of the two may differ. */
const keptFor = "interval '25 hours'"
/** The most keys that a call removes of those that are older. */
const mostRemoved = 100

const columns: ReadonlyMap<string, string> = new Map([
  ['key', 'text'],
  ['call', 'text'],
  ['outcome', 'text'],
  ['made_at', 'timestamptz'],
])

/** Returns the statements with which the owner of a database makes the table. */
export function writeKeysDdl(
  table: string,
  { role, user }: Pick<Source, 'role' | 'user'>,
): readonly string[] {
  const [schema, name] = tableNameOf(table, 'public')
  const login = quotedName(role ?? user)
  const made = `${quotedName(schema)}.${quotedName(name)}`
  return [
    `CREATE TABLE ${made} (key text PRIMARY KEY, call text NOT NULL, outcome text, made_at timestamptz NOT NULL DEFAULT now());`,
    `CREATE INDEX ON ${made} (made_at);`,
    `GRANT USAGE ON SCHEMA ${quotedName(schema)} TO ${login};`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${made} TO ${login};`,
  ]
}

/** Tells what keeps the table from being used: calls with a key are then refused. */
export function writeKeysLacks(
  source: string,
  table: string,
  found: readonly CatalogueTable[],
): readonly Lack[] {
  const [schema, name] = tableNameOf(table, 'public')
  const there = found.find((one) => one.schema === schema && one.name === name)
  return wrongWith(there).map((wrong) => ({
    file: sourcesFile,
    path: ['sources', source, 'write_keys'],
    message: `${schema}.${name} ${wrong}, so that no call with an idempotency key writes to "${source}": sources write-keys ${source} prints what makes it`,
    privilege: 'a fit table of write keys',
    needed: 'keys',
  }))
}

function wrongWith(table: CatalogueTable | undefined): readonly string[] {
  if (!table) return ['is not there, or its login may not see it']
  if (table.isView) return ['is a view']
  if (table.secured) return ['has row-level security, which could hide a key']
  const wrong: string[] = []
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

/** Takes the key of a call, or returns what the call gave that took it before, which is waited for while it is under way. */
export async function takeKey(
  on: Queryable,
  table: string,
  { id, call }: NonNullable<ChangeThere['key']>,
): Promise<{ readonly value?: unknown } | undefined> {
  const at = sqlName(table)
  const taken = await on.rows({
    text: `INSERT INTO ${at} AS k (key, call) VALUES ($1, $2) ON CONFLICT (key)
      DO UPDATE SET call = excluded.call, outcome = NULL, made_at = now() WHERE k.made_at < now() - ${keptFor} RETURNING 1`,
    values: [id, call],
  })
  if (taken.length > 0) return undefined
  const [row] = await on.rows({ text: `SELECT call, outcome FROM ${at} WHERE key = $1`, values: [id] })
  const [of, outcome] = (row ?? []) as [string?, string?]
  if (typeof outcome !== 'string')
    throw new AppError('conflict', 'this call was made before, and its key was removed just now')
  if (of !== call) throw new AppError('conflict', usedOtherwise)
  return JSON.parse(outcome) as { readonly value?: unknown }
}

/** Keeps what a call gave, and removes keys that nobody asks for any more. */
export async function keepOutcome(on: Queryable, table: string, id: string, value: unknown): Promise<void> {
  const at = sqlName(table)
  await on.rows({
    text: `UPDATE ${at} SET outcome = $2 WHERE key = $1`,
    values: [id, JSON.stringify({ value })],
  })
  await on.rows({
    text: `DELETE FROM ${at} WHERE key IN (SELECT key FROM ${at} WHERE made_at < now() - ${keptFor} LIMIT ${mostRemoved} FOR UPDATE SKIP LOCKED)`,
    values: [],
  })
}

function sqlName(table: string): string {
  return tableNameOf(table, 'public').map(quotedName).join('.')
}
