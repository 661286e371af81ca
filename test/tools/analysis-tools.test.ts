import { countDocuments } from '../helpers/count-documents.ts'
import { attachFile } from '../../src/documents/belongings.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { getDocument } from '../../src/documents/asking/reading.ts'
import { updateDocument } from '../../src/documents/writing/updating.ts'
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Analysis, isAvailable, openAnalysis } from '#sandbox/sandbox.ts'
import type { PythonProgram } from '#sandbox/python/python.ts'
import { systemClock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import { analysisTools, withDrawing } from '../../src/tools/analysing/analysis-tools.ts'
import { reportSql } from '../../src/tools/analysing/report-sql.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { docx } from '../../packages/sandbox/test/sample-files.ts'
import {
  admin,
  hr,
  plain,
  sales,
  salesManager,
  silent,
  siteOf,
  someone,
} from '../documents/trading-company.ts'
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
    tools: [...withDrawing(builtInTools, analysis).filter(({ name }) => !names.has(name)), ...own],
    limits,
    toolsYaml: 'tools: {}',
  })
}

describe('aggregate', () => {
  it('draws its groups: days in their order, a second group as series, and keeps nothing', async (t) => {
    if (missing(t, 'charts')) return
    const { call, answer, documents } = await office(t)
    const before = await countDocuments(documents, admin, 'Dashboard Chart')
    const months = {
      doctype: 'Sales Order',
      group_by: ['order_date:month'],
      metrics: [{ function: 'sum', field: 'grand_total' }],
    }
    const { data: largest } = await answer(admin, 'aggregate', months)
    const drawn = await call(admin, 'aggregate', { ...months, draw: 'line' })
    assert.ok(!drawn.isError, drawn.text)
    assert.equal(drawn.content[0]?.type, 'image')
    const { data, drawn: picture, counted } = JSON.parse(drawn.text)
    const inTime = (rows: any): string[] =>
      (rows.rows ?? rows).map((row: any) => row[0] ?? row.order_date_month)
    assert.deepEqual(inTime(data), inTime(largest).toSorted())
    assert.equal(picture.points, inTime(data).length)
    assert.ok(counted.draft > 0)
    const two = { doctype: 'Sales Order', group_by: ['order_date:quarter', 'status'], draw: 'bar' }
    assert.equal((await answer(admin, 'aggregate', two))['drawn'].points > 4, true)
    const { text } = await call(admin, 'aggregate', {
      ...two,
      metrics: [{ function: 'count' }, months.metrics[0]],
    })
    assert.match(text, /draw: either several y, or one y and a series/)
    assert.equal(await countDocuments(documents, admin, 'Dashboard Chart'), before)
  })

  it('has no draw where nothing can draw', async (t) => {
    const { call } = await openOffice(t)
    const asked = { doctype: 'Sales Order', group_by: ['status'], draw: 'bar' }
    assert.match((await call(admin, 'aggregate', asked)).text, /draw: unknown key/)
  })
})

