import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import { Stop } from '#leaf/stop.ts'
import { chartPoints } from '../../src/analysis/chart-data.ts'
import { exportDocuments } from '../../src/documents/asking/exporting.ts'
import { askableOf } from '../../src/pages/documents/record-question.ts'
import { pageOfRows, sheetOf } from '#ui/lists.ts'
import { recordsOf } from '../../src/pages/documents/records.ts'
import { linkTargets } from '../../src/house/links.ts'
import { Shown } from '../../src/core/shown.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { linkedFrom, linkTitles } from '../../src/documents/asking/links.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/asking/searching.ts'
import { addComment, listBelongings } from '../../src/documents/belongings.ts'
import { describeDoctype } from '../../src/documents/describing.ts'
import { historyOf } from '../../src/documents/history.ts'
import { assignedTo, changedLast } from '../../src/documents/mine.ts'
import { runReport } from '../../src/documents/reports/reports.ts'
import { readableTables } from '../../src/documents/reports/tables.ts'
import { SourceDoor } from '#sources/source-door.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { deleteDocument, updateDocument } from '../../src/documents/writing/updating.ts'
import { postgresDialect, type Statement, tableCollection, type Value } from '#state/postgres.ts'
import type { Condition } from '#state/questions.ts'
import { noPostgres, suitePostgres } from '../helpers/postgres.ts'
import { customer, invoice, openOffice } from './erp.ts'
import { admin, allRows, openCompany, siteOf, someone } from './trading-company.ts'
import { messages } from '../../src/pages/views.ts'

const ann = someone('ann@example.com', 'Clerk')
const bob = someone('bob@example.com', 'Clerk')
const boss = someone('boss@example.com', 'Boss')
const unavailable = (why: RegExp) => (error: { code?: string; message?: string }) =>
  error.code === 'unavailable' && why.test(error.message ?? '')

