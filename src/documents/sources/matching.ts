/** Compares a doctype with the table that it names, and makes of both what questions are translated over. */
import {
  columnSql,
  quoted,
  quotedName,
  type RowsShape,
  type TableShape,
  type Value,
} from '#state/postgres.ts'
import type { Doctype, Origin, OriginColumn, OriginRows } from '../platform/platform.ts'
import {
  type CatalogueColumn,
  type CatalogueLogin,
  type CatalogueTable,
  type TableName,
  tableNameOf,
} from '#sources/catalogue.ts'
import { kindOf } from './column-types.ts'
import type { Lack } from './lacks.ts'
import { large, type Problem, ruleProblems } from './rule-problems.ts'
import { type Comparison, writeShape } from './write-shape.ts'

/** What came of a comparison: with problems the doctype cannot be read, with lacks not all written; remarks are worth telling. */
export interface Match extends Comparison {
  readonly shape: TableShape
  /** True if who asks must be told to the database. */
  readonly tells: boolean
}

/** Returns the tables that a doctype needs. */
export function tablesOf({ table, columns, rows }: Origin, home: string): readonly TableName[] {
  const through = Object.values(columns).flatMap((column) => column.through?.table ?? [])
  const names = [table, ...through, ...Object.values(rows).map((one) => one.table)]
  return [...new Set(names)].map((name) => tableNameOf(name, home))
}

/** Compares; `found` has what there is of the tables. */
export function match(
  doctype: Doctype & { readonly origin: Origin },
  login: CatalogueLogin,
  found: readonly CatalogueTable[],
  uniqueness: ReadonlyMap<string, string>,
): Match {
  return new Matching(doctype, login, found, uniqueness).match()
}

class Matching {
  readonly #doctype: Doctype & { readonly origin: Origin }
  readonly #login: CatalogueLogin
  readonly #found: readonly CatalogueTable[]
  /** Why the key of a view is not unique, by its name. */
  readonly #uniqueness: ReadonlyMap<string, string>
  readonly #problems: Problem[] = []
  readonly #remarks: Problem[] = []
  readonly #lacks: Lack[] = []
  readonly #joins = new Map<string, { readonly alias: string; readonly sql: string }>()

  constructor(
    doctype: Doctype & { readonly origin: Origin },
    login: CatalogueLogin,
    found: readonly CatalogueTable[],
    uniqueness: ReadonlyMap<string, string>,
  ) {
    this.#doctype = doctype
    this.#login = login
    this.#found = found
    this.#uniqueness = uniqueness
  }

