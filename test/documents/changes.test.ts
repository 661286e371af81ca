import { deleteDocument, updateDocument } from '../../src/documents/writing/updating.ts'
import { searchDocuments } from '../../src/documents/asking/searching.ts'
import { runReport } from '../../src/documents/reports/reports.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { historyOf } from '../../src/documents/history.ts'
import { explainAccess } from '../../src/documents/explaining.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { addComment, attachFile, listBelongings, readAttachment } from '../../src/documents/belongings.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AppError } from '#leaf/errors.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import type { RunSql } from '../../src/documents/reports/run-sql.ts'
import { readPeople } from '../../src/users/read-people.ts'
import {
  admin,
  hr,
  hrManager,
  openCompany,
  plain,
  sales,
  salesManager,
  siteOf,
  someone,
} from './trading-company.ts'

const clerk = someone('clerk@example.com', 'Clerk')

describe('changes at the same time', () => {
  it('are never lost: of many with the same expected_modified one wins', async (t) => {
    const { documents } = await openCompany(t)
    const { document } = await createDocument(documents, sales, 'Task', { subject: 'x' })
    const expectedModified = String(document['modified'])
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        updateDocument(
          documents,
          sales,
          'Task',
          String(document['name']),
          { progress: n + 1 },
          { expectedModified },
        ),
      ),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const result of results)
      if (result.status === 'rejected') assert.equal((result.reason as AppError).code, 'conflict')
  })

  it('to different fields are all kept, each in the history', async (t) => {
    const { documents } = await openCompany(t)
    const { document } = await createDocument(documents, sales, 'Sales Order', {
      customer: 'Müller Bau',
      items: Array.from({ length: 20 }, () => ({ item: 'ITEM-1', qty: 1, rate: 1 })),
    })
    const name = String(document['name'])
    const rows = document['items'] as { name: string }[]
    await Promise.all(
      rows.map((row, n) =>
        updateDocument(documents, sales, 'Sales Order', name, { items: [{ name: row.name, qty: n + 2 }] }),
      ),
    )
    const after = await getDocument(documents, sales, 'Sales Order', name)
    assert.deepEqual(
      (after['items'] as { qty: number }[]).map(({ qty }) => qty),
      rows.map((_, n) => n + 2),
    )
    assert.equal(
      after['total'],
      rows.reduce((total, _, n) => total + n + 2, 0),
    )
    const history = await historyOf(documents, sales, 'Sales Order', name, 100)
    assert.equal(history.length, 21)
    assert.ok(history[0]!.time > history[20]!.time)
  })
})

describe('rows', () => {
  it('are patched by their id, added without, removed with _delete, and replaced when none has an id', async (t) => {
    const { documents } = await openCompany(t)
    const row = (qty: number) => ({ item: 'ITEM-1', qty, rate: 1 })
    const { document } = await createDocument(documents, sales, 'Sales Order', {
      customer: 'Müller Bau',
      items: [row(1), row(2), row(3)],
    })
    const name = String(document['name'])
    const [a, b] = document['items'] as { name: string }[]
    const quantities = async (items: unknown) =>
      (
        (await updateDocument(documents, sales, 'Sales Order', name, { items })).document['items'] as {
          qty: number
          idx: number
        }[]
      ).map(({ qty, idx }) => [idx, qty])
    assert.deepEqual(
      await quantities([{ name: a!.name, qty: 10 }, { name: b!.name, _delete: true }, row(4)]),
      [
        [1, 10],
        [2, 3],
        [3, 4],
      ],
    )
    assert.deepEqual(await quantities([row(7)]), [[1, 7]])
  })
})

describe('a tree', () => {
  it('has no document below itself', async (t) => {
    const { documents } = await openCompany(t)
    const hire = async (employee_name: string, reports_to?: string) =>
      String(
        (
          await createDocument(documents, hr, 'Employee', {
            employee_name,
            department: 'HR',
            date_of_joining: '2026-01-01',
            reports_to,
          })
        ).document['name'],
      )
    const top = await hire('A')
    const middle = await hire('B', top)
    const bottom = await hire('C', middle)
    for (const boss of [bottom, middle, top])
      await assert.rejects(updateDocument(documents, hr, 'Employee', top, { reports_to: boss }), {
        code: 'invalid',
        message: /would stand below itself/,
      })
    await updateDocument(documents, hr, 'Employee', bottom, { reports_to: top })
  })
})

