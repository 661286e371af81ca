/** What a model is told: of whom, of how many, of where to look, and of what its tools can do; in few tokens. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { builtInTools } from '../../src/tools/index.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { admin, hr, sales, salesManager, siteOf, someone } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'

const publicUrl = 'https://assistant.example.com'

describe('totals', () => {
  it('say how many drafts, submitted and cancelled documents they counted', async (t) => {
    const { answer } = await openOffice(t)
    const states = async (filters?: unknown): Promise<Record<string, any>> =>
      await answer(sales, 'count_documents', {
        doctype: 'Sales Order',
        ...(filters !== undefined && { filters }),
      })
    const { count, counted } = await states()
    assert.ok(counted.draft > 0 && counted.submitted > 0)
    assert.equal(counted.draft + counted.submitted + counted.cancelled, count)
    const submitted = await states({ docstatus: 'submitted' })
    assert.deepEqual([submitted['count'], submitted['counted'].draft], [counted.submitted, 0])
    const sum = await answer(sales, 'aggregate', {
      doctype: 'Sales Order',
      metrics: [{ function: 'sum', field: 'grand_total' }],
    })
    assert.deepEqual(sum['counted'], counted)
    const report = await answer(salesManager, 'generate_report', {
      report_name: 'Sales by Customer',
      filters: { from_date: '2000-01-01' },
    })
    assert.ok(report['counted'].submitted > 0)
    assert.equal((await answer(sales, 'count_documents', { doctype: 'Customer' }))['counted'], undefined)
    const info = await answer(sales, 'get_doctype_info', { doctype: 'Sales Order' })
    assert.match(info['docstatus'], /0 draft, 1 submitted, 2 cancelled/)
    assert.ok(info['fields_of_every_document'].includes('docstatus'))
  })
})

describe('rows', () => {
  it('are columns and lists above a handful, and objects up to it, also for a program', async (t) => {
    const { answer, call } = await openOffice(t)
    const list = { doctype: 'Customer', fields: ['name', 'territory'] }
    const few = await answer(sales, 'list_documents', { ...list, limit: 5 })
    assert.deepEqual(Object.keys(few['data'][0]), ['name', 'territory'])
    const many = await answer(sales, 'list_documents', { ...list, limit: 6 })
    assert.deepEqual(many['data'].columns, ['name', 'territory'])
    assert.equal(many['data'].rows.length, 6)
    assert.deepEqual(Object.values(few['data'][0]), many['data'].rows[0])
    const confirm = () => Promise.resolve(undefined)
    const { text } = await call(sales, 'list_documents', { ...list, limit: 6 }, { program: true, confirm })
    assert.equal(JSON.parse(text).data.length, 6)
  })

  it('tell how many there are once where all are there, and nothing that the caller sent', async (t) => {
    const { answer, call } = await openOffice(t)
    const whole = { doctype: 'Customer', filters: { territory: 'North' }, fields: ['name'], limit: 100 }
    const { data, ...rest } = await answer(sales, 'list_documents', whole)
    assert.deepEqual(rest, { total_count: data.rows.length })
    const part = { ...whole, limit: 2 }
    const { data: two, ...about } = await answer(sales, 'list_documents', part)
    assert.equal(two.length, 2)
    assert.deepEqual(about, { count: 2, total_count: data.rows.length, has_more: true, next_offset: 2 })
    assert.deepEqual(
      await answer(sales, 'count_documents', { doctype: 'Customer', filters: whole.filters }),
      {
        count: data.rows.length,
      },
    )
    const report = { report_name: 'Sales by Customer', filters: { from_date: '2000-01-01' } }
    const told = Object.keys(await answer(salesManager, 'generate_report', report))
    assert.deepEqual(
      told.filter((key) => key === 'columns' || key === 'report_name'),
      [],
    )
    const confirm = () => Promise.resolve(undefined)
    const { text } = await call(sales, 'list_documents', whole, { program: true, confirm })
    const { data: all, ...full } = JSON.parse(text)
    assert.deepEqual(full, {
      doctype: 'Customer',
      count: all.length,
      total_count: all.length,
      has_more: false,
    })
  })

  it('are audited with their names, so that what is redacted by name stays so', async (t) => {
    const { call, events } = await openOffice(t, { maxResultBytes: 100_000 })
    await call(hr, 'list_documents', { doctype: 'Employee', fields: ['name', 'department'], limit: 9 })
    const { result } = events.find(({ type }) => type === 'tool.call') as any
    assert.deepEqual(Object.keys(result.data[0]), ['name', 'department'])
  })

  it('have the fields that people know a document by: name, title, day, state and main amount', async (t) => {
    const { answer } = await openOffice(t)
    const usual = async (doctype: string): Promise<readonly string[]> =>
      Object.keys((await answer(admin, 'list_documents', { doctype, limit: 1 }))['data'][0])
    assert.deepEqual(await usual('Sales Order'), [
      'name',
      'customer',
      'order_date',
      'status',
      'total',
      'docstatus',
    ])
    assert.deepEqual(await usual('Task'), ['name', 'subject', 'due_date', 'status'])
  })

  it('come with a cursor only for who asks for one', async (t) => {
    const { answer } = await openOffice(t)
    const list = { doctype: 'Customer', fields: ['name'], limit: 5 }
    const plain = await answer(sales, 'list_documents', list)
    assert.deepEqual([plain['next_cursor'], plain['next_offset']], [undefined, 5])
    const first = await answer(sales, 'list_documents', { ...list, cursor: '' })
    const second = await answer(sales, 'list_documents', { ...list, cursor: first['next_cursor'] })
    assert.deepEqual(first['data'], plain['data'])
    const { data } = await answer(sales, 'list_documents', { ...list, offset: 5 })
    assert.deepEqual(second['data'], data)
  })
})

describe('an error', () => {
  it('tells a missing value as missing, and never as negative', async (t) => {
    const { call } = await openOffice(t)
    const order = { doctype: 'Sales Order', data: { customer: 'Müller Bau', items: [{ item: 'x', qty: 1 }] } }
    const { text, isError } = await call(sales, 'create_document', order)
    assert.ok(isError)
    assert.match(text, /items\[0\]\.rate is required/)
    assert.doesNotMatch(text, /negative/)
    const bad = { ...order, data: { ...order.data, items: [{ item: 'x', qty: 1, rate: -1 }] } }
    assert.match((await call(sales, 'create_document', bad)).text, /rate must not be negative/)
  })

  it('of a list that cannot join names the tool that can', async (t) => {
    const { call } = await openOffice(t)
    for (const args of [{ filters: { 'customer.territory': 'North' } }, { order_by: 'customer.territory' }])
      assert.match(
        (await call(sales, 'list_documents', { doctype: 'Sales Order', ...args })).text,
        /query_and_analyze joins|cannot read/,
      )
    const group = { doctype: 'Sales Order', group_by: ['customer.territory'] }
    assert.match((await call(sales, 'aggregate', group)).text, /query_and_analyze joins doctypes/)
  })
})

describe('addresses', () => {
  it('of reports are those of their pages, with the filters that were in force', async (t) => {
    const { call } = await openOffice(t)
    const ask = async (name: string, args: unknown, from: object = { publicUrl }): Promise<any> =>
      JSON.parse((await call(salesManager, name, args, from)).text)
    const report = { report_name: 'Open Sales Orders' }
    const page = `${publicUrl}/reports/Open%20Sales%20Orders`
    assert.equal((await ask('report_list', {})).url, `${publicUrl}/reports`)
    assert.equal((await ask('report_requirements', report)).url, page)
    assert.equal((await ask('generate_report', report)).url, page)
    const filters = { customer: 'Müller Bau', due_before: 'today' }
    const asked = '?f.customer=M%C3%BCller+Bau&f.due_before=2026-07-01'
    assert.equal((await ask('generate_report', { ...report, filters })).url, page + asked)
    assert.equal((await ask('generate_report', report, {})).url, undefined)
  })

  it('are those of the pages of the service', async (t) => {
    const { call } = await openOffice(t)
    const ask = async (name: string, args: unknown): Promise<any> =>
      JSON.parse((await call(sales, name, args, { publicUrl })).text)
    const address = `${publicUrl}/documents/Customer/M%C3%BCller%20Bau`
    const { results } = await ask('search', { query: 'Müller Bau' })
    assert.ok(results.some(({ url }: { url: string }) => url === address))
    assert.equal((await ask('fetch', { id: 'Customer/Müller Bau' })).url, address)
    assert.equal((await ask('get_document', { doctype: 'Customer', name: 'Müller Bau' })).url, address)
    const made = await ask('create_document', {
      doctype: 'Task',
      data: { subject: 'Call', assigned_to: 'me', due_date: 'tomorrow' },
    })
    assert.equal(made.url, `${publicUrl}/documents/Task/${made.name}`)
    assert.deepEqual([made.data.assigned_to, made.data.due_date], [sales.user, '2026-07-02'])
    const tried = await ask('create_document', { doctype: 'Task', data: { subject: 'Call' }, dry_run: true })
    assert.equal(tried.url, undefined)
  })
})

describe('a tool', () => {
  it('that may replace or end something says so to clients', async (t) => {
    const { catalogue } = await openOffice(t)
    const destructive = catalogue
      .offered(admin)
      .filter(({ annotations }) => annotations.destructiveHint)
      .map(({ tool }) => tool.name)
    assert.deepEqual(destructive, [
      'bulk_update',
      'cancel_document',
      'delete_document',
      'remove_attachment',
      'run_workflow',
      'submit_document',
      'update_document',
    ])
    assert.ok(
      catalogue.offered(admin).every(({ annotations: of }) => !of.readOnlyHint || !of.destructiveHint),
    )
  })

  it('of which a list speaks is there: actions that none of the offered tools can do are left out', async (t) => {
    const allowed = async (tools: readonly Tool[], doctype: string): Promise<readonly string[]> => {
      const { answer } = await openOffice(t, { tools, toolsYaml: '{}' })
      const { doctypes } = await answer(salesManager, 'list_doctypes')
      const { columns, rows } = doctypes
      const found = rows.find((row: unknown[]) => row[columns.indexOf('doctype')] === doctype)
      const { permissions } = await answer(salesManager, 'get_doctype_info', { doctype })
      assert.deepEqual(permissions, found[columns.indexOf('allowed')])
      return permissions
    }
    const without = (...names: string[]): Tool[] => builtInTools.filter(({ name }) => !names.includes(name))
    assert.ok((await allowed(builtInTools, 'Task')).includes('delete'))
    assert.deepEqual(await allowed(without('delete_document', 'assign', 'add_comment'), 'Task'), [
      'read',
      'write',
      'create',
      'report',
    ])
    assert.deepEqual(
      await allowed(builtInTools, 'Dashboard Chart').then((all) => all.includes('create')),
      true,
    )
    assert.ok(!(await allowed(without('create_document'), 'Dashboard Chart')).includes('create'))
  })

  it('tells whom it serves and which day it is', async (t) => {
    const { answer } = await openOffice(t)
    const { you } = await answer(sales, 'list_doctypes')
    assert.deepEqual(
      [you.user, you.name, you.today, you.time_zone],
      [sales.user, sales.fullName, '2026-07-01', 'UTC'],
    )
    assert.ok(you.roles.includes('Sales User'))
  })

  it('of the site may be called destructive by its category, as before', async (t) => {
    const tool: Tool = {
      name: 'wipe',
      title: 'Wipe',
      description: 'x',
      category: 'privileged',
      input: { type: 'object' },
      run: () => Promise.resolve('done'),
    }
    const files = siteOf({
      'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]',
    })
    const { catalogue } = await openOffice(t, { files, tools: [tool] })
    assert.equal(catalogue.offered(someone('x@example.com', 'Clerk'))[0]!.annotations.destructiveHint, true)
  })
})
