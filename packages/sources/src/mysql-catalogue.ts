/** What a MySQL or MariaDB says of its tables, in the words of the catalogue that doctypes are compared with. */
import { mysqlDialect, quotedName } from '#state/postgres.ts'
import {
  type CatalogueLogin,
  type CatalogueReference,
  type CatalogueTable,
  notTold,
  notUnique,
  type SourceLook,
  type TableName,
} from './catalogue.ts'
import { mysqlColumn, withNames } from './mysql-columns.ts'

type Row = readonly unknown[]
type Ask = (text: string, values?: Row) => Promise<readonly Row[]>
/** Tells whether the login may run a statement, which is not run. */
type May = (text: string) => Promise<boolean>

/** What the login may do with whole rows, also by its roles, is told by whether a statement is taken. */
async function withRights(table: CatalogueTable, may: May): Promise<CatalogueTable> {
  if (table.isView) return table
  const name = `${quotedName(table.schema)}.${quotedName(table.name)}`
  const deletable = await may(`DELETE FROM ${name} WHERE false`)
  const isChanged = table.columns.some(({ updatable }) => updatable)
  return { ...table, deletable, lockable: isChanged || deletable }
}

/** Returns what is asked of MySQL or MariaDB. */
export function mysqlLook(
  ask: Ask,
  may: May,
  { isMaria, writes }: { readonly isMaria: boolean; readonly writes: boolean },
): SourceLook {
  return {
    login: () => readLogin(ask, isMaria, writes),
    tables: async (names) => {
      const tables = await readTables(ask, isMaria, names)
      if (!names || !writes) return tables
      const found: CatalogueTable[] = []
      for (const table of tables) found.push(await withRights(table, may))
      return found
    },
    uniqueness: async ([schema, name], key) => {
      const columns = key.map(quotedName)
      const nulls = columns.map((one) => `${one} IS NULL`).join(' OR ')
      const text = `SELECT 1 FROM ${quotedName(schema)}.${quotedName(name)} GROUP BY ${columns.join(', ')}
        HAVING count(*) > 1 OR max(${nulls}) LIMIT 1`
      try {
        return (await ask(text)).length > 0 ? notUnique(`${schema}.${name}`, key) : undefined
      } catch (error) {
        return notTold(`${schema}.${name}`, key, error)
      }
    },
    tryOut: async (text) => void (await ask(text)),
    rows: ask,
  }
}

/** The oldest versions whose sessions can be set as questions need it. */
const oldest = { maria: [10, 6], mysql: [8, 0, 17] } as const

async function readLogin(ask: Ask, isMaria: boolean, isWritten: boolean): Promise<CatalogueLogin> {
  const [[name, version, home, zones] = []] = await ask(
    `SELECT CURRENT_USER(), VERSION(), DATABASE(), CONVERT_TZ('2026-07-01 00:00:00', 'Europe/Berlin', '+00:00') IS NOT NULL`,
  )
  const [number = ''] = /\d+(?:\.\d+)*/.exec(String(version)) ?? []
  const least = isMaria ? oldest.maria : oldest.mysql
  const may = privilegesIn((await ask('SHOW GRANTS')).map(([grant]) => String(grant)))
  const much = ['SUPER', 'FILE', 'ALL PRIVILEGES'].find((one) => may.everywhere.has(one))
  const writes = [...may.anywhere].filter((one) => (isWritten ? making : writing).test(one))
  return {
    name: String(name),
    above: false,
    isState: false,
    version: Number(number.split('.')[0]),
    refusal: isBefore(number, least)
      ? `is ${isMaria ? 'MariaDB' : 'MySQL'} ${number}, and the oldest that can be asked is ${least.join('.')}`
      : much && `has a login, ${String(name)}, that has ${much} everywhere: take one that may only SELECT`,
    remark:
      writes.length > 0
        ? `the login ${String(name)} may ${writes.join(', ')}: nothing here does, and one that may ${isWritten ? 'not' : 'only SELECT'} is safer`
        : undefined,
    home: String(home),
    zones: zones === 1,
    dialect: mysqlDialect,
  }
}

function isBefore(version: string, least: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  const at = least.findIndex((one, index) => (parts[index] ?? 0) !== one)
  return at >= 0 && (parts[at] ?? 0) < least[at]!
}

const making = /^(?:ALL PRIVILEGES|DROP|ALTER|CREATE|TRIGGER|EXECUTE)$/
const writing = new RegExp(`${making.source}|^(?:INSERT|UPDATE|DELETE)$`)

