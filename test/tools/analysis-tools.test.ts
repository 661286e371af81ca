import { countDocuments } from '../../src/documents/aggregating.ts'
import { attachFile } from '../../src/documents/belongings.ts'
import { createDocument } from '../../src/documents/creating.ts'
import { getDocument } from '../../src/documents/reading.ts'
import { updateDocument } from '../../src/documents/updating.ts'
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Analysis, isAvailable, openAnalysis } from '../../src/analysis/analysis.ts'
import type { PythonProgram } from '../../src/analysis/python/python.ts'
import { systemClock } from '../../src/core/clock.ts'
import { messageOf } from '../../src/core/errors.ts'
import { analysisTools } from '../../src/tools/analysis-tools.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { docx } from '../analysis/sample-files.ts'
import { admin, hr, plain, sales, salesManager, silent, someone } from '../documents/trading-company.ts'
import { openOffice, type Office } from './offices.ts'

let analysis: Analysis
before(async () => {
  analysis = await openAnalysis({ log: silent })
})
after(() => analysis.close())

/** Why a part cannot be tested on this machine, said to the test. */
function missing(t: TestContext, part: keyof Pick<Analysis, 'sql' | 'python' | 'files' | 'charts'>): boolean {
  const found = analysis[part]
  if (isAvailable(found)) return false
  t.skip(found.unavailable)
  return true
}

async function office(t: TestContext, limits = {}): Promise<Office> {
  const own = analysisTools(analysis, { now: () => Date.parse('2026-07-01T12:00:00Z') })
  const names = new Set(own.map(({ name }) => name))
  return await openOffice(t, {
    tools: [...builtInTools.filter(({ name }) => !names.has(name)), ...own],
    limits,
    toolsYaml: 'tools: {}',
  })
}

describe('query_and_analyze', () => {
  it('answers over what the caller may read, and audits the statement', async (t) => {
    if (missing(t, 'sql')) return
    const { answer, documents, events } = await office(t)
    const query =
      'SELECT status, count(*) AS orders, sum(grand_total) AS total FROM sales_order GROUP BY status ORDER BY status'
    const found = await answer(admin, 'query_and_analyze', { query })
    assert.equal(found['success'], true)
    assert.ok(found['data'].length > 1)
    const all = await countDocuments(documents, admin, 'Sales Order')
    assert.equal(
      found['data'].reduce((sum: number, row: { orders: number }) => sum + row.orders, 0),
      all,
    )
    const audited = events.find(({ type }) => type === 'tool.call')
    assert.deepEqual(audited?.data?.['arguments'], { query })
  })

  it('has the older name too, and knows nothing of doctypes that are not the caller’s', async (t) => {
    if (missing(t, 'sql')) return
    const { call, answer } = await office(t)
    const refused = await call(hr, 'run_database_query', { query: 'SELECT * FROM sales_order' })
    assert.equal(refused.isError, true)
    assert.match(refused.text, /there is no table "sales_order" that you may read; tables: /)
    const schema = await answer(hr, 'query_and_analyze', {
      query: 'SELECT 1 AS one',
      include_schema_info: true,
    })
    assert.equal(schema['schema_info'].sales_order, undefined)
    assert.equal(schema['schema_info'].employee.doctype, 'Employee')
    assert.equal(schema['schema_info'].employee.columns.salary, undefined)
  })

  it('analyzes the rows as deeply as asked', async (t) => {
    if (missing(t, 'sql')) return
    const { answer } = await office(t)
    const query = 'SELECT name, grand_total, total_qty, status FROM sales_order'
    const {
      analysis: found,
      data,
      has_more: more,
    } = await answer(admin, 'query_and_analyze', { query, analysis_type: 'detailed', limit: 5 })
    assert.deepEqual([data.length, more], [5, true])
    assert.ok(found.basic_info.total_rows > 5)
    assert.ok(found.statistical_summary.grand_total.mean > 0)
    assert.equal(found.correlation_matrix.grand_total.grand_total, 1)
    assert.ok(found.unique_value_counts.status.length > 1)
    assert.equal(found.missing_values.name, 0)
  })

  it('cuts whole rows to the budget and says so', async (t) => {
    if (missing(t, 'sql')) return
    const { answer } = await office(t, { max_result_bytes: 4000 })
    const found = await answer(admin, 'query_and_analyze', { query: 'SELECT * FROM sales_order', limit: 100 })
    assert.ok(found['rows_returned'] < 20)
    assert.equal(found['has_more'], true)
    assert.match(found['note'], /rows were left out/)
    assert.equal(found['data'].length, found['rows_returned'])
  })

  it('joins child tables', async (t) => {
    if (missing(t, 'sql')) return
    const { answer } = await office(t)
    const { data } = await answer(sales, 'query_and_analyze', {
      query:
        'SELECT count(*) AS n FROM sales_order_item i JOIN sales_order o ON o.name = i.parent WHERE o.owner <> $me AND o.docstatus = 0',
      parameters: { me: sales.user },
    })
    assert.equal(typeof data[0].n, 'number')
  })
})