describe('an attachment field', () => {
  it('holds a file that hangs on the document, and nothing else', async (t) => {
    const yaml = `doctype: Thing\nnaming: { rule: prompt }\nfields: [{ fieldname: scan, type: attachment }]\npermissions: [{ role: Clerk, actions: [read, write, create] }]`
    const { documents } = await openCompany(t, { files: siteOf({ 'config/doctypes/thing.yaml': yaml }) })
    await createDocument(documents, clerk, 'Thing', { name: 'one' })
    const set = () => updateDocument(documents, clerk, 'Thing', 'one', { scan: 'scan.pdf' })
    await assert.rejects(set(), { code: 'invalid', message: /no file "scan.pdf" is attached/ })
    await attachFile(documents, clerk, 'Thing', 'one', {
      fileName: 'scan.pdf',
      mimeType: 'application/pdf',
      content: Buffer.from('x'),
    })
    assert.deepEqual((await set()).updatedFields, ['scan'])
  })
})

describe('what was read can be sent back', () => {
  it('with masked and computed values, which stay as they are', async (t) => {
    const { documents } = await openCompany(t)
    const before = await getDocument(documents, hrManager, 'Employee', 'EMP-0001')
    const seen = await getDocument(documents, hr, 'Employee', 'EMP-0001')
    const { updatedFields, warnings } = await updateDocument(documents, hr, 'Employee', 'EMP-0001', {
      ...seen,
      designation: 'Chief',
    })
    assert.deepEqual(updatedFields, ['designation'])
    assert.deepEqual(warnings, [])
    assert.equal(
      (await getDocument(documents, hrManager, 'Employee', 'EMP-0001'))['salary'],
      before['salary'],
    )
  })
})

describe('a document with very many comments and changes', () => {
  it('shows the newest of them, oldest first for comments, up to about a megabyte', async (t) => {
    const { documents } = await openCompany(t)
    const { document } = await createDocument(documents, admin, 'Note', { title: 'much' })
    const name = String(document['name'])
    for (let n = 0; n < 110; n++) {
      await addComment(documents, admin, 'Note', name, `${n} ${'c'.repeat(9990)}`)
      if (n < 20)
        await updateDocument(documents, admin, 'Note', name, { content: `${n}${'x'.repeat(90_000)}` })
    }
    const comments = await listBelongings(documents, admin, 'Note', name, 'comment')
    assert.ok(comments.length > 90 && comments.length < 110, String(comments.length))
    const numbers = comments.map(({ text }) => Number(text.split(' ')[0]))
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    )
    assert.equal(numbers.at(-1), 109)
    const changes = (await historyOf(documents, admin, 'Note', name, 1000)).filter(
      (one) => one.changes.length,
    )
    assert.ok(changes.length < 12, String(changes.length))
  })
})

describe('a document of a deleted one’s name', () => {
  it('has none of its history, comments or files', async (t) => {
    const { documents } = await openCompany(t)
    await createDocument(documents, admin, 'Customer', { customer_name: 'Twice', city: 'Bonn' })
    await updateDocument(documents, admin, 'Customer', 'Twice', { city: 'Ulm' })
    await addComment(documents, admin, 'Customer', 'Twice', 'secret')
    await attachFile(documents, admin, 'Customer', 'Twice', {
      fileName: 'a',
      mimeType: 'text/plain',
      content: Buffer.from('x'),
    })
    const [file] = await listBelongings(documents, admin, 'Customer', 'Twice', 'attachment')
    await deleteDocument(documents, admin, 'Customer', 'Twice')
    await assert.rejects(readAttachment(documents, admin, file!.id), { code: 'not_found' })
    await createDocument(documents, sales, 'Customer', { customer_name: 'Twice' })
    assert.deepEqual(
      (await historyOf(documents, sales, 'Customer', 'Twice', 10)).map(({ action }) => action),
      ['create'],
    )
    assert.deepEqual(await listBelongings(documents, sales, 'Customer', 'Twice', 'comment'), [])
    assert.deepEqual(await listBelongings(documents, sales, 'Customer', 'Twice', 'attachment'), [])
  })
})

