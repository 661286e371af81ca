/** One evaluator (D5): for random rules and users, every way to business data shows the same rows and values. */
import { deleteDocument, updateDocument } from '../../src/documents/writing/updating.ts'
import { readTableRows, readableTables } from '../../src/documents/reports/tables.ts'
import { listDocuments } from '../../src/documents/asking/reading.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { columnOf, permittedTables } from '../../src/analysis/permitted.ts'
import { Python } from '#sandbox/python/python.ts'
import { Sql } from '#sandbox/sql/sql.ts'
import { isoTime } from '#leaf/clock.ts'
import type { Principal } from '../../src/core/principal.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { accessTo } from '../../src/documents/permission.ts'
import { type Company, openCompany, siteOf, someone } from '../documents/trading-company.ts'
import {
  isolation,
  settings,
  signal,
  withoutPython,
  withoutSql,
} from '../../packages/sandbox/test/machine.ts'

const rule = fc.record({
  role: fc.constantFrom('Clerk', 'Boss', 'Guest'),
  ifOwner: fc.boolean(),
  when: fc.constantFrom(
    undefined,
    'doc.status = "Open"',
    'doc.amount > 50',
    'doc.region = "N" or doc.owner = user.id',
    'doc.amount != null and doc.status in ["Open", "Late"]',
    'has_role("Boss")',
    'year(doc.day) = 2026 and not (doc.region = "S")',
    'contains(doc.title, "a")',
  ),
  levels: fc.constantFrom([0], [0, 1], [1]),
})

const document = fc.record({
  owner: fc.constantFrom('a@example.com', 'b@example.com', 'c@example.com'),
  title: fc.constantFrom('alpha', 'beta', 'x"\'; DROP TABLE thing', 'ünïcode 🎉', 'gamma'),
  status: fc.constantFrom('Open', 'Late', 'Done', undefined),
  amount: fc.constantFrom(0, 10.25, 50, 99.5, -3, undefined),
  region: fc.constantFrom('N', 'S', undefined),
  day: fc.constantFrom('2025-12-31', '2026-01-01', undefined),
  secret: fc.constantFrom('s1', 's2', undefined),
  parts: fc.array(fc.constantFrom('p1', 'p2', 'p3'), { maxLength: 3 }),
})

const principals = [
  someone('a@example.com', 'Clerk'),
  someone('b@example.com', 'Guest', 'Clerk'),
  someone('c@example.com', 'Boss'),
  someone('d@example.com', 'Guest'),
  someone('e@example.com'),
]

interface RuleSource {
  readonly role: string
  readonly ifOwner: boolean
  readonly when: string | undefined
  readonly levels: readonly number[]
}

function site(rules: readonly RuleSource[]) {
  const permissions = rules.map(({ role, ifOwner, when, levels }) =>
    JSON.stringify({
      role,
      actions: ['read'],
      ...(ifOwner && { if_owner: true }),
      ...(when !== undefined && { when }),
      levels,
    }),
  )
  return siteOf({
    'config/doctypes/thing.yaml': `
doctype: Thing
naming: { rule: hash }
fields:
  - { fieldname: title, type: text }
  - { fieldname: status, type: select, options: [Open, Late, Done] }
  - { fieldname: amount, type: currency }
  - { fieldname: region, type: text }
  - { fieldname: day, type: date }
  - { fieldname: secret, type: text, level: 1 }
  - { fieldname: hidden, type: text, visible_to: [Boss] }
  - { fieldname: parts, type: table, doctype: Thing Part }
permissions: [${permissions.join(', ')}]`,
    'config/doctypes/thing-part.yaml': `
doctype: Thing Part
child: true
fields:
  - { fieldname: part, type: text }
  - { fieldname: price, type: currency, level: 1 }`,
  })
}

type Row = Readonly<Record<string, unknown>>
const fields = ['title', 'status', 'amount', 'region', 'day', 'secret', 'hidden']

