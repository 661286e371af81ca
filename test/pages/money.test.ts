/** Amounts of money on pages and in their files: every digit, in their reader's way, and no text where a number is meant. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { csvLine } from '#leaf/csv.ts'
import { Decimal } from '#leaf/decimal.ts'
import { principalFor } from '../../src/core/principal.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { numberText } from '#ui/forms.ts'
import type { RunningService } from '../cli/running-service.ts'
import { administered, page, sales, signIn } from './administered.ts'
import { messages } from '../../src/pages/views.ts'

const files = {
  'config/doctypes/debt.yaml': `
doctype: Debt
naming: { rule: hash }
fields:
  - { fieldname: payer, type: text }
  - { fieldname: amount, type: currency }
  - { fieldname: rate, type: currency, precision: 9 }
permissions: [{ role: Sales User, actions: [read, create, report] }]`,
  'config/reports/debts.yaml': `
report: Debts
type: declarative
doctype: Debt
roles: [Sales User]
group_by: [payer]
columns: [{ name: payer }, { name: amount, aggregate: sum }, { name: mean, field: amount, aggregate: avg }]
order_by: payer
totals: [amount]`,
}

describe('money on pages', () => {
  const ends: (() => unknown)[] = []
  let service: RunningService
  let dashboard: string
  before(async () => {
    service = await administered({ after: (end: () => unknown) => void ends.push(end) } as never, { files })
    const { documents } = service.daemon.services.site.current()
    const who = principalFor(service.daemon.services.people().find(sales)!, 'r')
    const make = async (doctype: string, data: Record<string, unknown>): Promise<string> =>
      String((await createDocument(documents, who, doctype, data)).document['name'])
    for (const payer of ['a', 'b'])
      for (let n = 0; n < 61; n++) await make('Debt', { payer, amount: 9_999_999_999_999.99 })
    for (const amount of [-0.1, -0.1, -0.2]) await make('Debt', { payer: 'credit', amount, rate: 1e-7 })
    const chart = await make('Dashboard Chart', {
      chart_name: 'Debts',
      chart_type: 'bar',
      document_type: 'Debt',
      aggregate_function: 'Sum',
      value_based_on: 'amount',
      based_on: 'payer',
    })
    dashboard = await make('Dashboard', { dashboard_name: 'Money', charts: [{ chart }] })
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const open = async (path: string, language: string): Promise<string> =>
    page(
      await (
        await signIn(service, sales)
      ).open(service.url + path, { headers: { 'accept-language': language } }),
    ).html

  it('has its cents in rows, totals and averages of a report, and in the numbers of a chart', async () => {
    const german = await open('/reports/Debts', 'de')
    const cells = [...german.matchAll(/<td class="number">([^<]*)</g)].map(([, text]) => text)
    const rows = [
      ['609.999.999.999.999,39', '9.999.999.999.999,99'],
      ['609.999.999.999.999,39', '9.999.999.999.999,99'],
      ['-0,40', '-0,13'],
      ['1.219.999.999.999.998,38', ''],
    ]
    assert.deepEqual(cells, rows.flat())
    const desk = await open(`/desk/${dashboard}`, 'en')
    const points = [
      ...desk.matchAll(/<th scope="row"[^>]*><a [^>]*>([^<]*)<\/a><\/th><td class="number">([^<]*)</g),
    ]
    assert.deepEqual(
      points.map(([, label, text]) => `${label} ${text}`),
      ['a 609,999,999,999,999.39', 'b 609,999,999,999,999.39', 'credit -0.40'],
    )
  })

  it('is a number in files, negative or very small too', async () => {
    assert.deepEqual((await open('/reports/Debts/csv', 'en')).trimEnd().split('\r\n').slice(1), [
      'a,609999999999999.39,9999999999999.99',
      'b,609999999999999.39,9999999999999.99',
      'credit,-0.40,-0.13',
    ])
    const listed = await open('/exports/Debt?f.payer=credit', 'en')
    assert.match(listed, /,credit,0\.0000001,-0\.2\r\n/)
    assert.equal(
      csvLine([1e-7, -2.5e-9, 0.1, new Decimal(-40n, 2), '-0.40']),
      "0.0000001,-0.0000000025,0.1,-0.40,'-0.40",
    )
  })

  it('is read as it is written by people, whatever its length', () => {
    const amount = Decimal.read('-123456789012345678.90')!
    assert.equal(
      numberText(amount, { language: 'en', timeZone: 'UTC', messages: messages.en }),
      '-123,456,789,012,345,678.90',
    )
    assert.equal(
      numberText(amount, { language: 'de', timeZone: 'UTC', messages: messages.de }, 1),
      '-123.456.789.012.345.678,9',
    )
  })
})