describe('states of documents', () => {
  it('are told of all that is counted: in analyses and charts, and of statements that do not look at them', async (t) => {
    if (missing(t, 'sql') || missing(t, 'charts')) return
    const { answer, call } = await office(t)
    const order = { doctype: 'Sales Order' }
    const { counted } = await answer(admin, 'count_documents', order)
    assert.ok(counted.draft > 0 && counted.submitted > 0)
    const analysis = { ...order, analysis_type: 'statistics' }
    assert.deepEqual((await answer(admin, 'analyze_business_data', analysis))['counted'], counted)
    const filters = { docstatus: 'submitted' }
    const some = await answer(admin, 'analyze_business_data', { ...analysis, filters, limit: 3 })
    assert.deepEqual(some['counted'], { ...counted, draft: 0 })
    const leads = await answer(admin, 'analyze_business_data', { ...analysis, doctype: 'Lead' })
    assert.equal(leads['counted'], undefined)

    const chart = { ...order, chart_name: 'c', chart_type: 'bar', aggregate_function: 'Count' }
    const kept = await answer(admin, 'create_dashboard_chart', { ...chart, based_on: 'status' })
    assert.deepEqual(kept['counted'], counted)
    await answer(admin, 'create_dashboard', { dashboard_name: 'd', chart_names: ['c'] })
    const { charts } = await answer(admin, 'list_user_dashboards', { dashboard: 'd' })
    assert.deepEqual(charts[0].counted, counted)

    const told = async (query: string): Promise<unknown> =>
      (await answer(admin, 'query_and_analyze', { query }))['counted']
    const words = `sales_order has ${counted.draft} draft, ${counted.submitted} submitted, ${counted.cancelled} cancelled`
    for (const query of [
      'SELECT sum(grand_total) FROM sales_order',
      'SELECT sum(total) FROM "Sales Order"',
      'SELECT item, sum(amount) FROM sales_order_item GROUP BY item',
    ])
      assert.match(
        String(await told(query)),
        new RegExp(`^all states: ${words}; docstatus = 1 .* submitted ones`),
      )
    assert.equal(await told('SELECT sum(total) FROM sales_order WHERE docstatus = 1'), undefined)
    assert.equal(await told('SELECT count(*) FROM customer'), undefined)
    assert.match(
      (await call(admin, 'run_database_query', { query: 'FROM sales_order' })).text,
      /"counted":"all states/,
    )
  })

  it('are told of SQL reports that do not look at them', async (t) => {
    if (missing(t, 'sql')) return
    const sql = 'SELECT count(*) AS n FROM sale'
    const report = (name: string, where = ''): string =>
      `report: ${name}\ntype: sql\ndoctypes: [Sale]\nsql: ${sql}${where}`
    const files = siteOf({
      'config/doctypes/sale.yaml':
        'doctype: Sale\nsubmittable: true\nfields: [{fieldname: total, type: currency}]',
      'config/reports/all.yaml': report('All'),
      'config/reports/submitted.yaml': report('Submitted', ' WHERE docstatus = 1'),
    })
    const { answer } = await openOffice(t, { files, runSql: reportSql(analysis.sql) })
    const sale = { doctype: 'Sale', data: { total: 3 } }
    for (const submit of [true, false, false]) await answer(admin, 'create_document', { ...sale, submit })
    const all = await answer(admin, 'generate_report', { report_name: 'All' })
    assert.deepEqual(all['data'], [{ n: 3 }])
    assert.match(all['counted'], /^all states: sale has 2 draft, 1 submitted, 0 cancelled; docstatus = 1/)
    const submitted = await answer(admin, 'generate_report', { report_name: 'Submitted' })
    assert.deepEqual([submitted['data'], submitted['counted']], [[{ n: 1 }], undefined])
  })
})

