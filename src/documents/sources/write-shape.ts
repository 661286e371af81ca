/** How a table is written to, as its doctype says and its login may. */
import { quotedName, type TableShape, type WrittenColumn, type WrittenShape } from '#state/postgres.ts'
import type { Doctype, Origin } from '../platform/platform.ts'
import type { CatalogueColumn, CatalogueTable } from '#sources/catalogue.ts'
import type { Lack } from './lacks.ts'
import type { Problem } from './rule-problems.ts'

/** What became of a comparison. */
export interface Comparison {
  readonly problems: Problem[]
  readonly remarks: Problem[]
  readonly lacks: Lack[]
}

/** Compares what a doctype says may be written with the table; undefined where nothing is. */
export function writeShape(
  { origin, name: doctype }: { readonly origin: Origin } & Pick<Doctype, 'name'>,
  table: CatalogueTable,
  shape: Pick<TableShape, 'dialect' | 'fields'>,
  told: Comparison,
): WrittenShape | undefined {
  const { write, file } = origin
  if (Object.keys(write).length === 0) return undefined
  const at = (path: Problem['path'], message: string): void =>
    void told.problems.push({ file, path: ['from', 'write', ...path], message })
  const name = `${table.schema}.${table.name}`
  const lack: Lacking = (path, privilege, of, needed, field) => {
    const message = `the login of the source "${origin.source}" lacks ${privilege}${of} on ${name}, which writing ${doctype} needs`
    const more = { file, path: ['from', 'write', ...path], privilege, needed }
    told.lacks.push({ message, ...more, ...(field !== undefined && { field }) })
  }
  if (table.engine !== undefined)
    at([], `${name} is kept by ${table.engine}, which has no transactions: ALTER TABLE ${name} ENGINE=InnoDB`)
  if (table.isView) at([], `${name} is a view, which is only read: name the table below it`)
  const columnOf = (field: string): CatalogueColumn | undefined =>
    table.columns.find((one) => one.name === origin.columns[field]?.column)
  const written = (kind: 'create' | 'change'): Map<string, WrittenColumn> =>
    new Map(
      (write[kind] ?? []).flatMap((field, index): [string, WrittenColumn][] => {
        const column = columnOf(field)
        const value = shape.fields.get(field)
        if (!column || !value || !('kind' in value)) return []
        if (column.generated) at([kind, index], `the database itself gives "${column.name}" its value`)
        if (value.kind.is === 'json' && column.type.startsWith('_'))
          at([kind, index], `"${column.name}" is a ${column.written}, which is only read`)
        const isOpen = kind === 'create' ? column.insertable : column.updatable
        if (!isOpen)
          lack([kind, index], kind === 'create' ? 'INSERT' : 'UPDATE', ` (${column.name})`, kind, field)
        return [[field, { name: quotedName(column.name), value, ...limitsOf(column) }]]
      }),
    )
  if (write.delete && !table.deletable) lack(['delete'], 'DELETE', '', 'delete')
  if ((write.delete || write.change) && !table.lockable)
    lack([write.delete ? 'delete' : 'change'], 'UPDATE', ' of any column, by which a row is locked,', 'lock')
  const version = origin.version === undefined ? undefined : columnOf(origin.version)
  if (version && write.change && !version.updatable) lack([], 'UPDATE', ` (${version.name})`, 'change')
  const creates = written('create')
  if (write.create) checkNew(origin, table, shape, told, lack)
  const value = origin.version === undefined ? undefined : shape.fields.get(origin.version)
  return {
    table: `${quotedName(table.schema)}.${quotedName(table.name)}`,
    key: origin.key.map(quotedName),
    creates,
    changes: written('change'),
    ...(version &&
      value &&
      'kind' in value && { version: { name: quotedName(version.name), value, ...limitsOf(version) } }),
  }
}

/** Notes what is lacking: its place, the privilege and on what, what needs it, and the one field whose writing does. */
type Lacking = (
  path: Problem['path'],
  privilege: string,
  of: string,
  needed: Lack['needed'],
  field?: string,
) => void

/** Checks that a new row gets everything that it needs. */
function checkNew(
  origin: Origin,
  table: CatalogueTable,
  { dialect }: Pick<TableShape, 'dialect'>,
  { problems, remarks }: Comparison,
  lack: Lacking,
): void {
  const { write, file, key } = origin
  const create = write.create ?? []
  const place = { file, path: ['from', 'write', 'create'] }
  const given = new Set([
    ...create.map((field) => origin.columns[field]?.column),
    ...(create.includes('name') ? key : []),
  ])
  for (const column of table.columns) {
    const { name, nullable, filled, generated, numbered = false } = column
    const isKey = key.includes(name)
    if (given.has(name)) {
      if (isKey && generated)
        problems.push({ ...place, message: `the database itself gives "${name}" its value: leave name out` })
      else if (isKey && !column.insertable) lack(['create'], 'INSERT', ` (${name})`, 'create', 'id')
    } else if (filled && isKey && !numbered && !dialect.writing.tellsKey)
      problems.push({
        ...place,
        message: `nobody is told what the database gives "${name}" of the key of a new row: add name, or its field`,
      })
    else if (filled) {
      if (!column.drawable) lack(['create'], 'USAGE', ` of the sequence of "${name}"`, 'create')
    } else if (isKey)
      problems.push({
        ...place,
        message: `nothing gives a new row "${name}" of its key: add name, or its field`,
      })
    else if (!nullable)
      remarks.push({
        ...place,
        message: `"${name}" may not be null, has no default and is not given: a new row is refused unless a trigger fills it`,
      })
  }
}

const beyond: Readonly<Record<string, number>> = { int2: 2 ** 15, int4: 2 ** 31, int8: 2 ** 63 }

function limitsOf({
  type,
  kind,
  written,
  precision,
  scale,
  labels,
}: CatalogueColumn): Partial<WrittenColumn> {
  const length = /^(?:character(?: varying)?|(?:var)?char)\((\d+)\)$/.exec(written)?.[1]
  const most = precision === null ? beyond[type] : 10 ** (precision - (scale ?? 0))
  // MySQL keeps whole seconds where nothing is said.
  const digits = /^(?:datetime|timestamp)$/.test(written) ? '0' : /\((\d)\)/.exec(written)?.[1]
  return {
    ...(type.startsWith('timestamp') && Number(digits ?? 6) < 3 && { coarse: true }),
    ...(length !== undefined && { length: Number(length) }),
    ...(most !== undefined && !written.includes('unsigned') && { beyond: most }),
    ...(kind === 'e' && { labels }),
  }
}