describe('doctypes over a database of others', { skip: noPostgres }, () => {
  const server = suitePostgres()

  it('are listed, filtered, counted and summed as their rules by row and field say', async (t) => {
    const { documents, faults } = await openOffice(t, server)
    assert.deepEqual(faults, [])
    const page = await listDocuments(documents, ann, { doctype: 'Customer', limit: 3, fields: ['*'] })
    assert.equal(page.total, 20)
    assert.deepEqual(
      page.data.map(({ name }) => name),
      ['40', '38', '36'],
      'the newest first',
    )
    assert.equal(page.data[0]!['customer_name'], 'Customer 40')
    assert.equal(page.data[0]!['country'], 'DE')
    assert.equal(page.data[0]!['secret'], '[masked]')
    assert.equal(page.data[0]!['creation'], '2026-01-02T16:00:00.000Z')
    assert.ok(!('credit' in page.data[0]!), 'another level')
    const filters = { country: 'DE', customer_name: ['like', '%1%'] }
    assert.equal(await countDocuments(documents, ann, 'Customer', filters), 5)
    assert.equal(await countDocuments(documents, bob, 'Customer', filters), 0)
    await assert.rejects(
      countDocuments(documents, ann, 'Customer', { credit: ['>', 1] }),
      /unknown field "credit"/,
    )
    await assert.rejects(countDocuments(documents, ann, 'Customer', { secret: 'word2' }), /masked for you/)
    const sum = { doctype: 'Customer', metrics: [{ function: 'sum' as const, field: 'credit' }] }
    const { rows } = await aggregateDocuments(documents, boss, { ...sum, groupBy: ['kind'] })
    assert.deepEqual(JSON.parse(JSON.stringify(rows)), [
      { kind: 'company', sum_credit: '4305.00' },
      { kind: 'person', sum_credit: '4100.00' },
    ])
    assert.equal(await countDocuments(documents, ann, 'Invoice'), 67)
  })

  it('show a tick in groups as in lists, as documents of our own do', async (t) => {
    const { documents } = await openOffice(t, server, {
      files: {
        'config/doctypes/note.yaml': `doctype: Note\nfields: [{ fieldname: paid, type: check }]
permissions: [{ role: Boss, actions: [read, create] }]`,
      },
    })
    for (const paid of [true, false, false]) await createDocument(documents, boss, 'Note', { paid })
    const metrics = [{ function: 'count' as const }, { function: 'max' as const, field: 'paid' }]
    for (const [doctype, no, yes] of [
      ['Invoice', 67, 33],
      ['Note', 2, 1],
    ] as const) {
      const { rows } = await aggregateDocuments(documents, boss, { doctype, groupBy: ['paid'], metrics })
      assert.deepEqual(rows, [
        { paid: false, count: no, max_paid: false },
        { paid: true, count: yes, max_paid: true },
      ])
      const { data } = await listDocuments(documents, boss, { doctype, fields: ['paid'] })
      assert.deepEqual(new Set(data.map(({ paid }) => paid)), new Set([false, true]))
    }
  })

  it('are read by name with their rows, linked, searched and suggested, and who read them is noted', async (t) => {
    const { documents } = await openOffice(t, server)
    const shown = new Shown()
    const view = await getDocument(documents, { ...ann, shown }, 'Customer', '2')
    assert.deepEqual(view['addresses'], [
      { name: '2/1', idx: 1, city: 'City 2' },
      { name: '2/2', idx: 2, city: 'Paris' },
    ])
    assert.deepEqual(shown.told(), [{ doctype: 'Customer', names: ['2'], count: 1 }])
    for (const name of ['1', '2.0', '02', "2' OR true --", '', '99999999999999999999'])
      await assert.rejects(
        getDocument(documents, ann, 'Customer', name),
        /there is no Customer .* that you may read/,
      )
    const found = await searchDocuments(documents, ann, { words: 'customer 12', limit: 5 })
    assert.deepEqual(
      found.results.map(({ doctype, name }) => [doctype, name]),
      [['Customer', '12']],
    )
    const others = await searchDocuments(documents, bob, { words: 'customer 12', limit: 99 })
    assert.ok(others.results.length > 0 && others.results.every(({ name }) => Number(name) % 2 === 1))
    const { suggestions } = await suggestLinks(documents, ann, {
      doctype: 'Customer',
      typed: 'customer 2',
      limit: 9,
    })
    assert.deepEqual(suggestions.map(({ value }) => value).sort(), ['2', '20', '22', '24', '26', '28'])
    const links = await linkedFrom(documents, boss, 'Customer', '2', 10)
    assert.deepEqual(links.map(({ doctype, name }) => `${doctype} ${name}`).sort(), [
      'Invoice I-1',
      'Invoice I-41',
      'Invoice I-81',
    ])
    assert.equal(describeDoctype(documents, ann, 'Customer')['source'], 'erp (only read)')
  })

  it('that are away leave start pages, and lists of our own that link to them, as they are otherwise', async (t) => {
    const { documents, sql } = await openOffice(t, server)
    await createDocument(documents, ann, 'Visit', { customer: '2' })
    await sql('DROP TABLE erp.invoice; ALTER TABLE erp.customer RENAME TO gone')
    await assert.rejects(getDocument(documents, ann, 'Customer', '2'), unavailable(/Customer/))
    const changed = await changedLast(documents, ann, 5)
    assert.deepEqual(
      changed.map(({ doctype }) => doctype),
      ['Visit'],
    )
    assert.deepEqual(await assignedTo(documents, ann, 5), [])
    const titled = await linkTitles(documents, ann, [{ doctype: 'Customer', name: '2' }])
    assert.equal(titled('Customer', '2'), undefined)
  })

  it('tell nobody a value that the database quotes in an error, of a row that the caller may not read', async (t) => {
    // Customer 3 is Bob's.
    const made = `CASE WHEN id = 3 THEN 'hidden words' ELSE '2026-02-02' END::text`
    const { documents, logged } = await openOffice(t, server, {
      before: `CREATE VIEW erp.people AS SELECT id, name, kind, country, rep, credit, secret, (${made})::timestamptz AS created_at
        FROM erp.customer; GRANT SELECT ON erp.people TO reader`,
      files: {
        'config/doctypes/customer.yaml': customer.replace('table: erp.customer ', 'table: erp.people '),
      },
    })
    const asked = { doctype: 'Customer', filters: { creation: ['>', '2026-01-01'] }, limit: 100 }
    await assert.rejects(
      listDocuments(documents, ann, asked),
      (error: { code?: string; message: string }) => {
        assert.match(error.message, /Customer: the source "erp" refused a value/)
        assert.doesNotMatch(error.message, /hidden/)
        return error.code === 'invalid'
      },
    )
    assert.match(logged.join('\n'), /hidden words/, 'its operator is told')
  })

  it('are linked to from our own documents, which are checked against what is there now', async (t) => {
    const { documents, sql } = await openOffice(t, server)
    const create = (customer: string) => createDocument(documents, ann, 'Visit', { customer })
    const { document } = await create('2')
    await assert.rejects(create('999'), /customer/)
    await sql(
      'DELETE FROM erp.address WHERE customer_id = 2; DELETE FROM erp.invoice WHERE customer_id = 2; DELETE FROM erp.customer WHERE id = 2',
    )
    await assert.rejects(create('2'), /customer/)
    await deleteDocument(documents, ann, 'Visit', String(document['name']))
  })

  it('have comments and a history here, and are changed by nobody, which says so and leaves no trace', async (t) => {
    const { documents, events, sql } = await openOffice(t, server)
    await addComment(documents, ann, 'Customer', '2', 'pays late')
    assert.deepEqual(
      (await listBelongings(documents, ann, 'Customer', '2', 'comment')).map(({ text }) => text),
      ['pays late'],
    )
    assert.equal((await historyOf(documents, ann, 'Customer', '2', 5))[0]!.action, 'comment')
    await assert.rejects(addComment(documents, bob, 'Customer', '2', 'mine'), /there is no Customer "2"/)
    events.length = 0
    const why = /only read/
    await assert.rejects(createDocument(documents, admin, 'Customer', { customer_name: 'X' }), why)
    await assert.rejects(
      updateDocument(documents, admin, 'Customer', '2', { customer_name: 'X' }),
      /may read Customer "2" but not write it|only read/,
    )
    await assert.rejects(
      deleteDocument(documents, admin, 'Customer', '2'),
      /may read Customer "2" but not delete it|only read/,
    )
    assert.deepEqual(events, [])
    await sql(
      `DO $$ BEGIN ASSERT (SELECT count(*) = 40 AND bool_and(name LIKE 'Customer %') FROM erp.customer); END $$`,
    )
  })

  it('are the tables of statements and programs, as fresh as the database and not beyond a bound', async (t) => {
    const { documents, sql } = await openOffice(t, server, {
      files: {
        'config/doctypes/invoice.yaml': invoice.replace(
          'key: [number]',
          'key: [number], analysis: { most_rows: 99 }',
        ),
      },
    })
    const table = () => readableTables(documents, ann).tables.find(({ name }) => name === 'Customer')!
    assert.deepEqual(
      table().columns.map(({ name }) => name),
      ['name', 'owner', 'creation', 'customer_name', 'kind', 'country'],
    )
    const { revision } = await table().read()
    assert.equal((await allRows(table())).length, 20)
    await sql("UPDATE erp.customer SET name = 'Changed' WHERE id = 2")
    assert.notEqual((await table().read()).revision, revision)
    assert.ok((await allRows(table())).some((row) => row.includes('Changed')))
    const rows = readableTables(documents, ann).tables.find(({ name }) => name === 'Address')!
    assert.equal((await allRows(rows)).length, 21)
    const invoices = readableTables(documents, boss).tables.find(({ name }) => name === 'Invoice')!
    await assert.rejects(
      allRows(invoices),
      /Invoice has more than 99 rows that you may read, too many for statements/,
    )
  })

  it('are shown by reports, charts, pages, exports and arguments of prompts, each to whom it may concern', async (t) => {
    const report = `
report: Credit by Country
type: declarative
doctype: Customer
group_by: [country]
columns: [{ name: country }, { name: customers, aggregate: count }]
order_by: country
`
    const { documents, events } = await openOffice(t, server, {
      files: { 'config/reports/credit.yaml': report },
    })
    const run = async (who: typeof ann) => {
      const signal = new AbortController().signal
      const result = await runReport(documents, who, 'Credit by Country', {}, { signal, wait: 1 })
      return 'rows' in result ? JSON.parse(JSON.stringify(result.rows)) : result
    }
    assert.deepEqual(await run(ann), [{ country: 'DE', customers: 20 }])
    assert.deepEqual(await run(boss), [
      { country: 'DE', customers: 20 },
      { country: 'FR', customers: 20 },
    ])
    const chart = {
      chart_name: 'c',
      chart_type: 'bar',
      doctype: 'Customer',
      aggregate_function: 'Count',
      based_on: 'country',
    } as const
    assert.deepEqual(await chartPoints(documents, bob, chart, Date.parse('2026-02-01')), [
      { label: 'FR', value: 20 },
    ])
    events.length = 0
    const lines: string[] = []
    for await (const part of await exportDocuments(documents, ann, { doctype: 'Customer', format: 'jsonl' }))
      lines.push(part)
    const exported = lines
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(exported.length, 20)
    assert.ok(exported.every(({ secret, credit }) => secret === '[masked]' && credit === undefined))
    assert.equal(events[0]!.type, 'document.export')
    assert.equal(events[0]!.documents![0]!.count, 20)
    const names = linkTargets(documents)
    assert.deepEqual((await names.find(ann, 'Customer', '2', 10)).values, ['2', '20', '22', '24', '26', '28'])
    assert.equal(await names.exists(bob, 'Customer', '2'), false)
    assert.equal(await names.exists(ann, 'Customer', '2'), true)
    const reader = { language: 'en', timeZone: 'UTC', messages: messages.en } as const
    const askable = askableOf(documents, ann, 'Customer', reader)
    const asked = { words: '', filters: [], given: [], order: '', columns: [], after: undefined, offset: 0 }
    const source = recordsOf(documents, ann, 'Customer', { askable, reader })
    const page = await pageOfRows(source, asked)
    assert.equal(page.rows[0]!.name, '40')
    assert.equal(page.total, 20)
    const some = { ...asked, columns: askable.fields.map(({ name }) => name) }
    const { rows } = await sheetOf('Customer', source, some)
    assert.match(rows.map((row) => row.join()).join('\n'), /Customer 40.*\[masked\]/)
  })

  it('are unavailable by themselves while their table has changed, name the change to the operator alone, and come back', async (t) => {
    const { documents, tables, sql, logged } = await openOffice(t, server)
    await sql('ALTER TABLE erp.customer RENAME name TO legal_name')
    const list = () => listDocuments(documents, ann, { doctype: 'Customer' })
    await assert.rejects(list(), unavailable(/Customer: the source "erp" failed|has changed/))
    await tables.retry()
    await assert.rejects(
      list(),
      unavailable(
        /^Customer is unavailable: its table in the source "erp" has changed; its operator has been told$/,
      ),
    )
    assert.equal(
      (await listDocuments(documents, ann, { doctype: 'Invoice' })).total,
      67,
      'the others are read',
    )
    const found = await searchDocuments(documents, ann, { words: 'I-1', limit: 5 })
    assert.deepEqual(
      found.results.map(({ name }) => name),
      ['I-1'],
    )
    assert.equal(found.note, 'Customer: cannot be searched now, since the source is away or has changed')
    const [trouble, ...more] = tables.troubles
    assert.deepEqual(more, [])
    assert.deepEqual(trouble!.tools, ['doctype Customer'])
    assert.deepEqual([trouble!.fault.file, trouble!.fault.line], ['config/doctypes/customer.yaml', 14])
    assert.ok(logged.some((line) => line.includes('erp.customer has no column')))
    await sql('ALTER TABLE erp.customer RENAME legal_name TO name')
    await tables.retry()
    assert.equal((await list()).total, 20)
    assert.deepEqual(tables.troubles, [])
  })

  it('keep nothing from starting when they have changed before, which check tells as faults with all places', async (t) => {
    const before =
      "ALTER TABLE erp.customer DROP COLUMN country; ALTER TABLE erp.customer ALTER credit TYPE text; ALTER TYPE erp.kind ADD VALUE 'public'"
    const checked = await openOffice(t, server, { before, serves: false })
    assert.deepEqual(checked.faults, [
      'config/doctypes/customer.yaml:16:5 fields[2].column: erp.customer has no column "country"',
      'config/doctypes/customer.yaml:17:32 fields[3].type: the column "credit" is a text, which no currency shows: make it a text',
    ])
    const { documents, warnings, faults, sql, tables } = await openOffice(t, server, { before })
    assert.deepEqual(faults, [])
    assert.equal(warnings.length, 2)
    assert.equal((await listDocuments(documents, ann, { doctype: 'Invoice' })).total, 67)
    await assert.rejects(getDocument(documents, ann, 'Customer', '2'), unavailable(/has changed/))
    await sql(
      'ALTER TABLE erp.customer ADD country char(2); ALTER TABLE erp.customer ALTER credit TYPE numeric(12,2) USING credit::numeric',
    )
    await tables.retry()
    assert.equal((await getDocument(documents, ann, 'Customer', '2'))['customer_name'], 'Customer 2')
  })

  it('are unavailable while their source is away, whose absence is no fault of the site', async (t) => {
    const { documents, faults, warnings } = await openOffice(t, server, {
      files: {
        'config/sources.yaml':
          'sources: { erp: { type: postgres, host: 127.0.0.1, port: 1, database: x, user: reader } }',
      },
    })
    assert.deepEqual(faults, [])
    assert.match(warnings.join('\n'), /customer\.yaml:5:11 from\.source: the source "erp": .*ECONNREFUSED/)
    await assert.rejects(
      listDocuments(documents, ann, { doctype: 'Customer' }),
      unavailable(
        /^Customer is unavailable: the source "erp" cannot be reached; its operator has been told$/,
      ),
    )
  })

  it('refuse statements, keys that are not unique, logins above row security, and the state of a service', async (t) => {
    const faultsOf = async (from: string, options: Parameters<typeof openOffice>[2] = {}) =>
      (
        await openOffice(t, server, {
          serves: false,
          ...options,
          files: {
            'config/doctypes/invoice.yaml': invoice.replace(
              'from: { source: erp, table: erp.invoice, key: [number], search: [name] }',
              `from: { ${from} }`,
            ),
          },
        })
      ).faults.filter((fault) => fault.includes('invoice.yaml'))
    const wrong = async (from: string, options = {}) => (await faultsOf(from, options)).join('\n')
    await assert.rejects(
      faultsOf('source: erp, table: "(SELECT * FROM erp.invoice)", key: [number]'),
      /names? a table or a view, not a statement/,
    )
    await assert.rejects(
      faultsOf('source: erp, table: pg_catalog.pg_class, key: [oid]'),
      /is a table of the database itself/,
    )
    await assert.rejects(faultsOf('source: wms, table: erp.invoice, key: [number]'), /unknown source "wms"/)
    assert.match(
      await wrong('source: erp, table: erp.bill, key: [number]'),
      /there is no table or view erp\.bill/,
    )
    assert.match(
      await wrong('source: erp, table: erp.invoice, key: [due]'),
      /due may be null: a key never is|key is text, a whole number or a uuid/,
    )
    assert.match(
      await wrong('source: erp, table: erp.invoice, key: [customer_id]'),
      /no unique index of erp\.invoice has customer_id alone/,
    )
    const view = {
      before: 'CREATE VIEW erp.due AS SELECT * FROM erp.invoice; GRANT SELECT ON erp.due TO reader',
    }
    assert.match(
      await wrong('source: erp, table: erp.due, key: [customer_id]', view),
      /customer_id of the view erp\.due are not unique, or null/,
    )
    assert.equal(await wrong('source: erp, table: erp.due, key: [number]', view), '')
    assert.match(
      await wrong('source: erp, table: erp.invoice, key: [number]', { user: 'postgres' }),
      /"postgres" is a superuser or has BYPASSRLS/,
    )
    const state = {
      before:
        'CREATE SCHEMA assistant_core; CREATE TABLE assistant_core.document (id int); GRANT USAGE ON SCHEMA assistant_core TO reader',
    }
    assert.match(
      await wrong('source: erp, table: erp.invoice, key: [number]', state),
      /with the state of this service or of one like it/,
    )
    const owned = {
      before: 'ALTER TABLE erp.invoice ENABLE ROW LEVEL SECURITY; ALTER TABLE erp.invoice OWNER TO reader',
    }
    assert.match(
      await wrong('source: erp, table: erp.invoice, key: [number]', owned),
      /owns erp\.invoice, whose row-level security binds its owner only by FORCE/,
    )
  })

  it('are refused what only our own documents can have, at its line', async () => {
    const files = (more: string, of = invoice) => ({
      'config/doctypes/invoice.yaml': of + more,
      'config/doctypes/customer.yaml': customer,
      'config/doctypes/address.yaml':
        'doctype: Address\nchild: true\nfields: [{ fieldname: city, type: text }]',
      'config/sources.yaml': 'sources: { erp: { type: postgres, host: h, database: d, user: u } }',
    })
    const refused = async (more: string, why: RegExp, of?: string): Promise<void> =>
      await assert.rejects(
        openCompany(undefined as never, { files: siteOf(files(more, of)), seeds: false }),
        why,
      )
    await Promise.all([
      refused(
        'submittable: true',
        /invoice\.yaml:\d+:\d+ submittable: Invoice lies in the source "erp", which is only read/,
      ),
      refused('naming: { rule: hash }', /naming: .*the key is the name/),
      refused('validations: [{ rule: "doc.total > 0", message: no }]', /validations: .*nothing to validate/),
      refused(
        '',
        /actions: .*a rule cannot allow to write/,
        invoice.replace('[read, report]', '[read, write]'),
      ),
      refused(
        '',
        /if_owner: needs a column that says who owns/,
        invoice.replace('when: "not doc.paid"', 'if_owner: true'),
      ),
      refused('', /its table shows no modified/, invoice.replace('not doc.paid', "doc.modified > '2026'")),
      refused('', /only a doctype with "from" has "column"/, invoice.replace(/^from.*$/m, '')),
    ])
  })

  it('tell the database who asks where it has rules of its own, which hold beside ours', async (t) => {
    const before = `ALTER TABLE erp.invoice ENABLE ROW LEVEL SECURITY;
      CREATE POLICY mine ON erp.invoice USING (current_setting('assistant.user', true) = 'ann@example.com' AND customer_id = 2)`
    const { documents } = await openOffice(t, server, { before })
    const as = (asker: typeof ann) => ({ ...documents, asker })
    assert.equal(await countDocuments(as(ann), ann, 'Invoice'), 2)
    assert.equal(await countDocuments(as(bob), bob, 'Invoice'), 0)
    assert.equal(await countDocuments(documents, ann, 'Invoice'), 0, 'who is not told sees nothing')
  })

  it('keep what a report found for one app of a user from another app, which their own rules may show less', async (t) => {
    const before = `ALTER TABLE erp.customer ENABLE ROW LEVEL SECURITY;
      CREATE POLICY app ON erp.customer USING (current_setting('assistant.client', true) = 'trusted' OR country = 'FR')`
    const report = `
report: Credit by Country
type: declarative
doctype: Customer
group_by: [country]
columns: [{ name: country }, { name: customers, aggregate: count }]
order_by: country
cache_seconds: 300
`
    const { documents } = await openOffice(t, server, {
      before,
      files: { 'config/reports/credit.yaml': report },
    })
    const countriesFor = async (client: string | undefined): Promise<unknown> => {
      const who = client === undefined ? boss : { ...boss, client: { id: client, name: client } }
      const signal = new AbortController().signal
      const result = await runReport(documents, who, 'Credit by Country', {}, { signal, wait: 60_000 })
      return 'rows' in result && result.rows.map(({ country }) => country)
    }
    assert.deepEqual(await countriesFor('trusted'), ['DE', 'FR'])
    assert.deepEqual(await countriesFor('other'), ['FR'])
    assert.deepEqual(await countriesFor(undefined), ['FR'])
    assert.deepEqual(await countriesFor('trusted'), ['DE', 'FR'])
  })

  it('are asked in a transaction of their own, which leaves nothing behind in the session, also where it fails', async (t) => {
    const { url } = await openOffice(t, server)
    const port = Number(url.port)
    const source = {
      host: '127.0.0.1',
      port,
      database: url.pathname.slice(1),
      user: 'reader',
      max_connections: 1,
    }
    const door = new SourceDoor(
      { type: 'postgres', ...source },
      () => Promise.resolve(''),
      () => undefined,
    )
    t.after(() => door.close())
    const asker = someone("o'brien\\@example.com", 'Clerk')
    const names = ['assistant.user', 'assistant.roles', 'jit', 'statement_timeout', 'transaction_read_only']
    const settings = names.map((name) => `current_setting('${name}', true)`).join(', ')
    const asked = door.queryable({ asker, tells: true })
    const [told] = await asked.rows({ text: `SELECT ${settings}, $1::int`, values: [7] })
    assert.deepEqual(told, ["o'brien\\@example.com", 'Clerk', 'off', '10s', 'on', 7])
    const wrong = [
      { text: 'SELECT 1 / $1::int', values: [0] },
      { text: 'SELECT nothing FROM nowhere', values: [] },
      { text: 'DELETE FROM erp.customer', values: [] },
    ]
    for (const one of wrong) {
      await assert.rejects(asked.rows(one))
      const { rows } = await door.pool.query({ text: `SELECT ${settings}`, rowMode: 'array' })
      const [user, , jit, timeout, readOnly] = rows[0] as string[]
      assert.deepEqual([user || null, jit, timeout, readOnly], [null, 'on', '0', 'off'], one.text)
    }
    assert.deepEqual(await asked.rows({ text: 'SELECT id FROM erp.customer WHERE id < 0', values: [] }), [])
  })

  it('end what takes too long, and what nobody waits for any more', async (t) => {
    const { documents, holding } = await openOffice(t, server, { more: ', timeout_seconds: 1' })
    const letGo = await holding('LOCK TABLE erp.invoice')
    await assert.rejects(
      getDocument(documents, boss, 'Invoice', 'I-1'),
      unavailable(/Invoice: the source "erp" took too long; ask for less/),
    )
    const stop = new Stop()
    const asked = getDocument({ ...documents, stop }, boss, 'Invoice', 'I-1')
    stop.end(new Error('gone'))
    await assert.rejects(asked, /gone/)
    assert.equal((await listDocuments(documents, ann, { doctype: 'Customer' })).total, 20, 'others are read')
    await letGo()
    assert.equal((await getDocument(documents, boss, 'Invoice', 'I-1'))['total'], 1.1)
  })

  it('never show a document that the database found and the evaluator does not, and log it', async (t) => {
    const { sql, documents } = await openOffice(t, server)
    await sql('SELECT 1')
    const { port } = server
    const database = new URL(await server.newDatabase()).pathname.slice(1)
    const client = new Client({ host: '127.0.0.1', port, database, user: 'postgres' })
    await client.connect()
    t.after(() => client.end())
    await client.query(
      "CREATE TABLE thing (id int PRIMARY KEY, who text); INSERT INTO thing VALUES (1, 'ann'), (2, 'bob')",
    )
    const dialect = postgresDialect
    const column = { column: 'd.who', kind: { is: 'text', type: 'text' }, nullable: true, dialect } as const
    const key = { column: 'd.id', kind: { is: 'text', type: 'int8' }, nullable: false, dialect } as const
    const fields = new Map([['who', column]])
    const shape = { dialect, from: 'thing AS d', key: [key], fields, searched: ['who'] }
    const seen: string[] = []
    const things = tableCollection({
      name: 'Thing',
      differs: (id) => seen.push(id),
      // A database that answers more than it was asked.
      read: (work) =>
        work(
          {
            rows: async ({ text, values }) =>
              (
                await client.query<unknown[]>({
                  text: text.replaceAll('d.who = $1::text', '$1::text IS NOT NULL'),
                  values: [...values],
                  rowMode: 'array',
                })
              ).rows,
          },
          shape,
        ),
    })
    const holds = { call: '=', of: [{ field: 'who' }, { value: 'ann' }] }
    assert.deepEqual(
      (await things.find({ holds })).map(({ id }) => id),
      ['1'],
    )
    assert.deepEqual(
      (await things.page({ holds, limit: 5 }, 0)).found.map(({ id }) => id),
      ['1'],
    )
    assert.deepEqual(seen, ['2', '2'])
    assert.equal((await listDocuments(documents, ann, { doctype: 'Customer' })).total, 20)
  })

  it('take no part of the name of a column for the place of a value', async (t) => {
    const net = { column: 'd."net$1"', kind: { is: 'number', type: 'int4' }, nullable: false } as const
    const namesOf = await thingsIn(t, '(SELECT 1 AS id, 5 AS "net$1" UNION SELECT 2, 6) AS d', { net })
    // A number is below no text: the first value has no place in the statement.
    const below = { call: '<', of: [{ call: 'abs', of: [{ field: 'net' }] }, { value: 'x' }] }
    assert.deepEqual(
      await namesOf({ call: 'or', of: [below, { call: '=', of: [{ field: 'net' }, { value: 6 }] }] }),
      ['2'],
    )
  })

  it('are before and after a text as in JavaScript, whose order is that of UTF-16', async (t) => {
    const texts = [
      '',
      'a',
      'A',
      'ab',
      'a ',
      'é',
      '\ud7ff',
      '\u{1f600}',
      '\u{10ffff}',
      '\ue000',
      '\uffee',
      'a\ue000',
      'a\u{1f600}',
    ]
    const rows = texts.map((text, at) => `(${at}, '${text}')`).join(', ')
    const said = { column: 'd.said', kind: { is: 'text', type: 'text' }, nullable: true } as const
    const from = `(SELECT * FROM (VALUES ${rows}, (99, NULL)) AS v (id, said)) AS d`
    const namesOf = await thingsIn(t, from, { said })
    const signs: Record<string, (a: string, b: string) => boolean> = {
      '<': (a, b) => a < b,
      '<=': (a, b) => a <= b,
      '>': (a, b) => a > b,
      '>=': (a, b) => a >= b,
    }
    for (const value of texts)
      for (const [call, holds] of Object.entries(signs)) {
        const expected = texts.flatMap((text, at) => (holds(text, value) ? [String(at)] : []))
        const found = await namesOf({ call, of: [{ field: 'said' }, { value }] })
        assert.deepEqual(
          found.toSorted((a, b) => Number(a) - Number(b)),
          expected,
          `${call} ${JSON.stringify(value)}`,
        )
      }
  })

  /** Opens rows as documents; returns what finds the names of some. */
  async function thingsIn(
    t: TestContext,
    from: string,
    columns: Readonly<Record<string, Omit<Value, 'dialect'>>>,
  ): Promise<(holds: Condition) => Promise<readonly string[]>> {
    const client = new Client({ connectionString: await server.newDatabase() })
    await client.connect()
    t.after(() => client.end())
    const dialect = postgresDialect
    const key = { column: 'd.id', kind: { is: 'text', type: 'int8' }, nullable: false, dialect } as const
    const fields = new Map(Object.entries(columns).map(([name, one]) => [name, { ...one, dialect }]))
    const on = {
      rows: async ({ text, values }: Statement) =>
        (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' })).rows,
    }
    const things = tableCollection({
      name: 'Thing',
      differs: (id) => assert.fail(id),
      read: (work) => work(on, { dialect, from, key: [key], fields, searched: [] }),
    })
    return async (holds) => (await things.find({ holds })).map(({ id }) => id)
  }
})