describe('run_python_code', () => {
  it('is not there for those who are no System Manager', async (t) => {
    if (missing(t, 'python')) return
    const { catalogue } = await office(t)
    assert.equal(catalogue.find(sales, 'run_python_code'), 'forbidden')
    assert.ok(!catalogue.offered(salesManager).some(({ tool }) => tool.name === 'run_python_code'))
    assert.ok(catalogue.offered(admin).some(({ tool }) => tool.name === 'run_python_code'))
  })

  it('runs over a query, calls tools under the same permission, and audits each call', async (t) => {
    if (missing(t, 'python')) return
    const { answer, events } = await office(t)
    const found = await answer(admin, 'run_python_code', {
      code: `
page = tools.get_documents('Customer', {}, ['name', 'territory'], 3)
one = tools.get_document('Customer', page['data'][0]['name'])
errors = []
for call in (lambda: tools.create_document(doctype='Note', data={}), lambda: tools.run_python_code(code='1'), lambda: tools.nope(), lambda: tools.list_documents(limit='x')):
    try:
        call()
    except ToolError as e:
        errors.append(str(e))
rows = len(data)
print(rows)`,
      data_query: { doctype: 'Sales Order', fields: ['name', 'grand_total'], limit: 7 },
      return_variables: ['page', 'errors', 'rows'],
    })
    assert.equal(found['success'], true, JSON.stringify(found['error']))
    assert.equal(found['output'], '7\n')
    assert.equal(found['variables'].page.data.length, 3)
    assert.deepEqual(found['variables'].errors.slice(0, 3), [
      'create_document does more than read; it must be called by itself',
      'run_python_code does more than read; it must be called by itself',
      'unknown tool "nope"',
    ])
    assert.match(found['variables'].errors[3], /doctype/)
    assert.equal(found['execution_info'].tool_calls, 6)
    const audited = events
      .filter(({ type }) => type === 'tool.call')
      .map(({ target, status }) => `${target} ${status}`)
    assert.deepEqual(audited, [
      'list_documents ok',
      'get_document ok',
      'create_document denied',
      'run_python_code denied',
      'nope denied',
      'list_documents error',
      'run_python_code ok',
    ])
  })

  it('reports an error with its line and advice as a failure', async (t) => {
    if (missing(t, 'python')) return
    const { call } = await office(t)
    const { isError, text } = await call(admin, 'run_python_code', { code: 'import nothing_like_it' })
    assert.equal(isError, true)
    const { error } = JSON.parse(text)
    assert.deepEqual([error.type, error.line], ['ModuleNotFoundError', 1])
    assert.match(error.advice, /installed packages/)
  })

  it('keeps variables and output within the budget', async (t) => {
    if (missing(t, 'python')) return
    const { answer, call } = await office(t, { max_result_bytes: 5000 })
    const printed = await answer(admin, 'run_python_code', {
      code: 'print("x" * 100000)\ny = 1',
      return_variables: ['y'],
    })
    assert.ok(printed['output'].length < 5000)
    assert.match(printed['output_note'], /more characters were printed/)
    const large = await call(admin, 'run_python_code', { code: 'y = "x" * 10000', return_variables: ['y'] })
    assert.equal(large.isError, true)
    assert.match(large.text, /return a summary/)
  })

  it('returns figures as images', async (t) => {
    if (missing(t, 'python')) return
    const { call } = await office(t)
    const { content, text } = await call(admin, 'run_python_code', {
      code: 'import matplotlib.pyplot as p\np.plot([1, 3, 2])',
    })
    if (/ModuleNotFound/.test(text)) return t.skip('matplotlib is not installed')
    assert.deepEqual(
      content.map((block) => (block.type === 'image' ? block.mimeType : block.type)),
      ['image/png'],
    )
  })
})

