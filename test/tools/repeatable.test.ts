/** Calls that come again with the key of the first: what they wrote is written once, and answered as it was. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Analysis, isAvailable, openAnalysis } from '#sandbox/sandbox.ts'
import type { Principal } from '../../src/core/principal.ts'
import { analysisTools } from '../../src/tools/analysing/analysis-tools.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { admin, hrManager, sales, salesManager, silent } from '../documents/trading-company.ts'
import { type Office, openOffice } from './offices.ts'
import { stateOf } from './scenarios.ts'

const repeatable = { id: 'key of sales', call: 'this call' }
const task = { doctype: 'Task', data: { subject: 'Call the supplier' } }
const day = 86_400_000

/** Calls a tool twice as a client does that has lost the first answer; answers both texts. */
async function twice(office: Office, as: Principal, tool: string, args: unknown): Promise<[string, string]> {
  const first = await office.call(as, tool, args, { repeatable })
  assert.ok(!first.isError, `${tool}: ${first.text}`)
  const [state, count] = [await stateOf(office), written(office)]
  const second = await office.call(as, tool, args, { repeatable })
  assert.ok(!second.isError, `${tool}: ${second.text}`)
  assert.equal(await stateOf(office), state, `${tool}: the second call changes nothing`)
  assert.equal(written(office), count, `${tool}: and tells of no change`)
  return [first.text, second.text]
}

function written({ events }: Office): number {
  return events.filter(({ type }) => type.startsWith('document.')).length
}

describe('a call that may be sent again', () => {
  const writes: [tool: string, args: object, as?: Principal][] = [
    ['create_document', task],
    ['create_document', { ...task, data: { ...task.data, priority: 'High' }, submit: false }],
    ['update_document', { doctype: 'Task', name: 'TASK-00001', data: { subject: 'Another' } }],
    [
      'bulk_update',
      { doctype: 'Task', names: ['TASK-00001', 'TASK-00002'], data: { status: 'Done' } },
      admin,
    ],
    ['add_comment', { doctype: 'Task', name: 'TASK-00001', comment: 'Seen' }],
    ['assign', { doctype: 'Task', name: 'TASK-00001', user: 'sales@example.com' }],
    ['delete_document', { doctype: 'Task', name: 'TASK-00001' }, admin],
    ['attach_file', { doctype: 'Task', name: 'TASK-00001', file_name: 'a.txt', text: 'a' }],
  ]
  for (const [tool, args, as = sales] of writes)
    it(`writes once and answers twice: ${tool}`, async (t) => {
      const office = await openOffice(t, { toolsYaml: '{}' })
      const [first, second] = await twice(office, as, tool, args)
      assert.equal(second, first)
      const told = office.events
        .filter(({ type }) => type === 'tool.call')
        .map(({ data }) => data?.['repeats'])
      assert.deepEqual(told, [undefined, true], 'the log tells the second from the first')
    })

  it('writes again with another key, and with none', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    const names = new Set<unknown>()
    for (const caller of [{ repeatable }, { repeatable: { ...repeatable, id: 'other' } }, {}, {}])
      names.add(JSON.parse((await office.call(sales, 'create_document', task, caller)).text).name)
    assert.equal(names.size, 4)
  })

  it('is refused with the key of another call, and nothing is changed', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    await office.answer(sales, 'create_document', task)
    await office.call(sales, 'create_document', task, { repeatable })
    const state = await stateOf(office)
    office.events.length = 0
    const other = { repeatable: { ...repeatable, call: 'other arguments' } }
    const { text, isError, refused } = await office.call(sales, 'create_document', task, other)
    assert.ok(isError)
    assert.equal(refused, 'invalid')
    assert.match(text, /this idempotency key was used for another call/)
    assert.equal(await stateOf(office), state)
    assert.deepEqual(
      office.events.map(({ type, status }) => [type, status]),
      [['tool.call', 'error']],
    )
  })

  it('that failed is tried anew: nothing of it was kept', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    const update = {
      doctype: 'Task',
      name: 'TASK-00001',
      data: { subject: 'B' },
      expected_modified: '2020-01-01',
    }
    const refused = await office.call(sales, 'update_document', update, { repeatable })
    assert.match(refused.text, /was changed by/)
    const { expected_modified: _, ...free } = update
    const done = await office.call(sales, 'update_document', free, { repeatable })
    assert.ok(!done.isError, done.text)
  })

  it('that only tries keeps nothing, so the same key may then do it', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    const tried = await office.call(sales, 'create_document', { ...task, dry_run: true }, { repeatable })
    assert.ok(!tried.isError)
    const made = await office.call(sales, 'create_document', task, {
      repeatable: { ...repeatable, call: 'in earnest' },
    })
    assert.equal(JSON.parse(made.text).name !== undefined, true, made.text)
  })

  it('takes no more room with its answers than the documents of its user may, which they took without end', async (t) => {
    const office = await openOffice(t, {
      toolsYaml: '{}',
      quota: { max_documents_per_user: 0, max_bytes_per_user: 350_000 },
    })
    const note = { doctype: 'Note', data: { title: 'Long', content: 'x'.repeat(99_000) } }
    const { name } = await office.answer(sales, 'create_document', note)
    // What changes nothing costs no quota, and its answer is kept all the same.
    const call = (id: string) =>
      office.call(
        sales,
        'update_document',
        { doctype: 'Note', name, data: { title: 'Long' } },
        { repeatable: { id, call: id } },
      )
    for (const id of ['a', 'b', 'c']) assert.ok(!(await call(id)).isError)
    const state = await stateOf(office)
    office.events.length = 0
    const { text, isError } = await call('d')
    assert.ok(isError, text)
    assert.match(text, /as much room as your documents may; call without a key, or tomorrow/)
    assert.equal(await stateOf(office), state)
    assert.ok(!(await call('a')).isError, 'what is kept is answered')
    assert.deepEqual(
      office.events.map(({ type, status }) => [type, status]),
      [
        ['tool.call', 'error'],
        ['tool.call', 'ok'],
      ],
    )
    office.clock.forward(day)
    assert.ok(!(await call('e')).isError)
  })

  it('is forgotten after a day', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    const make = async (): Promise<unknown> =>
      JSON.parse((await office.call(sales, 'create_document', task, { repeatable })).text).name
    const first = await make()
    office.clock.forward(day - 60_000)
    assert.equal(await make(), first)
    office.clock.forward(120_000)
    assert.notEqual(await make(), first)
  })

  it('is made at the same time as the first: one of them writes', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => office.call(sales, 'create_document', task, { repeatable })),
    )
    assert.equal(new Set(outcomes.map(({ text }) => text)).size, 1)
    assert.equal(written(office), 1)
  })

  it('is not asked of a person again, once it was allowed and done', async (t) => {
    const office = await openOffice(t, { toolsYaml: 'tools: { delete_document: { confirm: client } }' })
    let asked = 0
    const confirm = async (): Promise<string | undefined> => (asked++ === 0 ? undefined : 'no')
    const args = { doctype: 'Task', name: 'TASK-00001' }
    for (const _ of [1, 2]) {
      const { isError, text } = await office.call(admin, 'delete_document', args, { repeatable, confirm })
      assert.ok(!isError, text)
    }
    assert.equal(asked, 1)
    const { text } = await office.call(admin, 'delete_document', args, { confirm })
    assert.equal(text, 'no', 'without the key it is a call like any other')
  })

  it('is refused to who may not use the tool any more', async (t) => {
    const office = await openOffice(t, { toolsYaml: 'tools: { create_document: { roles: [Sales User] } }' })
    await office.call(sales, 'create_document', task, { repeatable })
    const { refused, text } = await office.call(hrManager, 'create_document', task, { repeatable })
    assert.equal(refused, 'forbidden', text)
  })
})

