/** What the audit log keeps of each call: how it ended, what was answered, and which documents were shown or changed. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AuditEvent } from '#audit/audit.ts'
import { firstPrev, lineText, tellEvent } from '#audit/line.ts'
import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { Stop } from '#leaf/stop.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { admin, buyer, hrManager, plain, sales, siteOf, someone } from '../documents/trading-company.ts'
import { openOffice, type Office } from './offices.ts'

type View = Record<string, unknown>

const clerk = someone('clerk@example.com', 'Assistant User', 'Clerk')
const empty = siteOf({ 'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]' })

function tool(name: string, run: (args: unknown) => Promise<unknown>, timeout = 1000) {
  return defineTool({
    name,
    title: name,
    description: 'For a test.',
    category: 'read_only',
    input: { type: 'object', properties: { value: { type: 'string' } }, additionalProperties: false },
    timeout,
    run,
  })
}

const endings = [
  tool('say', () => Promise.resolve({ said: 'x' })),
  tool('fail', () => Promise.resolve({ success: false, why: 'no' })),
  tool('refuse', () => Promise.reject(new AppError('forbidden', 'you may not'))),
  tool('break', () => Promise.reject(new TypeError('broken'))),
  tool('hang', () => new Promise(() => undefined), 10),
]

describe('the record of a call', () => {
  const cases: [string, string, unknown, AuditEvent['status'], boolean][] = [
    ['that did what it was asked', 'say', { value: 'a' }, 'ok', true],
    ['that says itself that it failed', 'fail', { value: 'a' }, 'error', false],
    ['that a permission refused', 'refuse', { value: 'a' }, 'denied', false],
    ['that broke', 'break', { value: 'a' }, 'error', false],
    ['that took too long', 'hang', { value: 'a' }, 'timeout', false],
    ['of a tool that is not there', 'nothing', { value: 'a' }, 'denied', false],
    ['with arguments that do not fit', 'say', { other: 'a' }, 'error', false],
  ]
  for (const [name, called, args, status, success] of cases)
    it(`${name} has success, time and arguments`, async (t) => {
      const { call, events } = await openOffice(t, { files: empty, tools: endings })
      await call(plain, called, args)
      assert.equal(events.length, 1)
      const [event] = events
      assert.equal(event?.status, status)
      assert.equal(event.success, success)
      assert.equal(typeof event.execution_time, 'number')
      assert.deepEqual(event.data?.['arguments'], args)
      assert.equal(event.error === undefined, success)
    })

  it('whose caller went away is cancelled, not denied', async (t) => {
    const { call, events } = await openOffice(t, { files: empty, tools: endings })
    const gone = new Stop()
    const running = call(plain, 'hang', {}, { stop: gone })
    gone.end(new Error('gone'))
    await running
    assert.equal(events[0]?.status, 'cancelled')
    assert.equal(events[0]?.success, false)
  })

  it('keeps the answer without secrets, and counts what is more than the log keeps', async (t) => {
    const answer = { token: 'abc', rows: Array.from({ length: 500 }, (_, n) => ({ n, text: 'some words' })) }
    const tools = [
      tool('answer', () => Promise.resolve(answer)),
      tool('text', () => Promise.resolve('x'.repeat(900))),
    ]
    const { call, events } = await openOffice(t, { files: empty, tools, maxResultBytes: 300 })
    await call(plain, 'answer')
    const kept = events[0]!.result as unknown as { token: string; rows: unknown[] }
    assert.equal(kept.token, '[redacted]')
    assert.deepEqual(kept.rows[0], { n: 0, text: 'some words' })
    assert.equal(kept.rows.at(-1), `...${500 - (kept.rows.length - 1)} more`)
    assert.ok(JSON.stringify(kept).length < 600, JSON.stringify(kept))
    await call(plain, 'text')
    assert.equal(events[1]!.result, `${'x'.repeat(300)}...600 more`)
  })

  it('keeps what has no secret as it was answered, a text as a text', async (t) => {
    const answers: Record<string, unknown> = {
      words: 'She said "yes"',
      rows: { rows: [{ n: 1, name: 'Müller' }] },
      nothing: null,
      dated: { at: new Date(0) },
    }
    const tools = Object.entries(answers).map(([name, answer]) => tool(name, () => Promise.resolve(answer)))
    const { call, events } = await openOffice(t, { files: empty, tools })
    for (const [name, answer] of Object.entries(answers)) {
      await call(plain, name)
      const line = lineText(tellEvent(events.at(-1)!, isoTime(0), 16_384), 1, firstPrev)
      const { result } = JSON.parse(line) as AuditEvent
      assert.deepEqual(result, JSON.parse(JSON.stringify(answer)), name)
    }
  })

  it('keeps no answer where the site wants none', async (t) => {
    const { call, events } = await openOffice(t, { files: empty, tools: endings, maxResultBytes: 0 })
    await call(plain, 'say')
    assert.equal(events[0]?.success, true)
    assert.equal(events[0]?.result, undefined)
  })

  it('has no pay, though its reader may see it', async (t) => {
    const { answer, events } = await openOffice(t)
    const [row] = (await answer(hrManager, 'list_documents', { doctype: 'Employee', limit: 1 }))['data'] as [
      { name: string },
    ]
    const employee = await answer(hrManager, 'get_document', { doctype: 'Employee', name: row.name })
    assert.equal(typeof (employee['data'] as View)['salary'], 'number')
    const read = events.at(-1)!
    assert.equal(((read.result as View)['data'] as View)['salary'], '[redacted]')
    const data = { salary: 98_765 }
    await answer(hrManager, 'update_document', { doctype: 'Employee', name: row.name, data })
    const [change, call] = events.slice(-2)
    assert.equal(change?.type, 'document.update')
    assert.deepEqual(change.changes, [{ field: 'salary', from: '[redacted]', to: '[redacted]' }])
    assert.ok(!JSON.stringify([change, call]).includes('98765'))
  })
})

describe('a read', () => {
  const reads: [string, string, object, (office: Office) => Promise<string[]>][] = [
    ['a list', 'list_documents', { doctype: 'Customer', limit: 3 }, (office) => names(office, 3)],
    ['one document', 'get_document', { doctype: 'Customer' }, (office) => names(office, 1)],
    [
      'rows for analysis',
      'list_documents',
      { doctype: 'Customer', fields: ['territory'], limit: 2 },
      (office) => names(office, 2),
    ],
  ]
  for (const [what, called, args, expected] of reads)
    it(`of ${what} names the documents that came back`, async (t) => {
      const office = await openOffice(t)
      const wanted = await expected(office)
      const named = called === 'get_document' ? { ...args, name: wanted[0] } : args
      await office.answer(sales, called, named)
      assert.deepEqual(office.events.at(-1)?.documents, [
        { doctype: 'Customer', names: wanted, count: wanted.length },
      ])
    })

  it('by words names what was found, and a suggestion what was suggested', async (t) => {
    const { answer, events } = await openOffice(t)
    const { results } = (await answer(sales, 'search_documents', { query: 'north', limit: 5 })) as {
      results: { doctype: string; name: string }[]
    }
    assert.ok(results.length > 0)
    assert.deepEqual(
      events
        .at(-1)
        ?.documents?.flatMap(({ doctype, names }) => names.map((name) => `${doctype}/${name}`))
        .sort(),
      results.map(({ doctype, name }) => `${doctype}/${name}`).sort(),
    )
    const { results: suggested } = (await answer(sales, 'search_link', {
      doctype: 'Customer',
      query: '',
    })) as {
      results: { columns: string[]; rows: string[][] }
    }
    const value = suggested.columns.indexOf('value')
    assert.deepEqual(
      events.at(-1)?.documents?.[0]?.names,
      suggested.rows.map((row) => row[value]),
    )
  })

  it('of many names the first hundred and counts all', async (t) => {
    const { call, answer, events } = await openOffice(t)
    for (let n = 0; n < 120; n++)
      await answer(sales, 'create_document', { doctype: 'Note', data: { title: `n${n}` } })
    await call(sales, 'list_documents', { doctype: 'Note', limit: 120 })
    const [shown] = events.at(-1)!.documents!
    assert.equal(shown?.names.length, 100)
    assert.equal(shown.count, 120)
  })

  it('that was refused, or that found nothing, names none', async (t) => {
    const { call, events } = await openOffice(t)
    await call(plain, 'list_documents', { doctype: 'Customer' })
    await call(sales, 'get_document', { doctype: 'Customer', name: 'Nobody' })
    await call(sales, 'list_documents', { doctype: 'Customer', filters: { name: 'Nobody' } })
    assert.equal(events.length, 3)
    assert.deepEqual(
      events.map(({ documents }) => documents),
      [undefined, undefined, undefined],
    )
  })

  it('of a kept report names again what it was made of', async (t) => {
    const files = siteOf({
      'config/doctypes/a.yaml':
        'doctype: Thing\nfields: [{fieldname: title, type: text}]\npermissions: [{role: Clerk, actions: [read, create, report]}]',
      'config/reports/a.yaml':
        'report: Things\ndescription: All of them.\ntype: declarative\ndoctype: Thing\ncolumns: [{name: name}, {name: title}]\ncache_seconds: 300',
    })
    const { answer, events } = await openOffice(t, { files, tools: builtInTools })
    await answer(clerk, 'create_document', { doctype: 'Thing', data: { title: 'One' } })
    const shown: unknown[] = []
    for (let asked = 0; asked < 2; asked++) {
      await answer(clerk, 'generate_report', { report_name: 'Things' })
      shown.push(events.at(-1)?.documents?.map(({ doctype, count }) => [doctype, count]))
    }
    assert.deepEqual(shown, [[['Thing', 1]], [['Thing', 1]]])
  })

  it('of a tool that is called by a tool is told by the call that made it', async (t) => {
    const asks = defineTool({
      name: 'ask',
      title: 'Ask',
      description: 'For a test.',
      category: 'read_only',
      input: { type: 'object', properties: {} },
      run: async (_, { callTool }) =>
        (await callTool('list_documents', { doctype: 'Customer', limit: 1 })).text.length > 0,
    })
    const { answer, events } = await openOffice(t, { tools: [...builtInTools, asks], toolsYaml: 'tools: {}' })
    await answer(sales, 'ask')
    const [inner, outer] = events
    assert.deepEqual([inner?.target, outer?.target], ['list_documents', 'ask'])
    assert.equal(inner?.documents?.[0]?.count, 1)
    assert.equal(outer?.documents, undefined)
  })

  it('that is not kept keeps back the documents of the answer, and says of a change that it is done', async (t) => {
    const shows = (name: string, category: 'read_only' | 'write') =>
      defineTool({
        name,
        title: name,
        description: 'For a test.',
        category,
        input: { type: 'object', properties: {} },
        run: (_, { principal }) => {
          principal.shown?.note('Thing', ['T-1'])
          return Promise.resolve({ secret: 'T-1' })
        },
      })
    const tools = [...endings, shows('look', 'read_only'), shows('change', 'write')]
    const office = await openOffice(t, { files: empty, tools })
    t.mock.method(office.documents.audit, 'record', ({ documents }: AuditEvent) =>
      documents
        ? Promise.reject(new AppError('unavailable', 'it was not kept'))
        : new Promise(() => undefined),
    )
    const texts = []
    for (const name of ['look', 'change', 'say']) texts.push((await office.call(plain, name)).text)
    assert.deepEqual(texts, [
      'it was not kept (try again later)',
      'change is done, but it was not kept; look what became of it before you call it again',
      '{"said":"x"}',
    ])
    assert.deepEqual(
      office.logged.map(({ message }) => message),
      Array.from({ length: 2 }, () => 'what was answered could not be audited'),
    )
  })
})

describe('a write', () => {
  it('tells each field with its old and its new value', async (t) => {
    const { answer, events } = await openOffice(t)
    const { name } = (await answer(sales, 'create_document', {
      doctype: 'Note',
      data: { title: 'First' },
    })) as { name: string }
    const created = events.find(({ type }) => type === 'document.create')
    assert.ok(
      created?.changes?.some((one) => one.field === 'title' && one.from === null && one.to === 'First'),
    )
    const target = { doctype: 'Note', name }
    await answer(sales, 'update_document', { ...target, data: { title: 'Second' } })
    const updated = events.find(({ type }) => type === 'document.update')
    assert.deepEqual(updated?.changes, [{ field: 'title', from: 'First', to: 'Second' }])
    await answer(admin, 'delete_document', target)
    const deleted = events.find(({ type }) => type === 'document.delete')
    assert.ok(
      deleted?.changes?.some((one) => one.field === 'title' && one.from === 'Second' && one.to === null),
    )
  })

  it('tells nothing that was only tried', async (t) => {
    const { answer, events } = await openOffice(t)
    await answer(sales, 'create_document', {
      doctype: 'Note',
      data: { title: 'Not kept' },
      validate_only: true,
    })
    assert.deepEqual(
      events.map(({ type }) => type),
      ['tool.call'],
    )
  })

  it('keeps no value of a field that not every reader sees', async (t) => {
    const { answer, events } = await openOffice(t)
    await answer(buyer, 'create_document', {
      doctype: 'Supplier',
      data: { supplier_name: 'Secretive', bank_account: 'DE00 1234' },
    })
    assert.ok(!JSON.stringify(events).includes('DE00'), JSON.stringify(events))
    const created = events.find(({ type }) => type === 'document.create')
    assert.ok(created?.changes?.some((one) => one.field === 'bank_account' && one.to === '[redacted]'))
  })
})

/** The newest customers that a sales user sees. */
async function names({ answer, events }: Office, limit: number): Promise<string[]> {
  const { data } = (await answer(sales, 'list_documents', { doctype: 'Customer', limit })) as {
    data: { name: string }[]
  }
  events.length = 0
  return data.map(({ name }) => name)
}
