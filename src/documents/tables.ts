/** Business data as tables: what analysis computes on is exactly what the principal could read one by one. */
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { randomId, sha256 } from '../core/secrets.ts'
import { readFilters, readOrder } from './filters.ts'
import { accessFor, type Ground, requireAction } from './ground.ts'
import { type Access, accessTo } from './permission.ts'
import { type Doctype, type Field, type FieldType, standardFields } from './platform.ts'
import { unknown } from './doctype-reading.ts'
import { firstOf, permitted } from './reading.ts'
import { type StoredDocument, valueOf } from './stored.ts'

/** A column, with the type that decides how SQL and Python see its values. */
export interface TableColumn {
  readonly name: string
  readonly type: FieldType
}

/** A doctype as one principal may read it, or the rows of a child doctype within what it may read. */
export interface ReadableTable {
  readonly name: string
  readonly columns: readonly TableColumn[]
  read(): Promise<ReadableRows>
}

/** The rows of a table at one moment. */
export interface ReadableRows {
  /** Equal only when the rows are. */
  readonly revision: string
  /** Values in the order of the columns; null where this row hides the field. */
  rows(): readonly (readonly unknown[])[]
}

/** Every table of one principal. */
export interface ReadableTables {
  /** Equal only for the same user with the same roles under the same reading of the site. */
  readonly key: string
  readonly tables: readonly ReadableTable[]
}

/** Rows of one doctype for analysis and charts: `list_documents` without its cap, and without markers. */
export interface RowsQuery {
  readonly doctype: string
  /** All readable ones without it. */
  readonly fields?: readonly string[]
  readonly filters?: unknown
  readonly orderBy?: string
  /** 0 for the columns alone. */
  readonly limit: number
}

/** Values in the order of the columns, rows in the order of the query. */
export interface RowsPage {
  readonly columns: readonly TableColumn[]
  readonly rows: readonly (readonly unknown[])[]
  /** How many the filters let through, beyond the limit too. */
  readonly total: number
}

interface Part {
  readonly access: Access
  readonly documents: readonly StoredDocument[]
  readonly fields: readonly Field[]
}

type Columns = readonly { readonly name: string; readonly type: FieldType; readonly field?: Field }[]

/** The tables under one reading of the site. */
export class Tables {
  #ground: Ground
  #id = randomId()
  // The store replaces a document that changes, so an object stands for one version of it.
  #versions = new WeakMap<StoredDocument, number>()
  #lastVersion = 0

  constructor(ground: Ground) {
    this.#ground = ground
  }