/** What the evaluator says, applied by hand to every stored document. */
async function expected({ documents, platform, clock }: Company, principal: Principal): Promise<Row[]> {
  const doctype = platform.doctypes.get('Thing')!
  const access = accessTo(principal, doctype, clock.now())
  const stored = await collectionFor(documents, doctype).find()
  return stored
    .filter((one) => access.allows('read', one))
    .map((one) => ({
      name: one.id,
      ...Object.fromEntries(
        fields.map((name) => [
          name,
          access.shows(doctype.fields.get(name)!, one) === 'clear' ? asShown(one[name]) : null,
        ]),
      ),
      parts:
        access.shows(doctype.fields.get('parts')!, one) === 'clear'
          ? ((one['parts'] as Row[] | undefined) ?? []).map((row) => row['part'] ?? null)
          : [],
    }))
}

/** SQL and Python have amounts of money as decimals, with both places. */
function asShown(value: unknown): unknown {
  return typeof value === 'number' ? value.toFixed(2) : (value ?? null)
}

function sorted(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => (String(a['name']) < String(b['name']) ? -1 : 1))
}

describe('the same rows', { skip: withoutSql || withoutPython }, () => {
  const sql = new Sql(isolation, settings.sql)
  const python = new Python(isolation, settings.python)
  after(async () => {
    await sql.close()
    await python.close()
  })

  async function bySql({ documents }: Company, principal: Principal): Promise<Row[]> {
    const tables = permittedTables(readableTables(documents, principal))
    const thing = tables.tables.find(({ name }) => name === 'Thing')
    if (!thing) return []
    const shown = fields.filter((field) => thing.columns.some(({ name }) => name === field))
    const query = { tables, maxRows: 1000, signal: signal() }
    const columns = ['name', ...shown].join(', ')
    const computed = await sql.query({ ...query, sql: `SELECT ${columns} FROM query_table('thi' || 'ng')` })
    const found = await sql.query({ ...query, sql: `SELECT ${columns} FROM thing` })
    assert.deepEqual(computed.rows, found.rows, `a computed name as ${principal.user}`)
    const children = tables.tables.some(({ name }) => name === 'Thing Part')
      ? (await sql.query({ ...query, sql: 'SELECT parent, part FROM thing_part ORDER BY idx' })).rows
      : []
    return found.rows.map((row) => ({
      name: row[0],
      ...Object.fromEntries(
        fields.map((field) => [field, shown.includes(field) ? row[shown.indexOf(field) + 1] : null]),
      ),
      parts: children.filter(([parent]) => parent === row[0]).map(([, part]) => part),
    }))
  }

  async function byPython({ documents }: Company, principal: Principal): Promise<Row[]> {
    if (!readableTables(documents, principal).tables.some(({ name }) => name === 'Thing')) return []
    const page = await readTableRows(documents, principal, { doctype: 'Thing', limit: 1000 })
    const columns = page.columns.map(columnOf)
    const { variables, error } = await python.run({
      code: 'rows = data',
      data: { columns, pages: [page.rows] },
      returnVariables: ['rows'],
      signal: signal(),
    })
    assert.equal(error, undefined, error?.traceback)
    return variables['rows'] as Row[]
  }

  async function byList({ documents }: Company, principal: Principal): Promise<Row[]> {
    if (!readableTables(documents, principal).tables.some(({ name }) => name === 'Thing')) {
      await assert.rejects(listDocuments(documents, principal, { doctype: 'Thing' }), { code: 'not_found' })
      return []
    }
    return [...(await listDocuments(documents, principal, { doctype: 'Thing', limit: 1000 })).data]
  }

  it('are what SQL, Python, a list and the evaluator show, whatever the rules', async (t) => {
    let compared = 0
    let hidden = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 3 }),
        fc.array(document, { minLength: 1, maxLength: 12 }),
        async (rules, given) => {
          const company = await openCompany(t, { files: site(rules), seeds: false })
          for (const { owner, parts, ...data } of given) {
            const known = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined))
            await createDocument(company.documents, someone(owner, 'System Manager'), 'Thing', {
              ...known,
              hidden: 'h',
              parts: parts.map((part) => ({ part, price: 1 })),
            })
          }
          for (const principal of principals) {
            const right = sorted(await expected(company, principal))
            assert.deepEqual(sorted(await bySql(company, principal)), right, `SQL as ${principal.user}`)
            const names = right.map(({ name }) => name)
            assert.deepEqual(
              sorted(await byList(company, principal)).map(({ name }) => name),
              names,
              `list as ${principal.user}`,
            )
            const loaded = sorted(await byPython(company, principal))
            assert.deepEqual(
              loaded.map((row) => ['name', ...fields].map((field) => row[field] ?? null)),
              right.map((row) => ['name', ...fields].map((field) => row[field])),
              `Python as ${principal.user}`,
            )
            compared += right.length
            hidden += given.length - right.length
          }
        },
      ),
      { numRuns: 6 },
    )
    // Neither all nor nothing: the comparison meant something.
    assert.ok(compared > 0 && hidden > 0, `${compared} shown, ${hidden} hidden`)
  })

  it('follow every write: a change, a new document, one taken away', async (t) => {
    const company = await openCompany(t, {
      files: site([{ role: 'Clerk', ifOwner: false, when: 'doc.status = "Open"', levels: [0] }]),
      seeds: false,
    })
    const manager = someone('m@example.com', 'System Manager')
    const clerk = principals[0]!
    const names = async (): Promise<unknown[]> =>
      (await bySql(company, clerk)).map(({ title, amount }) => [title, amount])
    const make = async (title: string): Promise<string> =>
      String(
        (await createDocument(company.documents, manager, 'Thing', { title, status: 'Open', amount: 1 }))
          .document['name'],
      )
    const one = await make('one')
    assert.deepEqual(await names(), [['one', '1.00']])
    await updateDocument(company.documents, manager, 'Thing', one, { amount: 2 })
    assert.deepEqual(await names(), [['one', '2.00']])
    const two = await make('two')
    assert.equal((await names()).length, 2)
    await updateDocument(company.documents, manager, 'Thing', one, { status: 'Done' })
    assert.deepEqual(await names(), [['two', '1.00']])
    await deleteDocument(company.documents, manager, 'Thing', two)
    assert.deepEqual(await names(), [])
    assert.ok(isoTime(company.clock.now()))
  })

  it('have no masked and no unreadable column to ask about', async (t) => {
    const company = await openCompany(t, {
      files: site([{ role: 'Clerk', ifOwner: false, when: undefined, levels: [0] }]),
      seeds: false,
    })
    await createDocument(company.documents, someone('m@example.com', 'System Manager'), 'Thing', {
      title: 'x',
      secret: 's',
      hidden: 'h',
    })
    const tables = permittedTables(readableTables(company.documents, principals[0]!))
    for (const column of ['secret', 'hidden', 'price']) {
      const table = column === 'price' ? 'thing_part' : 'thing'
      await assert.rejects(
        sql.query({ sql: `SELECT ${column} FROM ${table}`, tables, maxRows: 1, signal: signal() }),
        /there is no column/,
      )
    }
    await assert.rejects(
      readTableRows(company.documents, principals[0]!, {
        doctype: 'Thing',
        filters: { hidden: 'h' },
        limit: 1,
      }),
      { code: 'invalid' },
    )
    await assert.rejects(
      readTableRows(company.documents, principals[0]!, { doctype: 'Thing', fields: ['secret'], limit: 1 }),
      { code: 'invalid' },
    )
  })
})

describe('a snapshot', () => {
  it('has the same revision until something that its principal could notice is written', async (t) => {
    const company = await openCompany(t, {
      files: site([{ role: 'Clerk', ifOwner: false, when: 'doc.status = "Open"', levels: [0] }]),
      seeds: false,
    })
    const manager = someone('m@example.com', 'System Manager')
    const make = (status: string) =>
      createDocument(company.documents, manager, 'Thing', { title: 'x', status, parts: [{ part: 'p1' }] })
    const open = String((await make('Open')).document['name'])
    const done = String((await make('Done')).document['name'])
    const revisions = async (): Promise<string[]> => {
      const { tables } = readableTables(company.documents, principals[0]!)
      return await Promise.all(tables.map(async (table) => (await table.read()).revision))
    }
    const before = await revisions()
    assert.equal(before.length, 2)
    assert.deepEqual(await revisions(), before)
    await updateDocument(company.documents, manager, 'Thing', done, { title: 'y' })
    assert.deepEqual(await revisions(), before, 'a document that it may not read')
    await updateDocument(company.documents, manager, 'Thing', open, { title: 'y', parts: [{ part: 'p2' }] })
    assert.ok((await revisions()).every((revision, index) => revision !== before[index]))
  })
})
