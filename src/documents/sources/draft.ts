/** Drafts of doctypes over the tables of a database: what its catalogue tells, and nothing that anybody may read yet. */
import { quotedName } from '#state/postgres.ts'
import { reservedFields } from '../platform/read-fields.ts'
import type { OriginColumn } from '../platform/platform.ts'
import type { CatalogueColumn, CatalogueTable } from '#sources/catalogue.ts'
import { fieldTypeOf, kindOf } from './column-types.ts'

/** A field as a file writes it. */
export type DraftField = Readonly<Record<string, unknown>> & { readonly fieldname: string }

/** A doctype as a file writes it. */
export interface Draft {
  readonly doctype: string
  readonly table: string
  /** The keys of the file, in their order. */
  readonly content: Readonly<Record<string, unknown>>
  readonly fields: readonly DraftField[]
  /** What could not be carried over, and why. */
  readonly left: readonly string[]
}

/** The drafts of a database, and the tables of which there is none. */
export interface Drafts {
  readonly drafts: readonly Draft[]
  readonly left: readonly string[]
}

/** Doctypes that the site has already, by table. */
export type KnownTables = ReadonlyMap<string, string>

/** Drafts doctypes of tables; those of other tables are links where the site has them or they are drafted as well. */
export function draftDoctypes(source: string, tables: readonly CatalogueTable[], known: KnownTables): Drafts {
  const left: string[] = []
  const names = new Map(known)
  const taken = new Set(known.values())
  const fit = tables.filter((table) => {
    const why = refusalOfTable(table)
    if (why === undefined) {
      const name = doctypeName(table)
      const free =
        names.get(tableName(table)) ??
        (taken.has(name) ? doctypeName({ ...table, name: `${table.schema}_${table.name}` }) : name)
      names.set(tableName(table), free)
      taken.add(free)
    } else left.push(`${tableName(table)}: ${why}`)
    return why === undefined
  })
  const drafts = fit.map((table) => draftOf(source, table, { names, tables: fit }))
  return { drafts, left }
}

interface Around {
  readonly names: KnownTables
  readonly tables: readonly CatalogueTable[]
}

/** Returns the name of a table as `from` has it. */
export function tableName({ schema, name }: Pick<CatalogueTable, 'schema' | 'name'>): string {
  return `${schema}.${name}`
}

/** Returns the columns of the key that documents are named by: of the primary key, or of another unique index. */
function keyOf(table: CatalogueTable): readonly string[] | undefined {
  const fits = (name: string): boolean => {
    const column = table.columns.find((one) => one.name === name)
    if (!column || column.nullable) return false
    const kind = kindOf(column, { type: 'text' }, 'UTC')
    return typeof kind === 'object' && kind.is === 'text' && kind.type !== 'other'
  }
  return table.unique.find((columns) => columns.length > 0 && columns.length <= 8 && columns.every(fits))
}

function refusalOfTable(table: CatalogueTable): string | undefined {
  if (!table.readable) return 'the login may not read it'
  if (table.passed) return 'the login owns it, and its row-level security does not bind an owner'
  if (table.isView) return 'is a view, whose key nothing tells: write its doctype by hand'
  return keyOf(table) === undefined
    ? 'has no key of texts, whole numbers or uuids that are never null'
    : undefined
}

/** A table whose rows belong to those of another: its key begins with that of the other, which they go with. */
export function parentOf(
  table: CatalogueTable,
  tables: readonly CatalogueTable[],
): CatalogueTable | undefined {
  const key = keyOf(table) ?? []
  const reference = table.references.find(
    ({ columns, cascades }) =>
      cascades && key.length > columns.length && columns.every((one) => key.includes(one)),
  )
  const parent =
    reference && tables.find((one) => one.schema === reference.schema && one.name === reference.table)
  return parent && keyOf(parent)?.join() === reference.to.join() ? parent : undefined
}

function draftOf(source: string, table: CatalogueTable, around: Around): Draft {
  const { names, tables } = around
  const isChild = parentOf(table, tables) !== undefined
  const key = keyOf(table)!
  const left: string[] = []
  const standard = isChild ? {} : standardColumns(table)
  const used = new Set(Object.values(standard))
  const taken = new Set<string>(reservedFields)
  const fields = table.columns.flatMap((column): DraftField[] => {
    // The name of a document shows its key already.
    if (used.has(column.name) || ((isChild || key.length === 1) && key.includes(column.name))) return []
    const field = fieldOf(table, column, { names, tables, taken })
    if (typeof field !== 'string') return [field]
    left.push(`${column.name} ${field}`)
    return []
  })
  for (const child of tables)
    if (parentOf(child, tables) === table) fields.push(rowsOf(child, table, names, taken))
  const doctype = names.get(tableName(table))!
  const title = fields.find(
    ({ type, fieldname }) =>
      type === 'text' && /(?:^|_)(?:name|title|label|subject|description)$/.test(fieldname),
  )
  const searched = fields.filter(({ fieldname, type }) => type === 'text' && fieldname === title?.fieldname)
  const isText =
    key.length === 1 &&
    /^(?:text|varchar|bpchar)$/.test(table.columns.find(({ name }) => name === key[0])!.type)
  const search = [...(isText ? ['name'] : []), ...searched.map(({ fieldname }) => fieldname)]
  return {
    doctype,
    table: tableName(table),
    fields,
    left,
    content: {
      doctype,
      ...(table.comment !== null && { description: oneLine(table.comment) }),
      ...(isChild
        ? { child: true }
        : {
            ...(title && { title_field: title.fieldname }),
            from: {
              source,
              table: tableName(table),
              key,
              ...(Object.keys(standard).length > 0 && { standard }),
              ...(search.length > 0 && { search }),
            },
          }),
    },
  }
}

