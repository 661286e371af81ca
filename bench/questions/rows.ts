/**
 * The rows of a company and SQL over them, by another way than the program's: the journal of its state is read line by
 * line, the columns come from the doctypes' files, and DuckDB answers in this process. None of the program's code runs.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { parse } from 'yaml'
import type { CompanyPlan } from './company.ts'

export interface Rows {
  ask(person: string, sql: string): Promise<readonly (readonly unknown[])[]>
  fingerprint(): string
  close(): void
}

type Stored = Readonly<Record<string, unknown>>

interface DoctypeFile {
  readonly doctype: string
  readonly child?: boolean
  readonly fields: readonly { readonly fieldname: string; readonly type: string; readonly doctype?: string }[]
}

const columnTypes: Readonly<Record<string, string>> = {
  currency: 'DECIMAL(24,2)',
  number: 'DOUBLE',
  percent: 'DOUBLE',
  integer: 'BIGINT',
  check: 'BOOLEAN',
  date: 'DATE',
  datetime: 'TIMESTAMP',
}
const ofEach = {
  name: 'VARCHAR',
  owner: 'VARCHAR',
  creation: 'TIMESTAMP',
  modified: 'TIMESTAMP',
  modified_by: 'VARCHAR',
  docstatus: 'BIGINT',
  workflow_state: 'VARCHAR',
}

/** Reads what the state holds now into tables, and what each person may read of them into views of that person's schema. */
export async function openRows(site: string, state: string, plan: CompanyPlan): Promise<Rows> {
  const doctypes = readdirSync(join(site, 'config/doctypes')).map(
    (file) => parse(readFileSync(join(site, 'config/doctypes', file), 'utf8')) as DoctypeFile,
  )
  const documents = readDocuments(state)
  const database = await DuckDBInstance.create(':memory:')
  const connection = await database.connect()
  await connection.run("SET TimeZone = 'UTC'")
  const folder = mkdtempSync(join(tmpdir(), 'assistant-core-rows-'))
  const fill = async (table: string, columns: Readonly<Record<string, string>>, rows: readonly Stored[]) => {
    const file = join(folder, `${table}.json`)
    writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'))
    const typed = Object.entries(columns).map(([name, type]) => `"${name}": '${type}'`)
    const from =
      rows.length > 0
        ? `SELECT * FROM read_json('${file}', columns = {${typed.join(', ')}}, format = 'newline_delimited')`
        : `SELECT ${Object.entries(columns)
            .map(([name, type]) => `NULL::${type} AS "${name}"`)
            .join(', ')} WHERE false`
    await connection.run(`CREATE TABLE main."${table}" AS ${from}`)
    for (const person of Object.keys(plan.people)) {
      const seen = (plan.visible[person]?.[table] ?? 'true').replaceAll(':me', `'${plan.people[person]!}'`)
      await connection.run(`CREATE VIEW ${person}."${table}" AS SELECT * FROM main."${table}" WHERE ${seen}`)
    }
  }
  for (const person of Object.keys(plan.people)) await connection.run(`CREATE SCHEMA ${person}`)
  for (const { doctype, child, fields } of doctypes) {
    if (child) continue
    const rows = documents.get(tableOf(doctype)) ?? []
    await fill(tableOf(doctype), columnsOf(fields, ofEach), rows)
    for (const { fieldname, type, doctype: of } of fields) {
      if (type !== 'table') continue
      const inner = doctypes.find((one) => one.doctype === of)!
      const parts = rows.flatMap((row) =>
        ((row[fieldname] as Stored[] | undefined) ?? []).map((part) => ({ ...part, parent: row['name'] })),
      )
      const columns = columnsOf(inner.fields, { name: 'VARCHAR', parent: 'VARCHAR', idx: 'BIGINT' })
      await fill(tableOf(of!), columns, parts)
    }
  }
  rmSync(folder, { recursive: true })
  return {
    async ask(person, sql) {
      await connection.run(`SET search_path = '${person},main'`)
      const text = sql.replaceAll(':me', `'${plan.people[person]!}'`)
      return (await connection.runAndReadAll(text)).getRowsJson()
    },
    fingerprint() {
      const hash = createHash('sha256')
      for (const [table, rows] of [...readDocuments(state)].toSorted(([a], [b]) => (a < b ? -1 : 1)))
        if (!table.startsWith('dashboard')) hash.update(`${table}${JSON.stringify(rows)}`)
      return hash.digest('hex')
    },
    close() {
      connection.closeSync()
      database.closeSync()
    },
  }
}

function tableOf(doctype: string): string {
  return doctype.toLowerCase().replaceAll(' ', '_')
}

function columnsOf(
  fields: DoctypeFile['fields'],
  others: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = fields.filter(({ type }) => type !== 'table')
  return {
    ...others,
    ...Object.fromEntries(own.map(({ fieldname, type }) => [fieldname, columnTypes[type] ?? 'VARCHAR'])),
  }
}

/** The last state of each document. A line of the journal is a checksum and what changed: a document, or the id of one that went. */
function readDocuments(state: string): Map<string, Stored[]> {
  const found = new Map<string, Map<string, Stored>>()
  for (const file of readdirSync(state).toSorted()) {
    if (!/^journal-\d+\.jsonl$/.test(file)) continue
    for (const line of readFileSync(join(state, file), 'utf8').split('\n')) {
      const body = line.slice(line.indexOf(' ') + 1)
      if (!body.startsWith('{')) continue
      const changes = (JSON.parse(body) as { c?: [string, Stored | string][] }).c ?? []
      for (const [collection, document] of changes) {
        if (!collection.startsWith('document.')) continue
        const table = collection.slice('document.'.length)
        if (!found.has(table)) found.set(table, new Map())
        const { id, ...others } = typeof document === 'string' ? { id: document } : document
        if (typeof document === 'string') found.get(table)!.delete(document)
        else found.get(table)!.set(id as string, { name: id, ...others })
      }
    }
  }
  return new Map([...found].map(([table, rows]) => [table, [...rows.values()]]))
}
