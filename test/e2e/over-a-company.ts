/**
 * A company's database, from an empty folder to right answers: its doctypes are drafted, given roles and served, and each
 * is asked by a person with a rule by row; the answers are those of SQL that asks the same of the same database.
 */
import assert from 'node:assert/strict'
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { parse } from 'yaml'
import { paths } from '../../src/oauth/urls.ts'
import { runCli, startDaemon, temporaryFolder } from '../helpers/daemon.ts'
import {
  companyStatements,
  type Database,
  drawCompany,
  type DrawnColumn,
  type DrawnTable,
  type Kind,
  wordsOf,
} from '../helpers/drawn-company.ts'

/** A database that is still empty. */
export interface EmptyDatabase {
  readonly database: Database
  readonly name: string
  readonly port: number
  /** Asks the database; every value is a text, as it writes it, or null. */
  readonly sql: (text: string) => Promise<readonly Readonly<Record<string, string | null>>[]>
}

interface Field {
  readonly fieldname: string
  readonly type: string
  readonly column?: string
  readonly doctype?: string
}

interface Drafted {
  readonly doctype: string
  readonly child?: true
  readonly title_field?: string
  readonly from?: { readonly standard?: Record<string, string>; readonly search?: readonly string[] }
  readonly fields: readonly Field[]
}

type Rows = readonly Record<string, unknown>[]
type Ask = (tool: string, args: Record<string, unknown>) => Promise<Record<string, unknown>>

const person = 'p3@example.com'
const fieldTypes: Readonly<Record<Kind, string | undefined>> = {
  id: 'integer',
  big: 'integer',
  code: 'text',
  uuid: 'text',
  label: 'text',
  mail: 'text',
  choice: 'select',
  checked: 'select',
  money: 'currency',
  exact: 'text',
  ratio: 'number',
  score: 'integer',
  flag: 'check',
  day: 'date',
  moment: 'datetime',
  local: 'datetime',
  json: 'json',
  bytes: undefined,
}

/** Tells the story over a database. */
export async function overACompany(t: TestContext, empty: EmptyDatabase): Promise<void> {
  const tables = drawCompany(Number(process.env['COMPANY_SEED'] ?? 1))
  for (const statement of companyStatements(tables, empty.database)) await empty.sql(statement)
  const folder = temporaryFolder(t)
  const [site, state] = [join(folder, 'office'), join(folder, 'state')]
  const run = async (...args: readonly string[]): Promise<string> => {
    const env = { ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: state }
    const { code, stdout, stderr } = await runCli(args, { env })
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`)
    return stdout
  }
  await run('init', site)
  const place = ['--host', '127.0.0.1', '--port', String(empty.port), '--database', empty.name]
  await run('sources', 'add', 'erp', '--type', empty.database, ...place, '--user', 'reader')
  await run('doctypes', 'from', 'erp', '--write')
  const doctypes = openedTo(site, 'Clerk', tables)
  assert.match(await run('check'), /no faults/)
  const again = await run('doctypes', 'from', 'erp')
  assert.doesNotMatch(again, /new|changed/, 'drafted once, nothing differs')

  const daemon = await startDaemon(t, { site, state })
  const { access_token: token } = JSON.parse(await run('tokens', 'issue', '--user', person, '--json'))
  const client = new Client({ name: 'story', version: '1.0.0' })
  const headers = { Authorization: `Bearer ${token}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(daemon.url + paths.mcp), { requestInit: { headers } }),
  )
  t.after(() => client.close())
  const ask: Ask = async (name, args) => {
    const { content } = (await client.callTool({ name, arguments: args })) as { content: { text: string }[] }
    const text = content.map((one) => one.text).join('\n')
    try {
      return JSON.parse(text) as Record<string, unknown>
    } catch {
      return { refused: text }
    }
  }
  assert.ok(doctypes.length >= 50)
  for (const { table, draft } of doctypes) {
    const about = new About(empty, table, draft, ask)
    await t.test(`${draft.doctype} is listed, counted, added up, read and searched as SQL finds it`, () =>
      about.agrees(tables.filter(({ parent }) => parent === table)),
    )
  }
  await t.test('a view whose key is told is asked as well', async () => {
    const listed = await ask('list_documents', {
      doctype: 'Customer Balance',
      order_by: 'name',
      limit: 3,
      fields: ['*'],
    })
    const rows = await empty.sql(
      `SELECT id, region, invoices, total FROM customer_balance WHERE region = 'REG-000002' ORDER BY id LIMIT 3`,
    )
    assert.deepEqual(
      rowsIn(listed, 'data').map((row) => [
        row['name'],
        row['region'],
        String(row['invoices']),
        String(row['total']),
      ]),
      rows.map(({ id, region, invoices, total }) => [id, region, invoices, total]),
    )
  })
}