describe('query_and_analyze', () => {
  it('answers over what the caller may read, and audits the statement', async (t) => {
    if (missing(t, 'sql')) return
    const { answer, documents, events } = await office(t)
    const query =
      'SELECT status, count(*) AS orders, sum(grand_total) AS total FROM sales_order GROUP BY status ORDER BY status'
    const found = await answer(admin, 'query_and_analyze', { query })
    assert.equal(found['total_rows'], found['data'].length)
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
    assert.ok(found.rows_analysed > 5)
    assert.ok(found.statistical_summary.grand_total.mean > 0)
    assert.equal(found.correlation_matrix.grand_total.grand_total, 1)
    assert.ok(found.unique_value_counts.status.length > 1)
    assert.equal(found.missing_values.name, 0)
  })

  it('counts and computes over all rows of a statement, however few it hands out', async (t) => {
    if (missing(t, 'sql')) return
    const { answer } = await office(t)
    const query =
      'SELECT range AS v, NULLIF(range % 4, 0) AS w, (range / 8.0)::DECIMAL(18, 2) AS m FROM range(100000);'
    const basic = await answer(sales, 'query_and_analyze', { query, limit: 3 })
    assert.deepEqual([basic['rows_returned'], basic['total_rows'], basic['has_more']], [3, 100_000, true])
    const { analysis: found } = await answer(sales, 'query_and_analyze', { query, analysis_type: 'detailed' })
    assert.equal(found.rows_analysed, 100_000)
    assert.deepEqual(found.missing_values, { v: 0, w: 25_000, m: 0 })
    const { mean, min, max, count, '50%': median } = found.statistical_summary.v
    assert.deepEqual([count, mean, min, max, median], [100_000, 49_999.5, 0, 99_999, 49_999.5])
    assert.equal(found.statistical_summary.m.max, 12_499.88)
    assert.match(found.note, /of the first 10000 rows only/)
    const whole = await answer(sales, 'query_and_analyze', {
      query: 'SELECT 1 AS one',
      analysis_type: 'statistical',
    })
    assert.deepEqual(
      [whole['total_rows'], whole['has_more'], whole['analysis'].rows_analysed],
      [1, undefined, 1],
    )
  })

  it('draws its rows, in several series and by periods, and keeps nothing', async (t) => {
    if (missing(t, 'sql') || missing(t, 'charts')) return
    const { answer, call, documents } = await office(t)
    const before = await countDocuments(documents, admin, 'Dashboard Chart')
    const query =
      "SELECT strftime(order_date, '%Y-%m') AS month, c.territory, count(*) AS orders, sum(grand_total) AS total FROM sales_order o JOIN customer c ON c.name = o.customer GROUP BY ALL ORDER BY month, territory"
    const drawn = async (draw: unknown, more = {}) =>
      await call(sales, 'query_and_analyze', { query, limit: 1000, draw, ...more })
    const bars = await drawn({ as: 'bar', x: 'month', y: ['total'], series: 'territory' })
    assert.equal(bars.isError, false, bars.text)
    const [image] = bars.content
    assert.ok(image?.type === 'image' && image.data.length > 1000)
    assert.equal(JSON.parse(bars.text).drawn.points, JSON.parse(bars.text).total_rows)
    const monthly = { query: query.replace('c.territory,', '').replace(', territory', '') }
    for (const draw of [
      { as: 'line', x: 'month', y: ['orders', 'total'] },
      { as: 'donut', x: 'month', y: ['total'], title: 'Orders by month' },
    ])
      assert.equal((await drawn(draw, monthly)).isError, false)
    const { data } = await answer(sales, 'query_and_analyze', { ...monthly, limit: 1 })
    assert.equal(typeof data[0].total, 'string')
    for (const [draw, says] of [
      [{ as: 'bar', x: 'mnth', y: ['total'] }, /no column "mnth"; did you mean "month"/],
      [{ as: 'bar', x: 'month', y: ['territory'] }, /territory holds "\w+", which is no number/],
      [
        { as: 'bar', x: 'month', y: ['total'] },
        /several rows have the same month; group the rows, or name a series/,
      ],
      [{ as: 'pie', x: 'month', y: ['total'], series: 'territory' }, /a pie has one y and no series/],
      [
        { as: 'bar', x: 'month', y: ['total', 'orders'], series: 'territory' },
        /either several y, or one y and a series/,
      ],
    ] as const) {
      const refused = await drawn(draw)
      assert.ok(refused.isError && says.test(refused.text), refused.text)
    }
    for (const value of ["'  '", '[]', '[7]', 'true']) {
      const refused = await drawn(
        { as: 'bar', x: 'x', y: ['y'] },
        { query: `SELECT 'a' AS x, ${value} AS y` },
      )
      assert.ok(refused.isError && /which is no number/.test(refused.text), `${value}: ${refused.text}`)
    }
    const sectors = { query: 'SELECT range AS x, range AS y FROM range(1000)' }
    const pie = JSON.parse((await drawn({ as: 'pie', x: 'x', y: ['y'] }, sectors)).text)
    assert.deepEqual(pie.drawn.points, 30)
    assert.equal(pie.drawn.note, 'the 29 largest are drawn, the others as one')
    const long = { query: "SELECT repeat('x', 501) AS x, 1 AS y" }
    assert.match((await drawn({ as: 'bar', x: 'x', y: ['y'] }, long)).text, /a label of 501 characters/)
    assert.match(
      (await drawn({ as: 'bar', x: 'month', y: ['total'], series: 'territory' }, { limit: 2 })).text,
      /only 2 of \d+ rows would be drawn/,
    )
    assert.equal(await countDocuments(documents, admin, 'Dashboard Chart'), before)
  })

  it('cuts whole rows to the budget and says so', async (t) => {
    if (missing(t, 'sql')) return
    const { answer } = await office(t, { max_result_bytes: 4000 })
    const found = await answer(admin, 'query_and_analyze', { query: 'SELECT * FROM sales_order', limit: 100 })
    assert.ok(found['rows_returned'] < 20)
    assert.equal(found['has_more'], true)
    assert.match(found['note'], /rows were left out/)
    assert.equal(found['data'].rows.length, found['rows_returned'])
  })

  it('knows the asking user, and reads days in words among the values', async (t) => {
    if (missing(t, 'sql')) return
    const { answer, call } = await office(t)
    const query = 'SELECT current_user AS me, session_user AS other'
    for (const who of [sales, admin]) {
      const { data } = await answer(who, 'query_and_analyze', { query })
      assert.deepEqual(data, [{ me: who.user, other: who.user }])
    }
    const found = await answer(sales, 'query_and_analyze', {
      query: 'SELECT $from AS a, $word AS b, count(*) AS n FROM sales_order WHERE order_date >= $from',
      parameters: { from: 'start of 2026', word: '2026' },
    })
    assert.deepEqual([found['data'][0].a, found['data'][0].b], ['2026-01-01', '2026'])
    assert.deepEqual(found['parameters_read'], ['"start of 2026" is 2026-01-01'])
    const refused = await call(sales, 'query_and_analyze', {
      query: 'SELECT ?',
      parameters: ['last quarter'],
    })
    assert.match(refused.text, /"last quarter" is a period, .*"start of" or "end of"/)
  })

  it('tells of texts that its columns never hold, with what was meant', async (t) => {
    if (missing(t, 'sql')) return
    const { answer, call } = await office(t)
    const warnings = async (where: string, parameters?: unknown): Promise<readonly string[]> => {
      const query = `SELECT count(*) AS n FROM sales_order o JOIN customer c ON c.name = o.customer WHERE ${where}`
      return (
        (
          await answer(sales, 'query_and_analyze', { query, ...(parameters !== undefined && { parameters }) })
        )['warnings'] ?? []
      )
    }
    const says = async (pattern: RegExp, ...asked: Parameters<typeof warnings>): Promise<void> => {
      const told = await warnings(...asked)
      assert.ok(told.length === 1 && pattern.test(told[0]!), JSON.stringify(told))
    }
    await says(
      /^Sales Order\.customer: there is no Customer "Mueller Bau".*did you mean "Müller Bau"/,
      "o.customer = 'Mueller Bau'",
    )
    await says(/"Mueller Bau"/, 'o.customer <> ?', ['Mueller Bau'])
    await says(/"Mueller Bau"/, "o.customer IN ('Müller Bau', $1)", ['Mueller Bau'])
    await says(/"Mueller Bau"/, 'o.customer = $who AND 1 = $one', { who: 'Mueller Bau', one: 1 })
    await says(/status: must be one of .*not "completed"/, "o.status = 'completed'")
    await says(/status: "Completed " is written "Completed"/, 'o.status = ?', ['Completed '])
    await says(/"Mueller Bau"/, "o.status = ? AND o.customer = ? AND o.po_number <> 'a?b'", [
      'Draft',
      'Mueller Bau',
    ])
    for (const right of [
      "o.customer = 'Müller Bau'",
      "lower(o.customer) = 'müller bau'",
      "c.territory = 'North'",
      "strftime(o.order_date, '%Y') = '2026'",
    ])
      assert.deepEqual(await warnings(right), [], right)
    const refused = await call(sales, 'query_and_analyze', { query: 'SELECT ?', parameters: [['a']] })
    assert.match(refused.text, /\["a"\] is no single value; write IN/)
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
for call in (lambda: tools.create_document(doctype='Note', data={}), lambda: tools.run_python_code(code='1'), lambda: tools.agregate(), lambda: tools.list_documents(limit='x')):
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
      'unknown tool "agregate"; did you mean "aggregate"?',
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
      'agregate denied',
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

  it('draws what was asked or refuses it, and never another chart', async (t) => {
    if (missing(t, 'charts')) return
    const { answer, call, documents } = await office(t)
    const over = { time_series_based_on: 'due_date', time_interval: 'Quarterly', timespan: 'All Time' }
    const bare = { ...chart, doctype: 'Task' }
    const bars = await answer(salesManager, 'create_dashboard_chart', { ...bare, ...over })
    assert.ok(bars['points'].length > 0)
    assert.ok(bars['points'].every(({ label }: { label: string }) => /^\d{4}-(01|04|07|10)-01$/.test(label)))
    const before = await countDocuments(documents, salesManager, 'Dashboard Chart')
    for (const [given, says] of [
      [{ ...bare, ...over, based_on: 'status' }, /time_interval: a bar by groups has no intervals/],
      [
        { ...bare, chart_type: 'line', based_on: 'status' },
        /a line that is kept has one series.*query_and_analyze/,
      ],
      [{ ...bare, chart_type: 'pie', time_series_based_on: 'due_date' }, /a pie compares groups/],
      [{ ...bare, filters: { assigned_to: 'nobody' } }, /there is no user "nobody"/],
    ] as const) {
      const refused = await call(salesManager, 'create_dashboard_chart', given)
      assert.ok(refused.isError && says.test(refused.text), refused.text)
    }
    assert.equal(await countDocuments(documents, salesManager, 'Dashboard Chart'), before)
  })

  it('draws amounts of money as numbers, and tells them with every digit', async (t) => {
    if (missing(t, 'charts')) return
    const { answer, call } = await office(t)
    const asked = { doctype: 'Sales Order', value_based_on: 'grand_total', based_on: 'status' }
    const { text, content } = await call(salesManager, 'create_dashboard_chart', {
      ...chart,
      ...asked,
      chart_name: 'Sales',
      aggregate_function: 'Sum',
      format: 'svg',
    })
    const sums = await answer(salesManager, 'aggregate', {
      doctype: 'Sales Order',
      group_by: ['status'],
      metrics: [{ function: 'sum', field: 'grand_total', as: 'value' }],
    })
    const points = JSON.parse(text).points as { label: string; value: string }[]
    assert.ok(points.length > 1 && points.every(({ value }) => /^\d+\.\d\d$/.test(value)), text)
    const told = (sums['data'] as { status: string; value: string }[]).map((row) => [row.status, row.value])
    assert.deepEqual(new Map(points.map(({ label, value }) => [label, value])), new Map(told as never))
    const { data } = content.find((part) => part['type'] === 'image') as never as { data: string }
    const bars = [
      ...Buffer.from(data, 'base64')
        .toString('utf8')
        .matchAll(/aria-label="[^"]*: ([\d.]+)"[^>]*aria-roledescription="bar"/g),
    ]
    assert.deepEqual(
      bars.map(([, value]) => Number(value)).sort((a, b) => a - b),
      points.map(({ value }) => Number(value)).sort((a, b) => a - b),
    )
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
      /value_based_on: status is a select field, not one of numbers: .*; based_on: .*did you mean "status"/,
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