/** Columns by whose names everybody means the same. */
const standardNames = {
  creation: /^(?:created_?at|creation|created|created_on|insert(?:ed)?_at)$/i,
  modified: /^(?:updated_?at|modified(?:_at)?|updated|changed_?at|last_modified)$/i,
} as const

function standardColumns(table: CatalogueTable): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, pattern] of Object.entries(standardNames)) {
    const column = table.columns.find((one) => pattern.test(one.name) && /^timestamp(?:tz)?$/.test(one.type))
    if (column) found[name] = column.name
  }
  return found
}

interface FieldAround extends Around {
  /** Names that are taken; the field's is added. */
  readonly taken: Set<string>
}

/** Returns the field that shows a column, or why none does. */
function fieldOf(
  table: CatalogueTable,
  column: CatalogueColumn,
  { names, tables, taken }: FieldAround,
): DraftField | string {
  const link = linkOf(table, column, names, tables)
  const choices = column.labels.length > 0 ? column.labels : choicesOf(table, column)
  const type = link !== undefined ? 'link' : choices ? 'select' : fieldTypeOf(column)
  if (type === undefined) return `is a ${column.written}, which no field shows`
  const precision = type === 'currency' && column.scale !== 2 ? (column.scale ?? undefined) : undefined
  const told: Pick<OriginColumn, 'type' | 'precision'> = {
    type,
    ...(precision !== undefined && { precision }),
  }
  const kind = kindOf(column, told, 'UTC')
  if (typeof kind === 'string') return kind
  const fieldname = freeName(column.name, table.name, taken)
  return {
    fieldname,
    type,
    ...(fieldname !== column.name && { column: column.name }),
    ...(link !== undefined && { doctype: link }),
    ...(choices && link === undefined && { options: choices }),
    ...(precision !== undefined && { precision }),
    ...(!column.nullable && { required: true }),
    ...(column.comment !== null && { description: oneLine(column.comment) }),
  }
}

/** Returns the doctype that a column refers to, by the key that names its documents. */
function linkOf(
  table: CatalogueTable,
  { name }: CatalogueColumn,
  names: KnownTables,
  tables: readonly CatalogueTable[],
): string | undefined {
  const reference = table.references.find(({ columns }) => columns.length === 1 && columns[0] === name)
  if (!reference) return undefined
  const target = tables.find((one) => one.schema === reference.schema && one.name === reference.table)
  if (target && (keyOf(target)?.join() !== reference.to.join() || parentOf(target, tables))) return undefined
  return names.get(`${reference.schema}.${reference.table}`)
}

/** Returns the texts that a check of the table lets a column have. */
function choicesOf(
  { checks }: CatalogueTable,
  { name, type }: CatalogueColumn,
): readonly string[] | undefined {
  if (!/^(?:text|varchar|bpchar)$/.test(type)) return undefined
  for (const check of checks) {
    const [, column, list] =
      /^CHECK \(\(+(\w+|"(?:[^"]|"")+")\)?(?:::text)? = ANY \(+ARRAY\[(.*)\]\)?(?:::text\[\])?\)+$/.exec(
        check,
      ) ?? []
    if (column !== name && column !== quotedName(name)) continue
    const values = [...list!.matchAll(/'((?:[^']|'')*)'::/g)].map(([, value]) => value!.replaceAll("''", "'"))
    if (values.length > 0) return values
  }
  return undefined
}

function rowsOf(
  child: CatalogueTable,
  parent: CatalogueTable,
  names: KnownTables,
  taken: Set<string>,
): DraftField {
  const { columns } = child.references.find(
    ({ schema, table }) => schema === parent.schema && table === parent.name,
  )!
  return {
    fieldname: freeName(`${child.name}_rows`, parent.name, taken),
    type: 'table',
    doctype: names.get(tableName(child))!,
    rows: { table: tableName(child), parent: columns, key: keyOf(child)! },
  }
}

function freeName(name: string, table: string, taken: Set<string>): string {
  const plain = plainName(name)
  const first = plain === '' ? 'field' : taken.has(plain) ? `${plainName(table)}_${plain}` : plain
  let free = first
  for (let n = 2; taken.has(free); n++) free = `${first}_${n}`
  taken.add(free)
  return free
}

function plainName(name: string): string {
  return name
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, 28)
}

function doctypeName({ name }: Pick<CatalogueTable, 'name'>): string {
  const words = name.split(/[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])/).filter(Boolean)
  const text = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join(' ')
  return (/^[A-Z]/.test(text) ? text : `Table ${text}`).slice(0, 60).trimEnd()
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 300)
}