/** Adds a rule for a role to what was drafted, a doctype over a view, and a person; returns what is listed by itself. */
function openedTo(
  site: string,
  role: string,
  tables: readonly DrawnTable[],
): readonly { readonly table: DrawnTable; readonly draft: Drafted }[] {
  const tools = join(site, 'config/tools.yaml')
  const offered = '      - search_documents\n'
  writeFileSync(tools, readFileSync(tools, 'utf8').replace(offered, `${offered}      - search_doctype\n`))
  const users = join(site, 'config/users.yaml')
  const row = `users:\n  - { email: ${person}, full_name: P, assistant_enabled: 1, roles: [Assistant User, ${role}] }\n`
  writeFileSync(users, readFileSync(users, 'utf8').replace('users: []\n', row))
  appendFileSync(join(site, 'config/roles.yaml'), `  - name: ${role}\n`)
  const doctypes = join(site, 'config/doctypes')
  const opened: { table: DrawnTable; draft: Drafted }[] = []
  for (const file of readdirSync(doctypes)) {
    const path = join(doctypes, file)
    const text = readFileSync(path, 'utf8')
    const table = tables.find(
      ({ name }) => /^# Drafted from the table (?:public|test_\d+)\.(.*)\.$/m.exec(text)?.[1] === name,
    )
    if (!table) continue
    const draft = parse(text) as Drafted
    assert.equal(draft.child, table.parent && true, `${table.name} belongs to what its key begins with`)
    if (draft.child) continue
    opened.push({ table, draft })
    const { when } = table.rule!
    appendFileSync(path, `permissions:\n  - { role: ${role}, actions: [read, report], when: "${when}" }\n`)
  }
  writeFileSync(
    join(doctypes, 'customer-balance.yaml'),
    `doctype: Customer Balance
from: { source: erp, table: customer_balance, key: [id] }
fields:
  - { fieldname: region, type: text }
  - { fieldname: invoices, type: integer }
  - { fieldname: total, type: text }
permissions: [{ role: ${role}, actions: [read, report], when: "doc.region = 'REG-000002'" }]
`,
  )
  return opened
}

/** What is asked of one doctype, and of its table. */
class About {
  readonly #empty: EmptyDatabase
  readonly #table: DrawnTable
  readonly #draft: Drafted
  readonly #ask: Ask
  readonly #from: string
  readonly #key: string

  constructor(empty: EmptyDatabase, table: DrawnTable, draft: Drafted, ask: Ask) {
    const { name } = wordsOf[empty.database]
    this.#empty = empty
    this.#table = table
    this.#draft = draft
    this.#ask = ask
    this.#from = `FROM ${name(table.name)} WHERE ${table.rule!.sql}`
    this.#key = table.key.map((one) => name(one.name)).join(', ')
  }

  async agrees(rowTables: readonly DrawnTable[]): Promise<void> {
    const { doctype } = this.#draft
    const rows = await this.#empty.sql(`SELECT * ${this.#from} ORDER BY ${this.#key} LIMIT 5`)
    const [{ count } = { count: '' }] = await this.#empty.sql(`SELECT COUNT(*) AS count ${this.#from}`)
    assert.ok(rows.length > 0)
    const listed = await this.#ask('list_documents', { doctype, fields: ['*'], order_by: 'name', limit: 5 })
    assert.deepEqual(
      rowsIn(listed, 'data').map((row) => this.#shown(row)),
      rows.map((row) => this.#expected(row)),
      JSON.stringify(listed).slice(0, 500),
    )
    assert.equal((await this.#ask('count_documents', { doctype }))['count'], Number(count))
    await this.#sums()
    for (const [at, row] of rowsIn(listed, 'data').slice(0, 1).entries())
      await this.#gets(String(row['name']), rows[at]!, rowTables)
    await this.#hides()
    await this.#finds()
  }

  /** Columns with the fields that show them. */
  *#fields(): Generator<readonly [DrawnColumn, string, string]> {
    const { fields, from } = this.#draft
    const standard = Object.entries(from?.standard ?? {})
    for (const column of [...this.#table.key, ...this.#table.columns]) {
      const own = fields.find((one) => (one.column ?? one.fieldname) === column.name)
      const [name] = standard.find(([, one]) => one === column.name) ?? []
      if (own) yield [column, own.fieldname, own.type]
      else if (name !== undefined) yield [column, name, 'datetime']
      else if (column.kind !== 'bytes')
        assert.deepEqual(this.#table.key, [column], `${column.name} has a field`)
    }
  }

  /** A row of SQL, as a document shows it. */
  #expected(row: Readonly<Record<string, string | null>>): Record<string, unknown> {
    return Object.fromEntries(
      [...this.#fields()].map(([{ name, kind, to }, field, type]) => {
        const isLink = to !== undefined && to.key.length === 1 && to.parent === undefined
        assert.equal(type, isLink ? 'link' : fieldTypes[kind], `${name}, a ${kind}`)
        return [field, valueOf(type, row[name]!)]
      }),
    )
  }

  #shown(document: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries([...this.#fields()].map(([, field]) => [field, document[field] ?? null]))
  }

  async #sums(): Promise<void> {
    const { name } = wordsOf[this.#empty.database]
    const { columns } = this.#table
    const by =
      columns.find(({ kind, to }) => (to ? to.rows <= 100 : ['choice', 'checked', 'flag'].includes(kind))) ??
      columns.at(-1)!
    const fields = [...this.#fields()]
    const [, group, type] = fields.find(([column]) => column === by)!
    const [, amount] = fields.find(([column]) => column.name === 'amount')!
    const sums = await this.#ask('aggregate', {
      doctype: this.#draft.doctype,
      group_by: [group],
      metrics: [
        { function: 'count' },
        { function: 'sum', field: amount, as: 'total' },
        { function: 'max', field: amount, as: 'most' },
      ],
      limit: 1000,
    })
    const rows = await this.#empty.sql(
      `SELECT ${name(by.name)} AS of, COUNT(*) AS count, COALESCE(SUM(amount), 0.00) AS total, MAX(amount) AS most ${this.#from} GROUP BY ${name(by.name)}`,
    )
    const text = (row: Record<string, unknown>): string => JSON.stringify(row)
    assert.deepEqual(
      inOrder(
        rowsIn(sums, 'data').map(({ [group]: of = null, count, total, most = null }) =>
          text({ of, count, total, most }),
        ),
      ),
      inOrder(
        rows.map(({ of, count, total, most }) =>
          text({ of: valueOf(type, of!), count: Number(count), total, most }),
        ),
      ),
      JSON.stringify(sums).slice(0, 500),
    )
  }