/** Returns the privileges that grants name, on everything and on anything. */
function privilegesIn(grants: readonly string[]): Record<'everywhere' | 'anywhere', Set<string>> {
  const found = { everywhere: new Set<string>(), anywhere: new Set<string>() }
  for (const grant of grants) {
    const [, list = '', on] = /^GRANT (.+?) ON (\S+) TO /s.exec(grant) ?? []
    for (const one of list.split(/,(?![^(]*\))/).map((part) => part.replace(/\(.*/s, '').trim())) {
      if (one === '') continue
      found.anywhere.add(one)
      if (on === '*.*') found.everywhere.add(one)
    }
  }
  return found
}

function grouped<K>(rows: readonly Row[], keyOf: (row: Row) => K): ReadonlyMap<K, readonly Row[]> {
  const groups = new Map<K, Row[]>()
  for (const row of rows) {
    const key = keyOf(row)
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return groups
}

/** Groups rows by the schema and name of a table, which come first. */
function byTable(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  return grouped(rows, ([schema, name]) => JSON.stringify([schema, name]))
}

async function readTables(
  ask: Ask,
  isMaria: boolean,
  names?: readonly TableName[],
): Promise<readonly CatalogueTable[]> {
  const values = names?.flat() ?? []
  const chosen = (schema: string, name: string): string => {
    if (!names) return `${schema} = DATABASE()`
    const pairs = names.map((_, index) => `($${index * 2 + 1}, $${index * 2 + 2})`)
    return pairs.length === 0 ? 'false' : `(${schema}, ${name}) IN (${pairs.join(', ')})`
  }
  const of = (columns: string, table: string, order: string): Promise<readonly Row[]> =>
    ask(
      `SELECT table_schema, table_name, ${columns} FROM information_schema.${table}
       WHERE ${chosen('table_schema', 'table_name')} ORDER BY table_schema, table_name, ${order}`,
      values,
    )
  const tables = await of('table_type, table_rows, table_comment, engine', 'tables', 'table_type')
  const columns = byTable(
    await of(
      `column_name, data_type, column_type, is_nullable, extra, numeric_precision, numeric_scale, column_comment,
        column_default, privileges`,
      'columns',
      'ordinal_position',
    ),
  )
  const indexes = byTable(
    await of(
      'index_name, column_name, non_unique, sub_part, index_type',
      'statistics',
      'index_name, seq_in_index',
    ),
  )
  const references = byTable(await referencesOf(ask, chosen, values))
  const checks = byTable(await checksOf(ask, isMaria, chosen, values))
  return tables
    .filter(([, , type]) => type !== 'SEQUENCE')
    .map(([schema, name, type, rows, comment, engine]): CatalogueTable => {
      const id = JSON.stringify([schema, name])
      const clauses = (checks.get(id) ?? []).map(([, , clause]) => withNames(String(clause)))
      return {
        schema: String(schema),
        name: String(name),
        isView: type === 'VIEW',
        rows: Number(rows ?? 0),
        readable: true,
        // Asked of what is written to.
        deletable: true,
        lockable: true,
        secured: false,
        ...(type !== 'VIEW' && engine !== 'InnoDB' && { engine: String(engine) }),
        passed: false,
        comment: type === 'VIEW' || comment === '' ? null : String(comment),
        columns: (columns.get(id) ?? []).map((row) => mysqlColumn(row, clauses)),
        ...indexesOf(indexes.get(id) ?? []),
        references: referencesIn(references.get(id) ?? []),
        checks: [],
      }
    })
}

type Chosen = (schema: string, name: string) => string

async function referencesOf(ask: Ask, chosen: Chosen, values: Row): Promise<readonly Row[]> {
  const rows = await ask(
    `SELECT k.table_schema, k.table_name, k.constraint_name, k.column_name, k.referenced_table_schema,
       k.referenced_table_name, k.referenced_column_name, r.delete_rule
     FROM information_schema.key_column_usage k LEFT JOIN information_schema.referential_constraints r
       ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name
     WHERE ${chosen('k.table_schema', 'k.table_name')} AND k.referenced_table_name IS NOT NULL
     ORDER BY k.constraint_name, k.ordinal_position`,
    values,
  )
  // MariaDB tells those who only read what becomes of rows in its statement alone.
  const untold = new Map<string, Promise<string>>()
  for (const [schema, name, , , , , , rule] of rows) {
    const table = `${quotedName(String(schema))}.${quotedName(String(name))}`
    if (rule === null && !untold.has(table))
      untold.set(
        table,
        ask(`SHOW CREATE TABLE ${table}`).then(([made]) => String(made?.[1])),
      )
  }
  return await Promise.all(
    rows.map(async (row) => {
      const text = await untold.get(`${quotedName(String(row[0]))}.${quotedName(String(row[1]))}`)
      const line = text?.split('\n').find((one) => one.includes(`CONSTRAINT ${quotedName(String(row[2]))} `))
      return line === undefined
        ? row
        : [...row.slice(0, -1), /ON DELETE CASCADE/.test(line) ? 'CASCADE' : 'RESTRICT']
    }),
  )
}

function checksOf(ask: Ask, isMaria: boolean, chosen: Chosen, values: Row): Promise<readonly Row[]> {
  if (isMaria)
    return ask(
      `SELECT constraint_schema, table_name, check_clause FROM information_schema.check_constraints
       WHERE ${chosen('constraint_schema', 'table_name')}`,
      values,
    )
  return ask(
    `SELECT t.table_schema, t.table_name, c.check_clause
     FROM information_schema.check_constraints c JOIN information_schema.table_constraints t
       ON t.constraint_schema = c.constraint_schema AND t.constraint_name = c.constraint_name
     WHERE ${chosen('t.table_schema', 't.table_name')} AND t.constraint_type = 'CHECK'`,
    values,
  )
}

function indexesOf(rows: readonly Row[]): Pick<CatalogueTable, 'unique' | 'indexed'> {
  const all = [...grouped(rows, ([, , index]) => index).values()]
  const whole = all.filter((parts) =>
    parts.every(([, , , column, , part, type]) => column !== null && part === null && type !== 'FULLTEXT'),
  )
  const unique = whole
    .filter(([first]) => Number(first![4]) === 0)
    .sort((a, b) => Number(b[0]![2] === 'PRIMARY') - Number(a[0]![2] === 'PRIMARY') || a.length - b.length)
  return {
    unique: unique.map((parts) => parts.map(([, , , column]) => String(column))),
    indexed: whole.map(([first]) => String(first![3])),
  }
}

function referencesIn(rows: readonly Row[]): readonly CatalogueReference[] {
  return [...grouped(rows, ([, , constraint]) => constraint).values()].map((parts) => {
    const [, , , , schema, table, , rule] = parts[0]!
    return {
      columns: parts.map(([, , , column]) => String(column)),
      schema: String(schema),
      table: String(table),
      to: parts.map(([, , , , , , to]) => String(to)),
      cascades: rule === 'CASCADE',
    }
  })
}