describe('analyze_business_data', () => {
  it('gives each of the five analyses over permitted rows', async (t) => {
    const { answer, documents } = await office(t)
    const analyze = async (kind: string, more = {}) =>
      (
        await answer(salesManager, 'analyze_business_data', {
          doctype: 'Sales Order',
          analysis_type: kind,
          ...more,
        })
      )['analysis_result']
    const profile = await analyze('profile')
    assert.equal(profile.record_count, await countDocuments(documents, salesManager, 'Sales Order'))
    assert.equal(profile.fields.grand_total.type, 'decimal')
    assert.ok(profile.fields.status.unique > 1)
    assert.ok((await analyze('statistics')).statistics.grand_total.std > 0)
    const trends = await analyze('trends', { date_field: 'order_date', fields: ['grand_total'] })
    assert.ok(trends.date_range.total_days > 30)
    assert.ok(['increasing', 'decreasing', 'stable'].includes(trends.trends.grand_total.monthly.direction))
    const quality = await analyze('quality')
    assert.ok(quality.overall_score > 0 && quality.overall_score <= 100)
    const related = await analyze('correlations', { fields: ['total', 'grand_total'] })
    assert.deepEqual(related.strong_correlations[0].fields, ['total', 'grand_total'])
  })

  it('counts no row that the caller may not read', async (t) => {
    const { answer, call } = await office(t)
    const mine = await answer(plain, 'analyze_business_data', { doctype: 'Task', analysis_type: 'profile' })
    assert.equal(mine['record_count'], 0)
    assert.match(
      (await call(hr, 'analyze_business_data', { doctype: 'Sales Order', analysis_type: 'profile' })).text,
      /list_doctypes/,
    )
    assert.match(
      (
        await call(hr, 'analyze_business_data', {
          doctype: 'Employee',
          analysis_type: 'statistics',
          fields: ['salary'],
        })
      ).text,
      /salary/,
    )
  })
})

