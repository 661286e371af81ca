/** Drafts of doctypes over a database in the layout of Frappe and ERPNext, which says itself what its doctypes are. */
import type { FieldType } from '../platform/platform.ts'
import { reservedFields } from '../platform/read-fields.ts'
import type { CatalogueTable, SourceLook } from '#sources/catalogue.ts'
import { kindOf } from './column-types.ts'
import type { Draft, DraftField, Drafts, KnownTables } from './draft.ts'

type Row = Readonly<Record<string, string | number | null>>

/** What such a database says of its doctypes. */
export interface FrappeSite {
  readonly doctypes: readonly Row[]
  readonly fields: readonly Row[]
  readonly rules: readonly Row[]
  /** Tables by which that site lets people see more or less than its rules say. */
  readonly beyond: readonly string[]
}

const meta = ['tabDocType', 'tabDocField', 'tabDocPerm'] as const

/** Reads what the database says of its doctypes; undefined for one in another layout. */
export async function readFrappe(
  at: SourceLook,
  tables: readonly CatalogueTable[],
): Promise<FrappeSite | undefined> {
  const of = (name: string): CatalogueTable | undefined => tables.find((one) => one.name === name)
  if (meta.some((name) => !of(name))) return undefined
  const rows = async (name: string, columns: readonly string[]): Promise<readonly Row[]> => {
    const table = of(name)
    if (!table) return []
    const there = columns.filter((one) => table.columns.some((column) => column.name === one))
    const order = there.includes('idx') ? ' ORDER BY parent, idx' : ''
    const text = `SELECT ${there.map((one) => `"${one}"`).join(', ')} FROM "${table.schema}"."${name}"${order}`
    return (await at.rows(text)).map(
      (row) => Object.fromEntries(there.map((one, index) => [one, row[index]])) as Row,
    )
  }
  const fieldColumns = ['fieldname', 'fieldtype', 'label', 'options', 'reqd', 'permlevel', 'idx']
  const ruleColumns = ['parent', 'role', 'permlevel', 'read', 'report', 'if_owner', 'idx']
  const custom = (await rows('tabCustom Field', ['dt', ...fieldColumns])).map((row): Row => ({
    ...row,
    parent: row['dt']!,
  }))
  const rules = await rows('tabDocPerm', ruleColumns)
  // Where a site changed the rules of a doctype, the others do not count.
  const changed = await rows('tabCustom DocPerm', ruleColumns)
  const own = new Set(changed.map(({ parent }) => parent))
  return {
    doctypes: await rows('tabDocType', ['name', 'istable', 'issingle', 'title_field', 'search_fields']),
    fields: [...(await rows('tabDocField', ['parent', ...fieldColumns])), ...custom],
    rules: [...rules.filter(({ parent }) => !own.has(parent)), ...changed],
    beyond: ['tabUser Permission', 'tabDocShare', 'tabHas Role'].filter(of),
  }
}

const beyondRules: Readonly<Record<string, string>> = {
  'tabUser Permission': 'keeps documents from people whom its rules let read them',
  tabDocShare: 'shares single documents with people',
  'tabHas Role': 'says who has which role',
}
const types: Readonly<Record<string, readonly FieldType[]>> = {
  Currency: ['currency', 'number'],
  Float: ['number'],
  Percent: ['percent'],
  Rating: ['number'],
  Duration: ['number'],
  Int: ['integer'],
  Check: ['check'],
  Date: ['date'],
  Datetime: ['datetime'],
  JSON: ['json', 'text'],
}
/** Fields that lay out a form and have no column, and passwords, which no column holds. */
const without = /^(?:(?:Section|Column|Tab) Break|Fold|Heading|HTML|Button|Image|Table MultiSelect|Password)$/
const tables = /^Table(?: MultiSelect)?$/
const nameable = /^[A-Z][A-Za-z0-9]*( [A-Z0-9][A-Za-z0-9]*)*$/

/** Drafts the doctypes of chosen tables, and of the rows in them, with the rules that let people read. */
export function draftFrappe(
  source: string,
  { all, named }: { readonly all: readonly CatalogueTable[]; readonly named: readonly CatalogueTable[] },
  { doctypes, fields, rules, beyond }: FrappeSite,
  known: KnownTables,
): Drafts {
  const left = beyond.map(
    (name) =>
      `${name}: ${beyondRules[name]!}, which is not carried over: say it in rules and in config/users.yaml`,
  )
  const rowTables = new Set(
    fields
      .filter(
        ({ parent, fieldtype }) =>
          fieldtype === 'Table' && named.some(({ name }) => name === `tab${parent!}`),
      )
      .map(({ options }) => `tab${options!}`),
  )
  const chosen = all.filter((table) => named.includes(table) || rowTables.has(table.name))
  const byTable = new Map(doctypes.map((one) => [`tab${one['name']!}`, one]))
  const fit = chosen.filter((table) => {
    const { name } = table
    const doctype = byTable.get(name)
    const why = !doctype
      ? 'is the table of no doctype'
      : doctype['issingle'] === 1 || !nameable.test(name.slice(3)) || name.length > 63
        ? `has a doctype whose name or kind no doctype here has`
        : !table.columns.some((column) => column.name === 'name')
          ? 'has no column "name"'
          : undefined
    if (why !== undefined) left.push(`${table.schema}.${name}: ${why}`)
    return why === undefined
  })
  const names = new Set([...fit.map(({ name }) => name.slice(3)), ...known.values()])
  const children = new Set(doctypes.filter((one) => one['istable'] === 1).map((one) => String(one['name'])))
  const drafts = fit.map((table) => {
    const name = table.name.slice(3)
    const of = (rows: readonly Row[]): readonly Row[] => rows.filter(({ parent }) => parent === name)
    const around = { chosen: fit, names, children }
    return draftOf(source, table, byTable.get(table.name)!, { fields: of(fields), rules: of(rules) }, around)
  })
  return { drafts, left }
}