  /** Every doctype that the principal may read, child doctypes within them, and masked fields nowhere. */
  of(principal: Principal): ReadableTables {
    const now = this.#ground.clock.now()
    const readable = [...this.#ground.platform.doctypes.values()]
      .filter((doctype) => !doctype.child)
      .map((doctype) => accessTo(principal, doctype, now))
      .filter((access) => access.may('read'))
    return {
      key: [this.#id, principal.user, principal.roleKey].join('\n'),
      tables: [...readable.map((access) => this.#table(access)), ...this.#childTables(readable)],
    }
  }

  /** Rows of one doctype that pass filters. AppError `not_found`, `forbidden` or `invalid` as for a list. */
  async rows(principal: Principal, query: RowsQuery): Promise<RowsPage> {
    const access = accessFor(this.#ground, principal, query.doctype)
    requireAction(access, 'read')
    const columns = chosen(columnsOf(access), query.fields)
    const conditions = readFilters(access, query.filters)
    const compare = readOrder(access, query.orderBy ?? 'creation desc')
    const all = await permitted(this.#ground, access, conditions)
    const documents = query.limit < 1 ? [] : firstOf(all, compare, query.limit)
    return {
      columns: plain(columns),
      rows: documents.map((document) => rowOf(access, columns, document)),
      total: all.length,
    }
  }

  #table(access: Access): ReadableTable {
    const columns = columnsOf(access)
    return {
      name: access.doctype.name,
      columns: plain(columns),
      read: async () => {
        const documents = await permitted(this.#ground, access, [])
        return {
          revision: this.#revision([{ access, documents, fields: [...access.doctype.fields.values()] }]),
          rows: () => documents.map((document) => rowOf(access, columns, document)),
        }
      },
    }
  }

  #childTables(readable: readonly Access[]): ReadableTable[] {
    const { doctypes } = this.#ground.platform
    return [...doctypes.values()]
      .filter((doctype) => doctype.child)
      .flatMap((child) => {
        const parents = readable.filter((access) => tableFields(access, child).length > 0)
        return parents.length === 0 ? [] : [this.#childTable(child, parents)]
      })
  }

  #childTable(child: Doctype, parents: readonly Access[]): ReadableTable {
    const fields = [...child.fields.values()].filter((field) =>
      parents.some((access) => reads(access, field)),
    )
    return {
      name: child.name,
      columns: [...childColumns, ...fields.map(({ name, type }) => ({ name, type }))],
      read: async () => {
        const parts = await Promise.all(
          parents.map(async (access) => ({
            access,
            documents: await permitted(this.#ground, access, []),
            fields: [...tableFields(access, child), ...fields],
          })),
        )
        return {
          revision: this.#revision(parts),
          rows: () =>
            parts.flatMap(({ access, documents }) =>
              documents.flatMap((document) => childRows(access, child, fields, document)),
            ),
        }
      },
    }
  }

  /** Which versions of which documents there are, and which fields they show. */
  #revision(parts: readonly Part[]): string {
    const words = parts.flatMap(({ access, documents, fields: all }) => {
      // Only where rows differ in what they show; conditions may also change with the day.
      const fields = all.filter((field) => !access.queryable(field))
      return documents.map((document) => {
        let version = this.#versions.get(document)
        if (version === undefined) this.#versions.set(document, (version = ++this.#lastVersion))
        const shown = fields.map((field) => (access.shows(field, document) === 'clear' ? '1' : '0'))
        return `${version}${shown.length > 0 ? `:${shown.join('')}` : ''}`
      })
    })
    return sha256(words.join(','))
  }
}

const childColumns: Columns = [
  { name: 'parent', type: 'text' },
  { name: 'parenttype', type: 'text' },
  { name: 'parentfield', type: 'text' },
  { name: 'name', type: 'text' },
  { name: 'idx', type: 'integer' },
]

/** Whether some row may show the field in clear. */
function reads(access: Access, field: Field): boolean {
  return !access.masks(field) && access.rules('read').some((rule) => rule.levels.has(field.level))
}

function columnsOf(access: Access): Columns {
  return [
    ...[...standardFields].map(([name, type]) => ({ name, type })),
    ...[...access.doctype.fields.values()]
      .filter((field) => field.type !== 'table' && reads(access, field))
      .map((field) => ({ name: field.name, type: field.type, field })),
  ]
}

function chosen(columns: Columns, names: readonly string[] | undefined): Columns {
  if (names === undefined || names.length === 0 || names.includes('*')) return columns
  const known = new Map(columns.map((column) => [column.name, column]))
  const faults = names
    .filter((name) => !known.has(name))
    .map((name) => unknown('field', name, [...known.keys()]))
  if (faults.length > 0)
    throw new AppError('invalid', `fields: ${faults.join('; ')} (get_doctype_info lists the fields)`)
  return [...new Set(names)].map((name) => known.get(name)!)
}

function plain(columns: Columns): TableColumn[] {
  return columns.map(({ name, type }) => ({ name, type }))
}

function rowOf(access: Access, columns: Columns, document: StoredDocument): unknown[] {
  return columns.map(({ name, field }) =>
    field === undefined || access.shows(field, document) === 'clear' ? valueOf(document, name) : null,
  )
}

function tableFields(access: Access, child: Doctype): Field[] {
  return [...access.doctype.fields.values()].filter(
    (field) => field.type === 'table' && field.doctype === child.name && reads(access, field),
  )
}

function childRows(
  access: Access,
  child: Doctype,
  fields: readonly Field[],
  document: StoredDocument,
): unknown[][] {
  return tableFields(access, child)
    .filter((field) => access.shows(field, document) === 'clear')
    .flatMap((table) => {
      const rows = valueOf(document, table.name)
      return (Array.isArray(rows) ? rows : []).map((row: Readonly<Record<string, unknown>>) => [
        document.id,
        access.doctype.name,
        table.name,
        row['name'] ?? null,
        row['idx'] ?? null,
        ...fields.map((field) =>
          access.shows(field, document) === 'clear' ? (row[field.name] ?? null) : null,
        ),
      ])
    })
}
