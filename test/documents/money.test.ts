/** Amounts of money are added up as decimals: what is computed from them has all of their digits and no others. */
import { runReport } from '../../src/documents/reports/reports.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Decimal } from '#leaf/decimal.ts'
import { type Company, openCompany, siteOf, someone } from './trading-company.ts'

const files = siteOf({
  'config/doctypes/bill.yaml': `
doctype: Bill
naming: { rule: hash }
fields:
  - { fieldname: payer, type: text }
  - { fieldname: amount, type: currency }
  - { fieldname: rate, type: currency, precision: 4 }
  - { fieldname: hours, type: number }
  - { fieldname: parts, type: table, doctype: Bill Part }
  - { fieldname: of_parts, type: currency, computed: "sum(parts.amount)" }
permissions: [{ role: Clerk, actions: [read, create, report] }]`,
  'config/doctypes/bill-part.yaml': `
doctype: Bill Part
child: true
fields: [{ fieldname: amount, type: currency }]`,
  'config/reports/bills.yaml': `
report: Bills
type: declarative
doctype: Bill
columns: [{ name: payer }, { name: amount }, { name: hours }]
order_by: amount
totals: [amount, hours]`,
  'config/reports/payers.yaml': `
report: Payers
type: declarative
doctype: Bill
group_by: [payer]
columns: [{ name: payer }, { name: paid, field: amount, aggregate: sum }]
order_by: paid
totals: [paid]`,
})
const clerk = someone('clerk@example.com', 'Clerk')

async function bills(t: TestContext, all: readonly Record<string, unknown>[]): Promise<Company> {
  const company = await openCompany(t, { files, seeds: false })
  for (const one of all) await createDocument(company.documents, clerk, 'Bill', one)
  return company
}

function times(count: number, value: Record<string, unknown>): Record<string, unknown>[] {
  return Array.from({ length: count }, () => ({ ...value }))
}

async function report(company: Company, name: string) {
  const run = { signal: new AbortController().signal, wait: 1000 }
  const result = await runReport(company.documents, clerk, name, {}, run)
  assert.ok('rows' in result)
  return JSON.parse(JSON.stringify({ rows: result.rows, totals: result.totals })) as unknown
}

describe('money', () => {
  it('is summed, averaged and compared without a tail of binary fractions', async (t) => {
    const company = await bills(t, [
      { payer: 'a', amount: 0.1, rate: 1.00005, hours: 0.1 },
      { payer: 'a', amount: 0.2, rate: 2, hours: 0.2 },
      { payer: 'b', amount: '1660087.25' },
    ])
    const metrics = (['sum', 'avg', 'min', 'max'] as const).flatMap((kind) =>
      ['amount', 'rate', 'hours'].map((field) => ({ function: kind, field })),
    )
    const page = await aggregateDocuments(company.documents, clerk, { doctype: 'Bill', metrics })
    assert.deepEqual(JSON.parse(JSON.stringify(page.rows)), [
      {
        sum_amount: '1660087.55',
        sum_rate: '3.0001',
        sum_hours: 0.3,
        avg_amount: '553362.52',
        avg_rate: '1.5001',
        avg_hours: 0.15,
        min_amount: '0.10',
        min_rate: '1.0001',
        min_hours: 0.1,
        max_amount: '1660087.25',
        max_rate: '2.0000',
        max_hours: 0.2,
      },
    ])
  })

  it('keeps its cents where a number would lose them', async (t) => {
    const company = await bills(t, times(20, { amount: 9_999_999_999_999.99 }))
    const page = await aggregateDocuments(company.documents, clerk, {
      doctype: 'Bill',
      metrics: [{ function: 'sum', field: 'amount' }],
    })
    assert.equal(String(page.rows[0]!['sum_amount']), '199999999999999.80')
  })

  it('is ordered by its value, not as text', async (t) => {
    const company = await bills(t, [
      { payer: 'nine', amount: 9 },
      { payer: 'hundred', amount: 100 },
      { payer: 'debt', amount: -20 },
      { payer: 'none' },
    ])
    const query = { doctype: 'Bill', groupBy: ['payer'], metrics: [{ function: 'sum', field: 'amount' }] }
    const page = await aggregateDocuments(company.documents, clerk, query as never)
    assert.deepEqual(
      page.rows.map((row) => [row['payer'], String(row['sum_amount'] as Decimal)]),
      [
        ['hundred', '100.00'],
        ['nine', '9.00'],
        ['none', '0.00'],
        ['debt', '-20.00'],
      ],
    )
  })

  it('has the same digits in the rows and totals of reports', async (t) => {
    const company = await bills(t, [
      { payer: 'a', amount: 0.1, hours: 0.1 },
      { payer: 'a', amount: 0.2, hours: 0.2 },
      { payer: 'b', amount: 10 },
    ])
    assert.deepEqual(await report(company, 'Bills'), {
      rows: [
        { payer: 'a', amount: '0.10', hours: 0.1 },
        { payer: 'a', amount: '0.20', hours: 0.2 },
        { payer: 'b', amount: '10.00', hours: null },
      ],
      totals: { amount: '10.30', hours: 0.3 },
    })
    assert.deepEqual(await report(company, 'Payers'), {
      rows: [
        { payer: 'a', paid: '0.30' },
        { payer: 'b', paid: '10.00' },
      ],
      totals: { paid: '10.30' },
    })
  })

  it('is added up exactly by computed fields', async (t) => {
    const company = await bills(t, [])
    const parts = times(30, { amount: 33_333_333_333.33 })
    const { document } = await createDocument(company.documents, clerk, 'Bill', { parts })
    assert.equal(document['of_parts'], 999_999_999_999.9)
  })
})
