/** How a table is written to, as its doctype says and its login may. */
import {
  postgresDialect,
  quotedName,
  type TableShape,
  type WrittenColumn,
  type WrittenShape,
} from '#state/postgres.ts'
import type { Doctype, Origin } from '../platform/platform.ts'
import type { CatalogueColumn, CatalogueTable } from './catalogue.ts'
import type { Problem } from './rule-problems.ts'

/** What became of a comparison. */
interface Told {
  readonly problems: Problem[]
  readonly remarks: Problem[]
}

/** Compares what a doctype says may be written with the table; undefined where nothing is. */
export function writeShape(
  { origin }: { readonly origin: Origin } & Pick<Doctype, 'name'>,
  table: CatalogueTable,
  shape: Pick<TableShape, 'dialect' | 'fields'>,
  { problems, remarks }: Told,
): WrittenShape | undefined {
  const { write, file } = origin
  if (Object.keys(write).length === 0) return undefined
  const at = (path: Problem['path'], message: string): void =>
    void problems.push({ file, path: ['from', 'write', ...path], message })
  const name = `${table.schema}.${table.name}`
  const lacks = (privilege: string): string => `its login lacks ${privilege} on ${name}`
  if (shape.dialect !== postgresDialect) at([], 'is only read: tables of PostgreSQL alone are written to')
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
        if (kind === 'create' && !column.insertable) at([kind, index], lacks(`INSERT (${column.name})`))
        if (kind === 'change' && !column.updatable) at([kind, index], lacks(`UPDATE (${column.name})`))
        return [[field, { name: quotedName(column.name), value, ...limitsOf(column) }]]
      }),
    )
  if (write.delete && !table.deletable) at(['delete'], lacks('DELETE'))
  if (write.delete && !table.lockable)
    at(['delete'], lacks('UPDATE of any column, by which a row is locked,'))
  const version = origin.version === undefined ? undefined : columnOf(origin.version)
  if (version && write.change && !version.updatable) at([], lacks(`UPDATE (${version.name})`))
  const creates = written('create')
  if (write.create) checkNew(origin, table, { problems, remarks })
  const value = origin.version === undefined ? undefined : shape.fields.get(origin.version)
  return {
    table: `${quotedName(table.schema)}.${quotedName(table.name)}`,
    key: origin.key.map(quotedName),
    creates,
    changes: written('change'),
    ...(version && value && 'kind' in value && { version: { name: quotedName(version.name), value } }),
  }
}

/** Checks that a new row gets everything that it needs. */
function checkNew(origin: Origin, table: CatalogueTable, { problems, remarks }: Told): void {
  const { write, file, key } = origin
  const create = write.create ?? []
  const place = { file, path: ['from', 'write', 'create'] }
  const given = new Set([
    ...create.map((field) => origin.columns[field]?.column),
    ...(create.includes('name') ? key : []),
  ])
  const login = (privilege: string): string => `its login lacks ${privilege} on ${table.schema}.${table.name}`
  for (const column of table.columns) {
    const { name, nullable, filled, generated } = column
    const isKey = key.includes(name)
    if (given.has(name)) {
      if (isKey && generated)
        problems.push({ ...place, message: `the database itself gives "${name}" its value: leave name out` })
      else if (isKey && !column.insertable) problems.push({ ...place, message: login(`INSERT (${name})`) })
    } else if (filled) {
      if (!column.drawable) problems.push({ ...place, message: login(`USAGE of the sequence of "${name}"`) })
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
  const length = /^character(?: varying)?\((\d+)\)$/.exec(written)?.[1]
  const most = precision === null ? beyond[type] : 10 ** (precision - (scale ?? 0))
  return {
    ...(length !== undefined && { length: Number(length) }),
    ...(most !== undefined && { beyond: most }),
    ...(kind === 'e' && { labels }),
  }
}
