/** Lists and reports as workbooks, read back by the reader of imports. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { openSource } from '#rows/open-source.ts'
import { principalFor } from '../../src/core/principal.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import type { RunningService } from '../cli/running-service.ts'
import type { Browser } from '../helpers/browser.ts'
import { administered, manager, signIn } from './administered.ts'

const doctype = `doctype: Reading
module: Test
naming: { rule: hash }
title_field: text
fields:
  - { fieldname: text, type: text, required: true }
  - { fieldname: day, type: date }
  - { fieldname: at, type: datetime }
  - { fieldname: size, type: number }
  - { fieldname: amount, type: currency }
  - { fieldname: valid, type: check }
permissions:
  - { role: System Manager, actions: [read, write, create, delete] }
`
const documents = [
  {
    text: '=HYPERLINK("http://x")',
    day: '2026-03-31',
    at: '2026-03-31T22:30:00Z',
    size: -0.125,
    valid: true,
  },
  { text: '<&>" ]]>', day: '1899-01-01', at: '2026-01-01T00:00:00Z', size: 0.1 + 0.2 },
  { text: '2026-02-02', amount: '9999999999999.99', size: 1e-7 },
]

describe('a list as a workbook', () => {
  const ends: (() => unknown)[] = []
  let service: RunningService
  let browser: Browser
  before(async () => {
    const files = { 'config/doctypes/reading.yaml': doctype }
    service = await administered({ after: (end: () => unknown) => void ends.push(end) } as never, { files })
    await service.daemon.services.accounts.change(manager, (own) => ({ ...own, timezone: 'Europe/Berlin' }))
    browser = await signIn(service, manager)
    const { services } = service.daemon
    const who = principalFor(services.people().find(manager)!, 'r')
    for (const data of documents)
      await createDocument(services.site.current().documents, who, 'Reading', data)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  it('has numbers as numbers, days as days, moments by the clock of its reader, and no formula', async () => {
    const asked = ['text', 'day', 'at', 'size', 'amount', 'valid'].map((name) => `c.${name}=1`).join('&')
    const rows = await workbook(`/exports/Reading?order=text&format=xlsx&${asked}`)
    assert.deepEqual(
      rows.map(([, ...cells]) => cells),
      [
        ['2026-02-02', null, null, 1e-7, 9999999999999.99, false],
        ['<&>" ]]>', '1899-01-01', '2026-01-01T01:00:00', 0.30000000000000004, null, false],
        ['=HYPERLINK("http://x")', '2026-03-31', '2026-04-01T00:30:00', -0.125, null, true],
      ],
    )
  })

  it('of a report has its totals as numbers', async () => {
    const rows = await workbook('/reports/Sales%20by%20Customer/xlsx')
    assert.ok(rows.length > 1)
    for (const [customer, ...numbers] of rows) {
      assert.equal(typeof customer, 'string')
      assert.deepEqual([...new Set(numbers.map((number) => typeof number))], ['number'])
    }
  })

  it('is there as CSV and XLSX, and as nothing else', async () => {
    for (const path of ['/exports/Reading?format=pdf', '/reports/Sales%20by%20Customer/pdf']) {
      const answer = await browser.open(service.url + path)
      assert.ok('status' in answer && answer.status === 404, path)
    }
  })

  async function workbook(path: string): Promise<(readonly unknown[])[]> {
    const answer = await fetch(service.url + path, { headers: { cookie: browser.cookiesFor(service.url) } })
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('content-disposition') ?? '', /\.xlsx"/)
    const file = join(service.state, 'downloaded.xlsx')
    writeFileSync(file, Buffer.from(await answer.arrayBuffer()))
    const { analysis } = service.daemon.services.settings()
    const source = await openSource(file, {}, analysis.files)
    const rows: (readonly unknown[])[] = []
    for await (const { cells } of source.rows()) rows.push(cells)
    return rows
  }
})
