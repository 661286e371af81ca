/** Whoever adds up amounts of money gets the same digits: documents, reports, SQL, Python, charts, trends. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { compile } from '#jinja/template.ts'
import { analyzeBusiness } from '#figures/business.ts'
import { chartPoints } from '../../src/analysis/chart-data.ts'
import { columnOf, permittedTables } from '../../src/analysis/permitted.ts'
import { Python } from '#sandbox/python/python.ts'
import { Sql } from '#sandbox/sql/sql.ts'
import { exportDocuments } from '../../src/documents/asking/exporting.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { runReport } from '../../src/documents/reports/reports.ts'
import { readableTables, readTableRows } from '../../src/documents/reports/tables.ts'
import { reportSql } from '../../src/tools/analysing/report-sql.ts'
import { type Company, openCompany, siteOf, someone } from '../documents/trading-company.ts'
import {
  isolation,
  settings,
  signal,
  withoutPython,
  withoutSql,
} from '../../packages/sandbox/test/machine.ts'

const files = siteOf({
  'config/doctypes/bill.yaml': `
doctype: Bill
naming: { rule: hash }
fields:
  - { fieldname: payer, type: text }
  - { fieldname: day, type: date }
  - { fieldname: amount, type: currency }
  - { fieldname: fine, type: currency, precision: 4 }
permissions: [{ role: Clerk, actions: [read, create, report] }]`,
  'config/doctypes/debt.yaml': `
doctype: Debt
naming: { rule: hash }
fields:
  - { fieldname: payer, type: text }
  - { fieldname: day, type: date }
  - { fieldname: amount, type: currency }
permissions: [{ role: Clerk, actions: [read, create, report] }]`,
  'config/reports/declared.yaml': `
report: Declared
type: declarative
doctype: Bill
group_by: [payer]
columns: [{ name: payer }, { name: amount, aggregate: sum }, { name: fine, aggregate: sum }]
totals: [amount, fine]`,
  'config/reports/stated.yaml': `
report: Stated
type: sql
doctypes: [Bill]
sql: SELECT payer, sum(amount) AS amount, sum(fine) AS fine FROM bill GROUP BY payer
totals: [amount, fine]`,
})
const clerk = someone('clerk@example.com', 'Clerk')
// In this order their binary fractions add up to 1660087.5499999998.
const amounts = [257552.61, 384817.1, 298728.16, 224585.9, 143219.51, 234374.06, 116810.21]
const right = { amount: '1660087.55', fine: '5.2507' }

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown

describe('money', { skip: withoutSql || withoutPython }, () => {
  const sql = new Sql(isolation, settings.sql)
  const python = new Python(isolation, settings.python)
  let company: Company
  let close: () => Promise<void>

  before(async () => {
    const closing: (() => unknown)[] = []
    const test = { after: (work: () => unknown) => void closing.push(work) }
    company = await openCompany(test as never, { files, seeds: false, runSql: reportSql(sql) })
    close = async () => {
      for (const work of closing) await work()
    }
    for (const amount of amounts)
      await createDocument(company.documents, clerk, 'Bill', {
        payer: 'a',
        day: '2026-01-31',
        amount,
        fine: 0.75007,
      })
  })
  after(async () => {
    await sql.close()
    await python.close()
    await close()
  })

  const query = async (statement: string): Promise<readonly (readonly unknown[])[]> => {
    const tables = permittedTables(readableTables(company.documents, clerk))
    return (await sql.query({ sql: statement, tables, maxRows: 10, signal: signal() })).rows
  }
  const data = async () => {
    const page = await readTableRows(company.documents, clerk, { doctype: 'Bill', limit: 100 })
    return { columns: page.columns.map(columnOf), rows: page.rows, pages: [page.rows] }
  }

  it('would differ by what binary fractions lose', () => {
    assert.equal(
      amounts.reduce((sum, amount) => sum + amount, 0),
      1660087.5499999998,
    )
  })

  it('has the same digits in aggregate and in both kinds of report', async () => {
    const metrics = ['amount', 'fine'].map((field) => ({ function: 'sum' as const, field, as: field }))
    const page = await aggregateDocuments(company.documents, clerk, { doctype: 'Bill', metrics })
    assert.deepEqual(asJson(page.rows), [right])
    for (const name of ['Declared', 'Stated']) {
      const run = await runReport(company.documents, clerk, name, {}, { signal: signal(), wait: 1000 })
      assert.ok('rows' in run)
      assert.deepEqual(asJson(run.rows), [{ payer: 'a', ...right }], name)
      assert.deepEqual(asJson(run.totals), right, name)
    }
  })

  it('has the same digits in SQL, where every decimal is a text', async () => {
    assert.deepEqual(await query('SELECT sum(amount), sum(fine) FROM bill'), [[right.amount, right.fine]])
    assert.deepEqual(await query('SELECT amount FROM bill ORDER BY amount DESC LIMIT 1'), [['384817.10']])
    assert.deepEqual(await query('SELECT 1.10::decimal(5,2), 1.5::decimal(20,2)'), [['1.10', '1.50']])
    assert.deepEqual(await query('SELECT count(*) FROM bill WHERE amount = 384817.1 AND fine < 0.7502'), [
      [1],
    ])
  })

  it('has the same digits in Python, in rows and in data frames', async () => {
    const { variables, error } = await python.run({
      code: 'rows = sum(row["amount"] for row in data)\nframe = df.groupby("payer").amount.sum().iloc[0]\nfine = df.fine.sum()\nmean = float(df.amount.mean())',
      data: await data(),
      returnVariables: ['rows', 'frame', 'fine', 'mean'],
      signal: signal(),
    })
    assert.equal(error, undefined, error?.traceback)
    assert.deepEqual(variables, {
      rows: right.amount,
      frame: right.amount,
      fine: right.fine,
      mean: 237155.36428571428,
    })
  })

  it('keeps its cents in every answer where a number would lose them', async () => {
    const most = 9_999_999_999_999.99
    for (let n = 0; n < 61; n++) {
      const payer = `p${String(n).padStart(2, '0')}`
      await createDocument(company.documents, clerk, 'Debt', { payer, day: '2026-01-31', amount: most })
    }
    const all = '609999999999999.39'
    assert.notEqual(Number(all).toFixed(2), all)
    const metrics = [{ function: 'sum', field: 'amount' } as const]
    const page = await aggregateDocuments(company.documents, clerk, { doctype: 'Debt', metrics })
    assert.deepEqual(asJson(page.rows), [{ sum_amount: all }])
    assert.deepEqual(await query('SELECT sum(amount) FROM debt'), [[all]])
    const chart = {
      chart_name: 'C',
      doctype: 'Debt',
      aggregate_function: 'Sum',
      value_based_on: 'amount',
    } as const
    const drawn = async (more: object): Promise<unknown> =>
      asJson(await chartPoints(company.documents, clerk, { ...chart, ...more } as never, company.clock.now()))
    const monthly = { chart_type: 'line', time_series_based_on: 'day', time_interval: 'Monthly' }
    assert.deepEqual(await drawn(monthly), [{ label: '2026-01-01', value: all }])
    const payers = (await drawn({ chart_type: 'bar', based_on: 'payer' })) as {
      label: string
      value: string
    }[]
    assert.equal(payers.length, 30)
    assert.deepEqual(payers[0], { label: 'p00', value: '9999999999999.99' })
    assert.deepEqual(payers.at(-1), { label: '32 others', value: '319999999999999.68' })
    const table = await readTableRows(company.documents, clerk, { doctype: 'Debt', limit: 100 })
    const rows = { columns: table.columns.map(columnOf), rows: table.rows, pages: [table.rows] }
    const { variables } = await python.run({
      code: 'total = df.amount.sum()',
      data: rows,
      returnVariables: ['total'],
      signal: signal(),
    })
    assert.deepEqual(variables, { total: all })
    const found = asJson(analyzeBusiness('trends', { ...rows, dateField: 'day' })) as never as {
      trends: { amount: { by_month: unknown } }
    }
    assert.deepEqual(found.trends.amount.by_month, { '2026-01': all })
  })

  it('is a number in documents and their files, and text wherever it is computed', async () => {
    const { document } = await createDocument(company.documents, clerk, 'Debt', {
      payer: 'x',
      amount: '0.10',
    })
    const name = String(document['name'])
    const only = { filters: { name }, doctype: 'Debt' }
    const listed = await listDocuments(company.documents, clerk, { ...only, fields: ['amount'] })
    const read = await getDocument(company.documents, clerk, 'Debt', name)
    assert.deepEqual([read['amount'], listed.data[0]!['amount']], [0.1, 0.1])
    for (const [format, line] of [
      ['csv', /,0\.1\r\n/],
      ['jsonl', /"amount":0\.1[,}]/],
    ] as const) {
      let text = ''
      for await (const part of await exportDocuments(company.documents, clerk, { ...only, format }))
        text += part
      assert.match(text, line)
    }
    const metrics = (['sum', 'avg', 'min', 'max'] as const).map((how) => ({
      function: how,
      field: 'amount',
      as: how,
    }))
    const { rows } = await aggregateDocuments(company.documents, clerk, { ...only, metrics })
    assert.deepEqual(asJson(rows), [{ sum: '0.10', avg: '0.10', min: '0.10', max: '0.10' }])
    const asked = `SELECT amount, max(amount), sum(amount) / 4, typeof(avg(amount)) FROM debt WHERE name = '${name}' GROUP BY ALL`
    assert.deepEqual(await query(asked), [['0.10', '0.10', 0.025, 'DOUBLE']])
  })

  it('is averaged to its own digits, and in SQL to a number, which DECIMAL makes an amount again', async () => {
    const metrics = ['amount', 'fine'].map((field) => ({ function: 'avg' as const, field, as: field }))
    const page = await aggregateDocuments(company.documents, clerk, { doctype: 'Bill', metrics })
    assert.deepEqual(asJson(page.rows), [{ amount: '237155.36', fine: '0.7501' }])
    const averaged = {
      chart_name: 'C',
      chart_type: 'bar',
      doctype: 'Bill',
      aggregate_function: 'Average',
      value_based_on: 'amount',
      based_on: 'payer',
    } as const
    const points = await chartPoints(company.documents, clerk, averaged, company.clock.now())
    assert.deepEqual(asJson(points), [{ label: 'a', value: '237155.36' }])
    assert.deepEqual(await query('SELECT avg(amount), avg(amount)::DECIMAL(18, 2) FROM bill'), [
      [1660087.55 / 7, '237155.36'],
    ])
    assert.deepEqual(
      await query('SELECT avg(amount)::DECIMAL(18, 2), min(amount), max(amount) FROM debt WHERE amount > 1'),
      [['9999999999999.99', '9999999999999.99', '9999999999999.99']],
    )
    // Of thirds there is no last digit: 15 of them are right.
    const [[third] = []] = await query(
      'SELECT avg(x::DECIMAL(18, 2)) FROM (VALUES (0.1), (0.1), (0.2)) AS of(x)',
    )
    assert.ok(Math.abs((third as number) - 0.4 / 3) < 1e-15)
  })

  it('is a text or a number wherever config/README.md and the skill say so', async () => {
    const told = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
    const table = /\| an amount \| comes as \|\n.*\n((?:\|.*\n)+)/.exec(told('config/README.md'))![1]!
    const rows = table
      .trim()
      .split('\n')
      .map((row) => row.split('|').map((cell) => cell.trim()))
    const metrics = (['sum', 'avg'] as const).map((of) => ({ function: of, field: 'amount', as: of }))
    const computed = (await aggregateDocuments(company.documents, clerk, { doctype: 'Bill', metrics }))
      .rows[0]!
    const listed = await listDocuments(company.documents, clerk, {
      doctype: 'Bill',
      fields: ['amount'],
      limit: 1,
    })
    const asked = async (expression: string): Promise<unknown> =>
      (await query(`SELECT ${expression} FROM bill GROUP BY ALL LIMIT 1`))[0]![0]
    const { statistics } = asJson(analyzeBusiness('statistics', { ...(await data()), dateField: 'day' })) as {
      statistics: { amount: { mean: unknown } }
    }
    const found: Readonly<Record<string, readonly unknown[]>> = {
      'in documents, lists, searches, and files of them (CSV, JSON Lines)': [listed.data[0]!['amount']],
      'computed by `aggregate`, reports and charts': Object.values(asJson(computed) as object),
      'in SQL and data frames, also a single one': [await asked('amount'), await asked('sum(amount)')],
      'divided in SQL, and `avg` there': [await asked('amount / 3'), await asked('avg(amount)')],
      'in statistics, and as it is drawn': [statistics.amount.mean],
    }
    assert.deepEqual(
      rows.map(([, where]) => where),
      Object.keys(found),
    )
    for (const [, where = '', as = ''] of rows)
      for (const value of found[where]!)
        assert.equal(typeof value, /answered as text|^text/.test(as) ? 'string' : 'number', `${where}: ${as}`)
    assert.ok(rows.some(([, , as]) => as!.includes(`"${right.amount}"`)))
    const again = /`avg\((\w+)\)(::DECIMAL\(18, 2\))` is an amount again/
    for (const file of ['config/README.md', 'skills/analysing-with-sql/SKILL.md'])
      assert.equal(await asked(`avg(amount)${again.exec(told(file))![2]}`), '237155.36', file)
  })

  it('is told in prompts as floats are, as prompts/README.md says', () => {
    const readme = readFileSync(new URL('../../prompts/README.md', import.meta.url), 'utf8')
    const told = [...readme.matchAll(/`(\{\{[^`]+\}\})` writes ([\d.]*\d)/g)]
    assert.equal(told.length, 2)
    for (const [, template, text] of told) assert.equal(compile(template!).render({}), text)
  })

  it('has the same digits in charts and trends', async () => {
    const chart = {
      chart_name: 'C',
      chart_type: 'bar',
      doctype: 'Bill',
      aggregate_function: 'Sum',
      value_based_on: 'amount',
      based_on: 'payer',
    } as const
    const points = await chartPoints(company.documents, clerk, chart, company.clock.now())
    assert.deepEqual(asJson(points), [{ label: 'a', value: right.amount }])
    const found = analyzeBusiness('trends', { ...(await data()), dateField: 'day' })
    const { amount } = asJson(found['trends']) as { amount: { by_month: unknown } }
    assert.deepEqual(amount.by_month, { '2026-01': right.amount })
  })
})