describe('a call of several writes that may be sent again', () => {
  let analysis: Analysis
  before(async () => {
    analysis = await openAnalysis({ log: silent })
  })
  after(() => analysis.close())

  it('goes on where it was cut: no write twice, none left out', async (t) => {
    if (!isAvailable(analysis.charts)) return t.skip(analysis.charts.unavailable)
    const tools = [
      ...builtInTools,
      ...analysisTools(analysis, { now: () => Date.parse('2026-07-01T12:00:00Z') }),
    ]
    const office = await openOffice(t, { tools, toolsYaml: 'tools: {}' })
    const chart = { chart_name: 'By status', chart_type: 'bar', doctype: 'Sales Order' }
    const made = await office.answer(salesManager, 'create_dashboard_chart', {
      ...chart,
      aggregate_function: 'Count',
      based_on: 'status',
    })
    const args = {
      dashboard_name: 'Cut in two',
      chart_names: [made['chart_id']],
      share_with: ['sales@example.com'],
    }
    // What comes behind the dashboard fails, as it does when the daemon ends in between.
    const { store } = office.documents
    const whole = store.transaction.bind(store)
    store.transaction = (work) => {
      if (written(office) < 2) return whole(work)
      store.transaction = whole
      return Promise.reject(new Error('the daemon ended'))
    }
    const cut = await office.call(salesManager, 'create_dashboard', args, { repeatable })
    assert.ok(cut.isError)
    assert.equal(written(office), 2, 'the chart, and the dashboard')
    const again = await office.call(salesManager, 'create_dashboard', args, { repeatable })
    assert.ok(!again.isError, again.text)
    const { data } = await office.answer(salesManager, 'list_documents', {
      doctype: 'Dashboard',
      filters: { dashboard_name: 'Cut in two' },
    })
    assert.equal(data.length, 1)
    const kept = await office.answer(salesManager, 'get_document', {
      doctype: 'Dashboard Chart',
      name: made['chart_id'],
    })
    assert.deepEqual(kept['data'].shared_users, ['sales@example.com'])
  })
})
