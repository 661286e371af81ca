/** The site's reports on pages: filters by type, a result in the reader's words, a file; only those that one may run. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import type { Page } from '../helpers/browser.ts'
import { audited, page, password, signIn } from './administered.ts'

const [sales, hr] = ['sales@example.com', 'hr@example.com'] as const

describe('reports on pages', () => {
  const ends: (() => unknown)[] = []
  let service: RunningService
  before(async () => {
    service = await runService(
      { after: (end: () => unknown) => void ends.push(end) },
      folders({ after: (end: () => unknown) => void ends.push(end) }),
    )
    for (const user of [sales, hr]) await service.daemon.services.passwords.set(user, password)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const open = async (user: string, path: string, language = 'en'): Promise<Page> =>
    page(
      await (
        await signIn(service, user)
      ).open(service.url + path, { headers: { 'accept-language': language } }),
    )

  it('run with what they begin with, and show rows, totals and a picture in the words of their reader', async () => {
    const shown = await open(sales, '/reports/Sales%20by%20Customer', 'de')
    assert.equal(shown.status, 200)
    assert.match(shown.html, /<label for="f-from_date"[^>]*>Ab/)
    assert.match(shown.html, /<input id="f-from_date" name="f.from_date" value="\d{4}-\d\d-\d\d" type="date"/)
    assert.match(shown.html, /<td class="number">\d{1,3}\.\d{3},\d\d<\/td>/)
    assert.match(
      shown.html,
      /<tfoot><tr><th scope="row">Summen<\/th><td class="number">\d+<\/td><td class="number">[\d.]+,\d\d/,
    )
    assert.match(shown.html, /<rect width="100" height="4"\/>/)
    const file = await open(sales, '/reports/Sales%20by%20Customer/csv')
    const rows = [...shown.html.matchAll(/<tr><td dir="auto"><a/g)].length
    const lines = file.html.trimEnd().split('\r\n')
    assert.equal(lines[0], 'Customer,Orders,Total,Largest order')
    assert.equal(lines.length - 1, rows)
    assert.match(lines[1]!, /,\d+,\d+\.\d\d,\d+\.\d\d$/)
  })

  it('say at its filter what cannot be read, and keep the others', async () => {
    const asked = 'f.from_date=vorgestern+abend&f.customer=Nobody&f.to_date=2026-01-01'
    const shown = await open(sales, `/reports/Sales%20by%20Customer?${asked}`, 'de')
    assert.equal(shown.status, 400)
    assert.match(shown.html, /id="f-from_date-about"[^>]*><span class="fault">Das ist kein Datum/)
    assert.match(
      shown.html,
      /id="f-customer-about"[^>]*><span class="fault">Customer &quot;Nobody&quot; gibt es nicht/,
    )
    assert.match(shown.html, /name="f.customer" value="Nobody"/)
    assert.match(shown.html, /name="f.to_date" value="2026-01-01"/)
  })

  it('are listed and run for those who may, and are not there for others', async () => {
    const listed = async (user: string): Promise<string[]> =>
      [...(await open(user, '/reports')).html.matchAll(/href="\/reports\/([^"]+)"/g)].map(([, name]) => name!)
    assert.ok((await listed(sales)).includes('Sales%20by%20Customer'))
    assert.ok(!(await listed(hr)).includes('Sales%20by%20Customer'))
    for (const path of ['Sales%20by%20Customer', 'Sales%20by%20Customer/csv', 'Nothing', '__proto__'])
      assert.equal((await open(hr, `/reports/${path}`)).status, 404, path)
    assert.ok((await audited(service, 'document.view')).includes(`${hr} Report/Sales by Customer denied`))
    assert.ok((await audited(service, 'tool.call')).includes(`${sales} generate_report ok`))
  })
})