  match(): Match {
    const { origin } = this.#doctype
    const { file } = origin
    const at = (path: Problem['path']) => (message: string) =>
      void this.#problems.push({ file, path, message })
    if (this.#login.isState)
      at(['from', 'source'])(
        'is a database with the state of this service or of one like it, which documents never lie in',
      )
    if (this.#login.above)
      at(['from', 'source'])(
        `its login "${this.#login.name}" is a superuser or has BYPASSRLS: take one that row-level security binds`,
      )
    if (this.#login.refusal !== undefined) at(['from', 'source'])(this.#login.refusal)
    const { remark: message } = this.#login
    if (message !== undefined) this.#remarks.push({ file, path: ['from', 'source'], message })
    const table = this.#table(origin.table, at(['from', 'table']))
    const { dialect } = this.#login
    const empty: TableShape = { dialect, from: '', key: [], fields: new Map(), searched: [] }
    const told = { problems: this.#problems, remarks: this.#remarks, lacks: this.#lacks }
    if (!table) return { shape: empty, tells: false, ...told }
    const key = origin.key.flatMap((name, index) =>
      this.#keyColumn(table, 'd', name, at(['from', 'key', index])),
    )
    this.#requireUnique(table, origin.key, at(['from', 'key']))
    const fields = new Map<string, Value | RowsShape>()
    for (const [name, column] of Object.entries(origin.columns)) {
      const value = this.#field(table, column)
      if (value) fields.set(name, value)
    }
    for (const [name, rows] of Object.entries(origin.rows)) {
      const shape = this.#rows(rows, key)
      if (shape) fields.set(name, shape)
    }
    const from = [`${sqlName(table)} AS d`, ...[...this.#joins.values()].map(({ sql }) => sql)].join(' ')
    const written = writeShape(this.#doctype, table, { dialect, fields }, told)
    const shape = { dialect, from, key, fields, searched: origin.search, ...(written && { written }) }
    if (this.#problems.length === 0) {
      const { problems, remarks } = ruleProblems(this.#doctype, table, shape)
      this.#problems.push(...problems)
      this.#remarks.push(...remarks)
    }
    const tells = this.#found.some(({ isView, secured }) => isView || secured)
    return { shape, tells, ...told }
  }

  #table(name: string, wrong: (message: string) => void): CatalogueTable | undefined {
    const [schema, table] = tableNameOf(name, this.#login.home)
    const found = this.#found.find((one) => one.schema === schema && one.name === table)
    if (!found) wrong(`there is no table or view ${schema}.${table} any more, or its login may not see it`)
    else if (!found.readable) wrong(`its login may not read ${schema}.${table}`)
    else if (found.passed)
      wrong(`its login owns ${schema}.${table}, whose row-level security binds its owner only by FORCE`)
    else return found
    return undefined
  }

  #column(
    table: CatalogueTable,
    name: string,
    wrong: (message: string) => void,
  ): CatalogueColumn | undefined {
    const found = table.columns.find((one) => one.name === name)
    if (!found) wrong(`${table.schema}.${table.name} has no column "${name}"`)
    return found
  }

  #keyColumn(
    table: CatalogueTable,
    alias: string,
    name: string,
    wrong: (message: string) => void,
  ): Value | [] {
    const column = this.#column(table, name, wrong)
    if (!column) return []
    const kind = kindOf(column, { type: 'text' }, 'UTC')
    if (typeof kind === 'string' || (kind.is === 'text' && kind.type === 'other')) {
      wrong(`${name} is a ${column.written}: a key is text, a whole number or a uuid`)
      return []
    }
    return { column: columnSql(alias, name), kind, nullable: false, dialect: this.#login.dialect }
  }

  /** A key is unique and never null, which an index tells; of a view it was looked at. */
  #requireUnique(table: CatalogueTable, key: readonly string[], wrong: (message: string) => void): void {
    const name = `${table.schema}.${table.name}`
    if (table.isView) {
      const why = this.#uniqueness.get(name)
      if (why !== undefined) wrong(why)
      return
    }
    const nullable = key.find((one) => table.columns.some((column) => column.name === one && column.nullable))
    if (nullable !== undefined) wrong(`${nullable} may be null: a key never is`)
    if (!table.unique.some((columns) => columns.every((one) => key.includes(one))))
      wrong(`no unique index of ${name} has ${key.join(', ')} alone`)
  }

  #field(table: CatalogueTable, { column: name, through, ...field }: OriginColumn): Value | undefined {
    const wrong = this.#at(field, through ? 'through' : 'column')
    const place = through ? this.#join(table, through, wrong) : { table, alias: 'd' }
    if (!place) return undefined
    return this.#value(place.table, place.alias, name, field, through !== undefined)
  }

  #value(
    table: CatalogueTable,
    alias: string,
    name: string,
    field: Omit<OriginColumn, 'column' | 'through'>,
    isJoined: boolean,
  ): Value | undefined {
    const column = this.#column(table, name, this.#at(field, 'column'))
    if (!column) return undefined
    const kind = kindOf(column, field, this.#doctype.origin.timeZone)
    if (typeof kind === 'string') {
      this.#at(field, 'type')(`the column "${name}" ${kind}`)
      return undefined
    }
    const remark = (key: string, message: string): void =>
      void this.#remarks.push({ file: field.file, path: pathOf(field, key), message })
    const missing = field.type === 'select' ? column.labels.filter((one) => !field.options.includes(one)) : []
    if (missing.length > 0) remark('options', `the enumeration has ${missing.join(', ')} as well`)
    if (field.required && column.nullable) remark('required', `the column "${name}" may be null`)
    if (kind.is === 'float' && kind.type === 'numeric' && column.precision !== null)
      remark(
        'type',
        `the column "${name}" is a ${column.written}: digits beyond the fifteenth are rounded; a text shows all`,
      )
    const { dialect, zones } = this.#login
    const isZoned = kind.is === 'moment' && kind.zone !== undefined && kind.zone !== 'UTC'
    if (isZoned && !zones)
      this.#at(
        field,
        'column',
      )(
        `the column "${name}" has times of ${kind.zone}, and its database knows no time zones: load them with mysql_tzinfo_to_sql`,
      )
    const nullable = isJoined || column.nullable || (isZoned && dialect.flat) // What MySQL cannot convert.
    return { column: columnSql(alias, name), kind, nullable, dialect }
  }

  #join(
    table: CatalogueTable,
    { column, table: name, key }: NonNullable<OriginColumn['through']>,
    wrong: (message: string) => void,
  ): { readonly table: CatalogueTable; readonly alias: string } | undefined {
    const here = this.#column(table, column, wrong)
    const there = this.#table(name, wrong)
    if (!here || !there) return undefined
    const to = key ?? there.unique.find(({ length }) => length === 1)?.[0]
    if (to === undefined) {
      wrong(`say which column of ${name} is its key`)
      return undefined
    }
    const target = this.#column(there, to, wrong)
    if (!target) return undefined
    if (!there.unique.some((columns) => columns.length === 1 && columns[0] === to)) {
      wrong(`no unique index of ${name} has ${to} alone: a row would stand for several documents`)
      return undefined
    }
    const id = JSON.stringify([column, name, to])
    let join = this.#joins.get(id)
    if (!join) {
      const alias = `j${this.#joins.size}`
      const sql = `LEFT JOIN ${sqlName(there)} AS ${alias} ON ${columnSql(alias, to)} = ${columnSql('d', column)}`
      this.#joins.set(id, (join = { alias, sql }))
    }
    return { table: there, alias: join.alias }
  }

  #rows(
    { table: name, parent, key, order, only, columns, file, path }: OriginRows,
    of: readonly Value[],
  ): RowsShape | undefined {
    const at = (key: string) => (message: string) =>
      void this.#problems.push({ file, path: [...path, key], message })
    const table = this.#table(name, at('table'))
    if (!table) return undefined
    if (parent.length !== of.length)
      at('parent')(`needs as many columns as the key of the document, ${of.length}`)
    const named = [...parent, ...key, ...order, ...Object.keys(only)].filter(
      (one) => !this.#column(table, one, at('parent')),
    )
    const parts = key.flatMap((one) => this.#keyColumn(table, 'r', one, at('key')))
    const found = Object.entries(columns).flatMap(([field, { column, ...told }]): [string, Value][] => {
      const value = this.#value(table, 'r', column, told, false)
      return value ? [[field, value]] : []
    })
    if (named.length > 0 || parts.length < key.length || parent.length !== of.length) return undefined
    if (!table.indexed.includes(parent[0]!) && table.rows > large)
      this.#remarks.push({
        file,
        path: [...path, 'parent'],
        message: `no index of ${name} begins with ${parent[0]!}`,
      })
    const belongs = parent.map((one, index) => `${columnSql('r', one)} = ${of[index]!.column}`)
    for (const [one, held] of Object.entries(only))
      belongs.push(this.#login.dialect.among(columnSql('r', one), [quoted(held)]))
    const [first, ...others] = parts
    return {
      rows: true,
      from: `${sqlName(table)} AS r WHERE ${belongs.join(' AND ')}`,
      order: [...new Set([...order, ...key])].map((one) => columnSql('r', one)).join(', '),
      name: others.length === 0 ? first! : joined(parts),
      columns: new Map(found),
    }
  }

  #at(field: Pick<OriginColumn, 'file' | 'path'>, key: string): (message: string) => void {
    return (message) => void this.#problems.push({ file: field.file, path: pathOf(field, key), message })
  }
}

/** Standard fields have no keys of their own: their place is the field. */
function pathOf({ path }: Pick<OriginColumn, 'path'>, key: string): Problem['path'] {
  return path[0] === 'fields' ? [...path, key] : path
}

function joined(parts: readonly Value[]): Value {
  const { dialect } = parts[0]!
  return {
    column: `(${parts.map(({ column }) => dialect.columnText(column, false)).join(" || '/' || ")})`,
    kind: { is: 'text', type: 'text' },
    nullable: false,
    dialect,
  }
}

function sqlName({ schema, name }: CatalogueTable): string {
  return `${quotedName(schema)}.${quotedName(name)}`
}