describe('extract_file_content', () => {
  it('reads an attachment by id or by its document and name', async (t) => {
    if (missing(t, 'files')) return
    const { answer, call, documents } = await office(t)
    const { document } = await createDocument(documents, sales, 'Note', { title: 'Offer' })
    const name = String(document['name'])
    const file = { fileName: 'offer.docx', mimeType: 'application/octet-stream', content: docx() }
    const { id } = await attachFile(documents, sales, 'Note', name, file)
    const byId = await answer(sales, 'extract_file_content', { operation: 'extract', attachment: id })
    assert.match(byId['content'], /# Offer/)
    const tables = await answer(sales, 'extract_file_content', {
      operation: 'extract_tables',
      doctype: 'Note',
      name,
      file_name: 'offer.docx',
    })
    assert.deepEqual(tables['tables'][0].columns, ['Item', 'Price'])
    // Whoever may not read the document may not read what hangs on it.
    const other = await call(plain, 'extract_file_content', { operation: 'extract', attachment: id })
    assert.equal(other.isError, true)
    assert.doesNotMatch(other.text, /Offer|Bolt/)
    assert.match(
      (await call(sales, 'extract_file_content', { operation: 'ocr', attachment: id })).text,
      /ocr reads images/,
    )
  })
})

describe('charts and dashboards', () => {
  const chart = {
    chart_name: 'By status',
    chart_type: 'bar',
    doctype: 'Sales Order',
    aggregate_function: 'Count',
  }

  it('draws a chart, keeps its definition and none of its numbers', async (t) => {
    if (missing(t, 'charts')) return
    const { call, documents } = await office(t)
    const { content, text, isError } = await call(salesManager, 'create_dashboard_chart', chart)
    assert.equal(isError, false, text)
    const answer = JSON.parse(text)
    assert.ok(answer.data_points > 1)
    assert.deepEqual(answer.warnings.slice(0, 1), ['based_on was not given; status was chosen'])
    const [image] = content
    assert.ok(image?.type === 'image' && ['image/png', 'image/svg+xml'].includes(image.mimeType))
    const stored = await getDocument(documents, salesManager, 'Dashboard Chart', answer.chart_id)
    assert.doesNotMatch(JSON.stringify(stored), /"value":\s*\d/)
    assert.deepEqual((stored['vega_lite'] as { data: unknown }).data, { name: 'rows' })
  })

  it('shows a shared dashboard over the data of whoever looks', async (t) => {
    if (missing(t, 'charts')) return
    const { answer, call, documents } = await office(t)
    const made = await answer(salesManager, 'create_dashboard_chart', {
      ...chart,
      chart_name: 'Tasks',
      doctype: 'Task',
      based_on: 'status',
    })
    await answer(salesManager, 'create_dashboard', {
      dashboard_name: 'Mine',
      chart_names: [made['chart_id']],
      share_with: ['HR User'],
    })
    const own = await call(salesManager, 'list_user_dashboards', { dashboard: 'Mine' })
    const seen = await call(hr, 'list_user_dashboards', { dashboard: 'Mine' })
    assert.equal(seen.isError, false, seen.text)
    assert.equal(own.content.length, 1)
    assert.equal(seen.content.length, 1)
    const counted = (text: string): number =>
      JSON.parse(text).charts[0].points.reduce((sum: number, { value }: { value: number }) => sum + value, 0)
    assert.equal(counted(own.text), await countDocuments(documents, salesManager, 'Task'))
    assert.equal(counted(seen.text), await countDocuments(documents, hr, 'Task'))
    assert.ok(counted(own.text) > counted(seen.text))
    assert.match(
      (await call(plain, 'list_user_dashboards', { dashboard: 'Mine' })).text,
      /there is no dashboard/,
    )
    const listed = await answer(hr, 'list_user_dashboards')
    assert.deepEqual(
      listed['dashboards'].map((one: { dashboard_name: string; shared: boolean }) => [
        one.dashboard_name,
        one.shared,
      ]),
      [['Mine', true]],
    )
  })

  it('names everything that is wrong with a chart at once, and keeps nothing', async (t) => {
    if (missing(t, 'charts')) return
    const { call, documents } = await office(t)
    const before = await countDocuments(documents, salesManager, 'Dashboard Chart')
    const { text, isError } = await call(salesManager, 'create_dashboard_chart', {
      ...chart,
      aggregate_function: 'Sum',
      value_based_on: 'status',
      based_on: 'statsu',
    })
    assert.equal(isError, true)
    assert.match(
      text,
      /value_based_on: status is a select field, not one of numbers; based_on: .*did you mean "status"/,
    )
    assert.equal(await countDocuments(documents, salesManager, 'Dashboard Chart'), before)
    assert.equal(
      (
        await call(salesManager, 'create_dashboard', {
          dashboard_name: 'x',
          chart_names: ['nope'],
          share_with: ['Nobody'],
        })
      ).isError,
      true,
    )
  })

  it('draws nothing that a changed specification would load, and survives one that never ends', async (t) => {
    if (missing(t, 'charts')) return
    const { answer, call, documents } = await office(t)
    const made = await answer(salesManager, 'create_dashboard_chart', chart)
    await answer(salesManager, 'create_dashboard', { dashboard_name: 'Odd', chart_names: [made['chart_id']] })
    const odd = [
      { mark: 'bar', width: 1e9, encoding: { x: { field: 'label' } } },
      {
        mark: 'bar',
        transform: [{ calculate: 'sequence(1e9)', as: 'z' }],
        encoding: { x: { field: 'label' } },
      },
      { mark: 'no such mark' },
      { mark: 'image', encoding: { url: { value: 'http://127.0.0.1:1/x.png' } } },
    ]
    const refused: number[] = []
    for (const [index, spec] of odd.entries()) {
      try {
        await updateDocument(documents, salesManager, 'Dashboard Chart', made['chart_id'], {
          vega_lite: spec,
        })
      } catch (error) {
        assert.match(messageOf(error), /not allowed in a chart|mark is none of/)
        refused.push(index)
        continue
      }
      const { text, isError } = await call(salesManager, 'list_user_dashboards', { dashboard: 'Odd' })
      assert.equal(isError, false, text)
      const [shown] = JSON.parse(text).charts
      assert.ok(index === 3 || typeof shown.error === 'string', text)
      assert.doesNotMatch(text, /node_modules|at async/)
    }
    assert.deepEqual(refused, [1, 2, 3])
  })
})

describe('what a machine cannot give', () => {
  it('is not offered, with the reason and the remedy for the operator', async () => {
    const bare = await openAnalysis({
      log: silent,
      isolation: {
        kind: 'process',
        reason: 'bubblewrap is not installed',
        mend: 'apt-get install bubblewrap',
      },
    })
    const names = analysisTools(bare, systemClock).map(({ name }) => name)
    assert.ok(!names.includes('run_python_code'))
    assert.ok(names.includes('analyze_business_data'))
    assert.deepEqual(
      bare.probes.filter(({ name }) => name === 'python'),
      [
        {
          name: 'python',
          ok: false,
          detail: 'bubblewrap is not installed',
          mend: 'apt-get install bubblewrap',
        },
      ],
    )
    await bare.close()
  })

  it('does not stop a program at the door of a tool that ignores its caller', async (t) => {
    if (!isAvailable(analysis.python)) return t.skip(analysis.python.unavailable)
    const program: PythonProgram = { code: 'tools.any()', signal: new AbortController().signal }
    assert.match(
      (await analysis.python.run(program)).error?.message ?? '',
      /tools cannot be called from here/,
    )
    assert.equal(someone('x').roles.size, 0)
  })
})