  async #gets(
    id: string,
    row: Readonly<Record<string, string | null>>,
    rowTables: readonly DrawnTable[],
  ): Promise<void> {
    const { doctype } = this.#draft
    const answer = await this.#ask('get_document', { doctype, name: id })
    const document = (answer['document'] ?? answer['data'] ?? answer) as Record<string, unknown>
    assert.deepEqual(this.#shown(document), this.#expected(row), JSON.stringify(answer).slice(0, 500))
    const { name } = wordsOf[this.#empty.database]
    for (const child of rowTables) {
      const parent = child.key[0]!.name
      const lines = await this.#empty.sql(
        `SELECT amount FROM ${name(child.name)} WHERE ${name(parent)} = '${id}' ORDER BY line`,
      )
      assert.ok(lines.length > 0)
      assert.deepEqual(
        (document[`${child.name}_rows`] as Rows).map((line) => line['amount'] ?? null),
        lines.map(({ amount }) => valueOf('currency', amount!)),
      )
    }
  }

  /** What the rule hides is not there, whoever knows its name. */
  async #hides(): Promise<void> {
    const { name } = wordsOf[this.#empty.database]
    const { name: table, rule, key } = this.#table
    const [hidden] = await this.#empty.sql(
      `SELECT ${this.#key} FROM ${name(table)} WHERE NOT (${rule!.sql}) LIMIT 1`,
    )
    if (!hidden || key.length > 1) return
    const { doctype } = this.#draft
    const id = hidden[key[0]!.name]!
    const answer = await this.#ask('get_document', { doctype, name: id })
    assert.match(String(answer['refused']), /there is no .* that you may read/)
  }

  async #finds(): Promise<void> {
    const { doctype, from, title_field: title } = this.#draft
    const label = this.#table.columns.find(({ kind }) => kind === 'label')
    if (!label) return
    assert.ok(title !== undefined && from?.search?.includes(title))
    const { name } = wordsOf[this.#empty.database]
    const own = name(label.name)
    const [last] = await this.#empty.sql(
      `SELECT ${own} AS said ${this.#from} ORDER BY LENGTH(${own}) DESC, ${own} DESC LIMIT 1`,
    )
    const word = last!['said']!.split(' ').at(-1)!
    const rows = await this.#empty.sql(`SELECT ${own} AS said ${this.#from} AND ${own} LIKE '% ${word}%'`)
    const found = await this.#ask('search_doctype', { doctype, query: word, limit: 50 })
    assert.deepEqual(
      inOrder(rowsIn(found, 'results').map((one) => String(one['title']))),
      inOrder(rows.map(({ said }) => said!)),
      JSON.stringify(found).slice(0, 500),
    )
  }
}

function inOrder(texts: readonly string[]): readonly string[] {
  return texts.toSorted((a, b) => (a < b ? -1 : 1))
}

/** The rows of an answer, which come as a table where they are many. */
function rowsIn(answer: Record<string, unknown>, key: string): Rows {
  const rows = answer[key] as
    Rows | { readonly columns: readonly string[]; readonly rows: readonly unknown[][] }
  assert.ok(rows, JSON.stringify(answer).slice(0, 500))
  if (!('columns' in rows)) return rows
  return rows.rows.map((row) => Object.fromEntries(rows.columns.map((name, at) => [name, row[at]])))
}

/** What the database writes, as a field of this type shows it. */
function valueOf(type: string, told: string | null): unknown {
  if (told === null) return null
  if (/^(?:integer|number|currency)$/.test(type)) return Number(told)
  if (type === 'check') return told === 't' || told === '1'
  if (type === 'json') return JSON.parse(told) as unknown
  if (type !== 'datetime') return told
  return new Date(`${told.replace(' ', 'T').replace(/\+00$/, '').slice(0, 23)}Z`).toISOString()
}