interface Around {
  readonly chosen: readonly CatalogueTable[]
  readonly names: ReadonlySet<string>
  readonly children: ReadonlySet<string>
}

function draftOf(
  source: string,
  table: CatalogueTable,
  doctype: Row,
  told: Pick<FrappeSite, 'fields' | 'rules'>,
  around: Around,
): Draft {
  const name = table.name.slice(3)
  const isChild = around.children.has(name)
  const left: string[] = []
  const fields = told.fields.flatMap((row): DraftField[] => {
    const field = fieldOf(table, row, around)
    if (typeof field === 'object') return [field]
    if (field !== undefined) left.push(`${row['fieldname']!} ${field}`)
    return []
  })
  const has = (field: unknown): boolean =>
    fields.some(({ fieldname, type }) => fieldname === field && type === 'text')
  const title = doctype['title_field']
  const searched = [title, ...String(doctype['search_fields'] ?? '').split(/\s*,\s*/)].filter(has)
  const standard = ['owner', 'creation', 'modified', 'modified_by', 'docstatus'].filter((one) =>
    table.columns.some((column) => column.name === one),
  )
  const permissions = isChild ? [] : rulesOf(told.rules)
  return {
    doctype: name,
    table: `${table.schema}.${table.name}`,
    fields,
    left,
    content: {
      doctype: name,
      ...(isChild
        ? { child: true }
        : {
            ...(has(title) && { title_field: title }),
            from: {
              source,
              table: `${table.schema}.${table.name}`,
              key: ['name'],
              standard: Object.fromEntries(standard.map((one) => [one, one])),
              search: ['name', ...new Set(searched)],
            },
            ...(permissions.length > 0 && { permissions }),
          }),
    },
  }
}

/** Returns the field of a row of `tabDocField`; undefined for what is none, or why it is left out. */
function fieldOf(
  table: CatalogueTable,
  row: Row,
  { chosen, names, children }: Around,
): DraftField | string | undefined {
  const [fieldname, kind, options] = ['fieldname', 'fieldtype', 'options'].map((one) =>
    String(row[one] ?? ''),
  )
  const label = String(row['label'] ?? '')
  const level = Number(row['permlevel'] ?? 0)
  const shown = { ...(label !== '' && { label }), ...(level > 0 && { level }) }
  if (kind === 'Table') {
    const child = chosen.find(({ name }) => name === `tab${options}`)
    if (!child || !children.has(options!)) return `has rows of ${options}, which is not among the tables`
    const only = { parenttype: table.name.slice(3), parentfield: fieldname! }
    const rows = {
      table: `${child.schema}.${child.name}`,
      parent: ['parent'],
      key: ['name'],
      order: ['idx'],
      only,
    }
    return { fieldname: fieldname!, type: 'table', doctype: options, ...shown, rows }
  }
  if (without.test(kind!) || tables.test(kind!))
    return /^(?:Password|Table)/.test(kind!) ? `is a ${kind}, which is not carried over` : undefined
  const column = table.columns.find((one) => one.name === fieldname)
  if (!column) return 'has no column'
  if (reservedFields.has(fieldname!) || !/^[a-z][a-z0-9_]*$/.test(fieldname!))
    return 'has a name that no field here has'
  const choices = kind === 'Select' ? [...new Set(options!.split('\n').filter((one) => one !== ''))] : []
  const wanted: readonly FieldType[] =
    kind === 'Link' && names.has(options!) && !children.has(options!)
      ? ['link']
      : choices.length > 0
        ? ['select']
        : (types[kind!] ?? ['text'])
  for (const type of wanted) {
    const precision = type === 'currency' ? Math.min(column.scale ?? 2, 9) : undefined
    const as = { type, ...(precision !== undefined && precision !== 2 && { precision }) }
    if (typeof kindOf(column, as, 'UTC') === 'string') continue
    return {
      fieldname: fieldname!,
      ...as,
      ...shown,
      ...(type === 'link' && { doctype: options }),
      ...(type === 'select' && { options: choices }),
    }
  }
  return `is a ${kind} in a ${column.written}, which no field shows`
}

/** Returns the rules, which only let read; levels of one role that open the same documents are one rule. */
function rulesOf(rows: readonly Row[]): readonly object[] {
  const rules: { role: string; actions: string[]; if_owner?: true; levels?: number[] }[] = []
  for (const row of rows) {
    const [role, level] = [String(row['role']), Number(row['permlevel'] ?? 0)]
    if (row['read'] !== 1 || level > 0) continue
    const levels = rows
      .filter((one) => one['role'] === role && one['read'] === 1 && Number(one['permlevel'] ?? 0) <= 9)
      .map((one) => Number(one['permlevel'] ?? 0))
    const opened = [...new Set(levels)].sort((a, b) => a - b)
    rules.push({
      role,
      actions: ['read', ...(row['report'] === 1 ? ['report'] : [])],
      ...(row['if_owner'] === 1 && { if_owner: true }),
      ...(opened.length > 1 && { levels: opened }),
    })
  }
  return rules
}