describe('the search index', () => {
  it('follows every change, and counts only what may be read', async (t) => {
    const { documents } = await openCompany(t)
    const total = async (who: typeof sales, words: string) =>
      (await searchDocuments(documents, who, { words, doctype: 'Lead', limit: 5 })).total
    assert.equal(await total(admin, 'Quokka'), 0)
    const { document } = await createDocument(documents, sales, 'Lead', { lead_name: 'Quokka Beuteltier' })
    await createDocument(documents, salesManager, 'Lead', { lead_name: 'Quokka Zwei' })
    assert.equal(await total(admin, 'quokka'), 2)
    assert.equal(await total(admin, 'Quoka'), 2)
    assert.equal(await total(sales, 'quokka'), 1)
    await updateDocument(documents, sales, 'Lead', String(document['name']), { lead_name: 'Wombat' })
    assert.equal(await total(sales, 'quokka'), 0)
    assert.equal(await total(sales, 'womb'), 1)
    await deleteDocument(documents, sales, 'Lead', String(document['name']))
    assert.equal(await total(sales, 'wombat'), 0)
    await createDocument(documents, sales, 'Lead', { lead_name: 'Numbat' }, { dryRun: true })
    assert.equal(await total(sales, 'numbat'), 0)
  })

  it('does not match words in fields that one cannot read', async (t) => {
    const { documents } = await openCompany(t)
    await updateDocument(documents, admin, 'Employee', 'EMP-0001', { bank_account: 'XYZZY-1' })
    const total = async (who: typeof sales) =>
      (await searchDocuments(documents, who, { words: 'XYZZY', doctype: 'Employee', limit: 5 })).total
    assert.equal(await total(hrManager), 1)
    assert.equal(await total(hr), 0)
    assert.equal(await total(plain), 0)
  })
})

describe('a changed doctype', () => {
  it('works on the documents that are there, without writing them anew', async (t) => {
    const first = `doctype: Thing\nnaming: { rule: prompt }\nfields: [{ fieldname: a, type: text }, { fieldname: gone, type: text }]\npermissions: [{ role: Clerk, actions: [read, write, create] }]`
    const second = first
      .replace('gone', 'fresh')
      .replace('type: text }]', 'type: select, options: [x, y], default: x, index: true }]')
    const { documents } = await openCompany(t, {
      files: siteOf({ 'config/doctypes/thing.yaml': first }),
    })
    await createDocument(documents, clerk, 'Thing', { name: 'one', a: '1', gone: 'kept' })
    const files = siteOf({ 'config/doctypes/thing.yaml': second })
    const platform = readPlatform(files, [], readPeople(files, []))
    const later = { ...documents, platform }
    const seen = await getDocument(later, clerk, 'Thing', 'one')
    assert.equal(seen['a'], '1')
    assert.equal(seen['gone'], undefined)
    assert.equal(await countDocuments(later, clerk, 'Thing', { fresh: 'x' }), 0)
    await updateDocument(later, clerk, 'Thing', 'one', { a: '2' })
    assert.equal((await getDocument(documents, clerk, 'Thing', 'one'))['gone'], 'kept')
    await createDocument(later, clerk, 'Thing', { name: 'two' })
    assert.equal(await countDocuments(later, clerk, 'Thing', { fresh: 'x' }), 1)
  })
})

describe('reports', () => {
  const runSql: RunSql = ({ parameters, tables }) =>
    Promise.resolve({
      columns: [{ name: 'tables' }, { name: 'from' }],
      rows: [[tables.tables.map(({ name }) => name).join(), parameters['from_date']]],
    })

  it('give a statement the declared tables and their filters, and keep its result for the same asker', async (t) => {
    let runs = 0
    const { documents, clock } = await openCompany(t, { runSql: (request) => (runs++, runSql(request)) })
    const run = (who: typeof sales) =>
      runReport(
        documents,
        who,
        'Item Sales',
        { from_date: '2026-02-01' },
        { signal: new AbortController().signal, wait: 1000 },
      )
    const result = await run(sales)
    assert.ok('rows' in result)
    assert.deepEqual(result.rows, [{ tables: 'Item,Sales Order,Sales Order Item', from: '2026-02-01' }])
    await run(sales)
    assert.equal(runs, 1)
    await run(salesManager)
    assert.equal(runs, 2)
    clock.forward(301_000)
    await run(sales)
    assert.equal(runs, 3)
  })

  it('read days in words as lists do, and refuse a period where one day is due', async (t) => {
    const { documents } = await openCompany(t, { runSql })
    const run = (name: string, filters: Readonly<Record<string, unknown>>) =>
      runReport(documents, salesManager, name, filters, { signal: new AbortController().signal, wait: 1000 })
    const item = await run('Item Sales', { from_date: 'start of last quarter' })
    assert.ok('rows' in item)
    assert.equal(item.rows[0]!['from'], '2026-04-01')
    await assert.rejects(
      run('Item Sales', { from_date: 'last quarter' }),
      /is a period, 2026-04-01 to 2026-06-30/,
    )
    const listed = await run('Sales by Customer', { from_date: 'last quarter' })
    assert.ok('rows' in listed)
    assert.equal(listed.filters['from_date'], '2026-04-01')
    await assert.rejects(run('Sales by Customer', { from_date: 'soon' }), /from_date: must be a date such as/)
  })

  it('answer that they still run, and what came of it later', async (t) => {
    let finish = (): void => undefined
    const { documents } = await openCompany(t, {
      runSql: () =>
        new Promise((resolve) => (finish = () => resolve({ columns: [{ name: 'n' }], rows: [[1]] }))),
    })
    const run = () =>
      runReport(
        documents,
        sales,
        'Item Sales',
        { from_date: '2026-02-01' },
        { signal: new AbortController().signal, wait: 5 },
      )
    assert.ok('pending' in (await run()))
    finish()
    const result = await run()
    assert.ok('rows' in result)
    assert.deepEqual(result.rows, [{ n: 1 }])
  })
})

