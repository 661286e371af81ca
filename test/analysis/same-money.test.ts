/** Whoever adds up amounts of money gets the same digits: documents, reports, SQL, Python, charts, trends. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { analyzeBusiness } from '../../src/analysis/business.ts'
import { chartPoints } from '../../src/analysis/charts/chart-data.ts'
import { columnOf, permittedTables } from '../../src/analysis/permitted.ts'
import { Python } from '../../src/analysis/python/python.ts'
import { Sql } from '../../src/analysis/sql/sql.ts'
import { aggregateDocuments } from '../../src/documents/aggregating.ts'
import { createDocument } from '../../src/documents/creating.ts'
import { runReport } from '../../src/documents/reports.ts'
import { readableTables, readTableRows } from '../../src/documents/tables.ts'
import { reportSql } from '../../src/tools/report-sql.ts'
import { type Company, openCompany, siteOf, someone } from '../documents/trading-company.ts'
import { isolation, settings, signal, withoutPython, withoutSql } from './machine.ts'

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
    assert.equal(JSON.stringify(points), `[{"label":"a","value":${right.amount}}]`)
    const found = analyzeBusiness('trends', { ...(await data()), dateField: 'day' })
    const { amount } = asJson(found['trends']) as { amount: { by_month: unknown } }
    assert.deepEqual(amount.by_month, { '2026-01': right.amount })
  })
})