describe('explanations', () => {
  it('name the deciding rule with its line', async (t) => {
    const { documents } = await openCompany(t)
    const explained = async (who: typeof sales, doctype: string, name: string | undefined, action: string) =>
      (await explainAccess(documents, who, doctype, name)).actions.find((other) => other.action === action)!
    const order = (
      await listDocuments(documents, admin, {
        doctype: 'Sales Order',
        filters: { owner: 'admin@example.com', docstatus: 0 },
        limit: 1,
      })
    ).data[0]!
    const read = await explained(sales, 'Sales Order', String(order['name']), 'read')
    assert.deepEqual([read.allowed, read.because], [true, 'role Sales User'])
    assert.match(read.source, /^config\/doctypes\/sales-order\.yaml:\d+$/)
    const write = await explained(sales, 'Sales Order', String(order['name']), 'write')
    assert.equal(write.allowed, false)
    assert.match(write.because, /no rule matches: role Sales User, own documents/)
    assert.equal((await explained(hr, 'Lead', undefined, 'read')).allowed, false)
    const { hidden, masked } = await explainAccess(documents, hr, 'Employee', 'EMP-0001')
    assert.deepEqual([hidden, masked], [[], ['salary', 'bank_account']])
  })
})

describe('a site that is wrong', () => {
  it('is told with every fault at its place', () => {
    const files = siteOf({
      'config/doctypes/a.yaml': `doctype: Thing
title_field: nope
fields:
  - { fieldname: owner, type: text }
  - { fieldname: to, type: link, doctype: Thin }
  - { fieldname: pick, type: select }
  - { fieldname: secret, type: number, level: 1 }
  - { fieldname: twice, type: number, computed: secret * 2 }
  - { fieldname: bad, type: number, computed: "1 +" }
  - { fieldname: to, type: date, default: soon }
permissions:
  - { role: Clrk, actions: [read, submit], when: "nope = 1" }
validations:
  - { rule: "process.exit(1)", message: no }
`,
      'config/doctypes/b.yaml':
        'doctype: Other\nfields: [{ fieldname: rows, type: table, doctype: Thing, colour: red }]',
      'config/workflows/w.yaml':
        'workflow: W\ndoctype: Thing\nstates: [{ state: A }, { state: B, docstatus: 1 }]\ntransitions: [{ from: A, action: go, to: C, roles: [Nobody], when: "1 = " }]',
      'config/reports/r.yaml':
        'report: R\ntype: declarative\ndoctype: Thing\ncolumns: [{ name: x }]\nroles: [Nobody]',
      'config/clients.yaml': 'limits: [{ clients: [a], roles: [Nobody] }]',
    })
    const faults: Fault[] = []
    readPlatform(files, faults, readPeople(files, []))
    const all = faults.map(faultText).join('\n')
    for (const wanted of [
      /a\.yaml:2:\d+ title_field: unknown field "nope"/,
      /a\.yaml:4:.*"owner" is a name that every document has/,
      /a\.yaml:5:.*unknown doctype "Thin"; did you mean "Thing"\?/,
      /a\.yaml:6:.*a select needs options/,
      /a\.yaml:8:.*reads secret, which fewer people may see/,
      /a\.yaml:9:.*expression: unexpected "the end"/,
      /a\.yaml:10:.*"to" is there twice/,
      /a\.yaml:10:.*must be a date/,
      /a\.yaml:12:.*unknown role "Clrk"; did you mean "Clerk"\?/,
      /a\.yaml:12:.*Thing is not submittable/,
      /a\.yaml:12:.*unknown field "nope"/,
      /a\.yaml:14:.*unknown function "process.exit"/,
      /b\.yaml:2:.*colour: unknown key/,
      /w\.yaml:3:.*Thing is not submittable/,
      /w\.yaml:4:.*unknown state "C"/,
      /w\.yaml:4:.*unknown role "Nobody"/,
      /r\.yaml:4:.*unknown field "x"/,
      /r\.yaml:5:.*unknown role "Nobody"/,
      /clients\.yaml:1:.*unknown role "Nobody"/,
    ])
      assert.match(all, wanted)
  })
})
