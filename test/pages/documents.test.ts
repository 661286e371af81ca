/** Working on documents in a browser without scripts: what people may do is offered and done, and nothing else is. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stream } from '../../src/cli/control.ts'
import type { AuditLine } from '#audit/audit.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { type Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { page, password, send, signIn } from './administered.ts'

const [admin, sales, hr] = ['admin@example.com', 'sales@example.com', 'hr@example.com'] as const

describe('working on documents in a browser', () => {
  const ends: (() => unknown)[] = []
  let service: RunningService
  let strict: RunningService
  before(async () => {
    service = await withPeople(ends)
    // Another asks before a document is changed, and has switched deleting off.
    strict = await withPeople(ends, [
      'update_document: { confirm: page }',
      'delete_document: { enabled: false }',
    ])
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  it('makes a document by a form without a script, in the language of its reader, and once however often it is sent', async () => {
    const browser = await signIn(service, sales)
    const inGerman = { headers: { 'accept-language': 'de' } }
    const blank = page(await browser.open(`${service.url}/new-document/Sales%20Order`, inGerman))
    assert.match(blank.html, /<h1>Neu: Auftrag<\/h1>/)
    assert.match(
      blank.html,
      /<select[^>]*name="f.status"[^>]*>[^]*<option value="Draft" selected>Entwurf<\/option>/,
    )
    assert.match(blank.html, /type="date"[^>]*|name="f.order_date"/)
    assert.doesNotMatch(blank.html, /name="f.grand_total"/, 'what is calculated is not asked for')
    const customer = /<datalist id="choices-Customer"><option value="([^"]+)"/.exec(blank.html)![1]!
    const item = /<datalist id="choices-Item"><option value="([^"]+)"/.exec(blank.html)![1]!
    const typed = fieldsOn(blank, '/new-document/Sales%20Order/save')
    for (const [name, value] of Object.entries({
      'f.customer': customer,
      'f.discount': '2,5',
      'f.items.0.item': item,
      'f.items.0.qty': '1.000',
      'f.items.0.rate': '0,5',
      'f.remarks': 'Zwei\r\nZeilen',
    }))
      typed.set(name, value)
    const post = (): Promise<Page> => sent(service, browser, '/new-document/Sales%20Order/save', typed)
    const [first, second] = [await post(), await post()]
    assert.equal(first.status, 200)
    assert.equal(first.url, second.url, 'sent twice, made once')
    assert.match(first.html, /487\.50|487,50/)
    const name = decodeURIComponent(new URL(first.url).pathname.split('/').at(-1)!)
    const stored = await storedOf(service, 'Sales Order', name)
    assert.deepEqual(
      [stored['customer'], stored['discount'], stored['grand_total'], stored['remarks'], stored['owner']],
      [customer, 2.5, 487.5, 'Zwei\nZeilen', sales],
    )
    const told = await eventsOf(service, ['tool.call', 'document.create'])
    assert.deepEqual(
      told.filter(({ user }) => user === sales).map(({ type, status }) => `${type} ${status}`),
      ['document.create ok', 'tool.call ok', 'tool.call ok'],
    )
  })

  it('says each fault at its field, in the language of the reader, loses nothing that was typed, and stores nothing', async () => {
    const browser = await signIn(service, sales)
    const at = '/new-document/Sales%20Order'
    const blank = page(await browser.open(service.url + at))
    const typed = fieldsOn(blank, `${at}/save`)
    const given = {
      'f.customer': 'Nobody & Sons',
      'f.order_date': '2026-13-45',
      'f.discount': 'viel',
      'f.remarks': 'still <here>',
      'f.items.0.qty': '3',
    }
    for (const [name, value] of Object.entries(given)) typed.set(name, value)
    const answer = await sent(service, browser, `${at}/save`, typed, 'de')
    assert.equal(answer.status, 400)
    for (const [input, about, said] of [
      [
        'f.customer',
        'f-customer-about',
        'Customer &quot;Nobody &amp; Sons&quot; gibt es nicht, oder nicht für Sie.',
      ],
      ['f.order_date', 'f-order_date-about', 'Das ist kein Datum: &quot;2026-13-45&quot;.'],
      ['f.discount', 'f-discount-about', 'Das ist keine Zahl: &quot;viel&quot;.'],
      ['f.items.0.item', 'f-items-0-item-about', 'wird gebraucht.'],
    ] as const) {
      const [control = ''] = new RegExp(`<(input|select)[^>]*name="${input}"[^>]*>`).exec(answer.html) ?? []
      assert.match(control, /aria-invalid="true"/, input)
      assert.ok(control.includes(`aria-describedby="${about}"`), control)
      const [problem = ''] = new RegExp(`id="${about}"[^]*?</p>`).exec(answer.html) ?? []
      assert.ok(problem.includes(said), `${input}: ${problem}`)
    }
    const again = fieldsOn(answer, `${at}/save`)
    for (const [name, value] of Object.entries(given)) assert.equal(again.get(name), value)
    assert.equal(await countOf(service, 'Sales Order', [['remarks', '=', 'still <here>']]), 0)
    const [told] = (await eventsOf(service, ['tool.call'])).filter(({ user }) => user === sales).slice(-1)
    assert.deepEqual([told?.target, told?.status], ['create_document', 'error'])
    // What errors tell a model of other tools is not for people.
    typed.set('f.customer', '')
    const english = await sent(service, browser, `${at}/save`, typed, 'en')
    assert.match(english.html, /is required/)
    assert.doesNotMatch(english.html, /search_link|get_doctype_info/)
  })

  it('asks for more rows without a script, and leaves alone those that are blank or are taken out', async () => {
    const browser = await signIn(service, sales)
    const order = await makeOrder(service, browser)
    const at = `/documents/Sales%20Order/${order}/edit`
    const form = page(await browser.open(service.url + at))
    const more = page(await browser.fill(form, `${at}/save`, { more: 'items', 'f.items.0.qty': '7' }))
    assert.equal(more.status, 200)
    const fields = fieldsOn(more, `${at}/save`)
    assert.equal(fields.get('f.items.rows'), '5')
    assert.equal(fields.get('f.items.0.qty'), '7')
    const item = fields.get('f.items.0.item')!
    const done = page(
      await browser.fill(more, `${at}/save`, {
        'f.items.0._delete': '1',
        'f.items.3.item': item,
        'f.items.3.qty': '2',
        'f.items.3.rate': '10',
      }),
    )
    assert.equal(done.status, 200, done.html)
    const stored = await storedOf(service, 'Sales Order', order)
    assert.deepEqual(
      (stored['items'] as Record<string, unknown>[]).map(({ qty, rate }) => [qty, rate]),
      [[2, 10]],
    )
  })

  it('changes only what was changed, and where somebody was faster keeps both and says so', async () => {
    const [mine, theirs] = [await signIn(service, sales), await signIn(service, admin)]
    const order = await makeOrder(service, mine)
    const at = `/documents/Sales%20Order/${order}/edit`
    const form = page(await mine.open(service.url + at))
    const other = page(await theirs.open(service.url + at))
    const faster = page(
      await theirs.fill(other, `${at}/save`, { 'f.po_number': 'THEIRS', 'f.remarks': 'theirs, too' }),
    )
    assert.equal(faster.status, 200)
    const late = page(
      await mine.fill(form, `${at}/save`, { 'f.remarks': 'mine', 'f.delivery_date': '2031-01-02' }),
    )
    assert.equal(late.status, 409)
    const fields = fieldsOn(late, `${at}/save`)
    assert.equal(fields.get('f.remarks'), 'mine', 'what was typed is there')
    assert.equal(fields.get('f.po_number'), 'THEIRS', 'what nobody typed is as it is now')
    assert.deepEqual(
      late.html.match(/Meanwhile somebody else has stored: .*?<\/p>/g),
      ['Meanwhile somebody else has stored: <bdi>theirs, too</bdi></p>'],
      'what nobody else has changed has no such note',
    )
    const saved = page(await mine.fill(late, `${at}/save`))
    assert.equal(saved.status, 200)
    const { po_number: number, remarks } = await storedOf(service, 'Sales Order', order)
    assert.deepEqual([number, remarks], ['THEIRS', 'mine'])
    const [last] = (await eventsOf(service, ['document.update'])).slice(-1)
    assert.deepEqual(
      last?.changes?.map(({ field }) => field),
      ['delivery_date', 'remarks'],
    )
  })

  it('submits, cancels, amends and deletes after it has asked, and moves by the workflow', async () => {
    const browser = await signIn(service, admin)
    const order = await makeOrder(service, browser)
    const at = `/documents/Sales%20Order/${order}`
    let shown = page(await browser.open(service.url + at))
    for (const [verb, state, changes] of [
      ['submit', 1, /draft<\/td><td[^>]*>submitted/],
      ['cancel', 2, /submitted<\/td><td[^>]*>cancelled/],
    ] as const) {
      const asked = page(await browser.fill(shown, `${at}/${verb}`))
      assert.match(asked.html, changes)
      assert.equal((await storedOf(service, 'Sales Order', order))['docstatus'], state - 1, 'only asked')
      shown = page(await browser.fill(asked, `${at}/${verb}`, { confirmed: '1' }))
      assert.equal((await storedOf(service, 'Sales Order', order))['docstatus'], state)
      assert.match(shown.html, /It is done/)
    }
    const copy = page(await browser.fill(shown, `${at}/amend`))
    assert.match(copy.url, new RegExp(`${order}-1/edit$`))
    const gone = page(await browser.open(service.url + `/documents/Sales%20Order/${order}-1`))
    const sure = page(await browser.fill(gone, `/documents/Sales%20Order/${order}-1/delete`))
    const list = page(
      await browser.fill(sure, `/documents/Sales%20Order/${order}-1/delete`, { confirmed: '1' }),
    )
    assert.equal(new URL(list.url).pathname, '/documents/Sales%20Order')
    assert.equal(page(await browser.open(`${service.url}/documents/Sales%20Order/${order}-1`)).status, 404)

    const { name } = await anyOf(service, 'Purchase Order', [['workflow_state', '=', 'Draft']])
    const purchase = await signIn(service, admin)
    const place = `/documents/Purchase%20Order/${name}`
    const draft = page(await purchase.open(service.url + place))
    const moved = page(await purchase.fill(draft, `${place}/move`))
    assert.equal(moved.status, 200, moved.html)
    assert.notEqual((await storedOf(service, 'Purchase Order', name))['workflow_state'], 'Draft')
  })

  it('names nothing . or .., which no browser could open', async () => {
    const browser = await signIn(service, sales)
    for (const name of ['.', ' .. ']) {
      const blank = page(await browser.open(`${service.url}/new-document/Customer`))
      const refused = page(
        await browser.fill(blank, '/new-document/Customer/save', { 'f.customer_name': name }),
      )
      assert.equal(refused.status, 400)
      assert.match(
        refused.html,
        /id="f-customer_name-about"[^>]*><span class="fault">a document is named by it[^<]* other than \. and \.\./,
      )
      const query = { doctype: 'Customer', filters: { customer_name: name.trim() } }
      assert.equal(((await asAdmin(service, 'count_documents', query)) as { count: number }).count, 0)
    }
  })

  it('comments, assigns and attaches, and takes back', async () => {
    const browser = await signIn(service, admin)
    const order = await makeOrder(service, browser)
    const at = `/documents/Sales%20Order/${order}`
    const open = async (): Promise<Page> => page(await browser.open(service.url + at))
    const said = page(
      await browser.fill(await open(), `${at}/comment`, { comment: '<b>Ring them</b>\r\nsoon' }),
    )
    assert.match(said.html, /Alex Admin[^]*&lt;b&gt;Ring them&lt;\/b&gt;\nsoon/)
    const wrong = page(await browser.fill(said, `${at}/assign`, { user: 'nobody@example.com', note: 'call' }))
    assert.equal(wrong.status, 400)
    assert.match(
      wrong.html,
      /id="user-about"[^>]*><span class="fault">there is no user &quot;nobody@example.com/,
    )
    assert.deepEqual(
      ['user', 'note'].map((name) => fieldsOn(wrong, `${at}/assign`).get(name)),
      ['nobody@example.com', 'call'],
    )
    const assigned = page(await browser.fill(wrong, `${at}/assign`, { user: sales }))
    assert.match(assigned.html, new RegExp(`name="user" value="${sales}"`))
    const free = page(await browser.fill(assigned, `${at}/unassign`))
    assert.doesNotMatch(free.html, new RegExp(`name="user" value="${sales}"`))
    const content = Buffer.from([0, 255, 13, 10, 45, 45, 200])
    const attached = await attach(
      service,
      browser,
      await open(),
      new File([content], 'data "1".bin', { type: 'x/y' }),
    )
    const link = /href="([^"]+\/files\/[^"]+)"/.exec(attached.html)![1]!
    const cookie = browser.cookiesFor(service.url)
    const bytes = await (await fetch(service.url + link, { headers: { cookie } })).arrayBuffer()
    assert.deepEqual(Buffer.from(bytes), content)
    const large = new File([new Uint8Array(2_500_000)], 'large')
    for (const [file, status, why] of [
      [large, 413, 'must have at most 2097152 bytes'],
      [new File([], 'nothing'), 400, 'the file is empty'],
    ] as const) {
      const refused = await attach(service, browser, await open(), file)
      assert.equal(refused.status, status)
      assert.match(refused.html, new RegExp(`id="file-about"[^>]*><span class="fault">${why}`))
      assert.match(refused.html, /Ring them/, 'it is said on the page of the document')
    }
    const asked = page(await browser.fill(attached, `${at}/detach`))
    assert.match(asked.html, /Remove <bdi>[^<]+<\/bdi> for good\?/)
    const without = page(await browser.fill(asked, `${at}/detach`, { confirmed: '1' }))
    assert.doesNotMatch(without.html, /\/files\//)
  })

  it('shows before it is done what the site wants confirmed, and does nothing until it is', async () => {
    const service = strict
    const browser = await signIn(service, sales)
    const order = await makeOrder(service, browser)
    const at = `/documents/Sales%20Order/${order}/edit`
    const form = page(await browser.open(service.url + at))
    const asked = page(await browser.fill(form, `${at}/save`, { 'f.discount': '50' }))
    assert.match(asked.html, /Is this what you want\?[^]*Discount[^]*0\s%[^]*50\s%[^]*Grand Total/)
    assert.equal((await storedOf(service, 'Sales Order', order))['discount'], 0)
    const done = page(await browser.fill(asked, `${at}/save`, { confirmed: '1' }))
    assert.equal(done.status, 200)
    assert.equal((await storedOf(service, 'Sales Order', order))['discount'], 50)
    const told = await eventsOf(service, ['tool.confirm'])
    assert.deepEqual(
      told.map(({ user, target, status }) => [user, target, status]),
      [[sales, 'update_document', 'ok']],
    )
  })

  it('offers nothing that a role may not do, and does nothing of it for who sends the form all the same', async () => {
    const service = strict
    const [seller, staff, chief] = await Promise.all([sales, hr, admin].map((user) => signIn(service, user)))
    const order = await makeOrder(service, chief!)
    const at = `/documents/Sales%20Order/${order}`
    const shown = page(await seller!.open(service.url + at))
    assert.doesNotMatch(shown.html, /<form[^>]*action="[^"]*\/documents\//, 'it belongs to another')
    assert.doesNotMatch(shown.html, /\/edit"/)
    assert.equal(page(await seller!.open(`${service.url}${at}/edit`)).status, 403)
    assert.equal(page(await staff!.open(`${service.url}${at}/edit`)).status, 404)
    assert.equal(page(await staff!.open(`${service.url}/new-document/Sales%20Order`)).status, 404)
    assert.deepEqual(await suggested(service, staff!, 'Customer'), [])
    assert.notDeepEqual(await suggested(service, seller!, 'Customer'), [])
    const before = await storedOf(service, 'Sales Order', order)
    const own = await makeOrder(service, seller!)
    for (const [verb, fields] of [
      ['submit', { confirmed: '1' }],
      ['delete', { confirmed: '1' }],
      ['comment', { comment: 'I was here' }],
      ['assign', { user: sales }],
      ['edit/save', { 'f.po_number': 'X', began: '', modified: String(before['modified']) }],
    ] as const) {
      const mine = `/documents/Sales%20Order/${own}${verb === 'edit/save' ? '/edit' : ''}`
      const refused = await send(service, seller!, mine, `${at}/${verb}`, { ...fields })
      assert.ok([403, 404].includes(refused.status), `${verb} ${refused.status}`)
      const hidden = await send(service, staff!, '/account', `${at}/${verb}`, { ...fields })
      assert.ok([403, 404].includes(hidden.status), `${verb} ${hidden.status}`)
    }
    assert.deepEqual(await storedOf(service, 'Sales Order', order), before)
    // What the site has switched off is not there for anybody.
    const all = page(await chief!.open(service.url + at))
    assert.doesNotMatch(all.html, /\/delete"/)
    const off = await send(service, chief!, at, `${at}/delete`, { confirmed: '1' })
    assert.equal(off.status, 403)
    assert.equal((await storedOf(service, 'Sales Order', order))['name'], order)
    const denied = (await eventsOf(service, ['tool.call'])).filter(({ status }) => status === 'denied')
    assert.ok(denied.some(({ user, target }) => user === sales && target === 'submit_document'))
    assert.ok(denied.some(({ user, target }) => user === admin && target === 'delete_document'))
  })

  it('lists what fits several filters by type, in an order, in columns, by pages, and as a file of the same', async () => {
    const browser = await signIn(service, sales)
    const list = async (query: string): Promise<Page> =>
      page(await browser.open(`${service.url}/documents/Sales%20Order?${query}`))
    const asked =
      'f.grand_total.from=20000&f.status=Closed&f.order_date.from=2026-01-01&order=grand_total+desc'
    const found = await list(asked)
    const totals = cellsOf(found, 'Grand Total').map((text) => Number(text.replaceAll(',', '')))
    assert.ok(totals.length > 2 && totals.every((total) => total >= 20000), String(totals))
    assert.deepEqual(
      totals,
      totals.toSorted((a, b) => b - a),
    )
    assert.deepEqual([...new Set(cellsOf(found, 'Status'))], ['Closed'])
    assert.match(found.html, /aria-sort="descending"/)
    assert.match(found.html, /Filters \(3\)/)
    const chosen = await list(`${asked}&c.po_number=1&c.modified_by=1`)
    assert.deepEqual(headsOf(chosen), ['Name', 'Po Number', 'Changed by'])
    assert.ok(cellsOf(chosen, 'Changed by').includes('Alex Admin'))

    const names: string[] = []
    let next: string | undefined = 'order=customer'
    for (let pages = 0; next !== undefined && pages < 9; pages++) {
      const shown: Page = await list(next)
      names.push(...namesOf(shown))
      next = /href="[^"?]*\?([^"]*after=[^"]*)"/.exec(shown.html)?.[1]?.replaceAll('&amp;', '&')
    }
    assert.equal(new Set(names).size, names.length)
    const all = await browser.open(`${service.url}/exports/Sales%20Order?order=customer&c.grand_total=1`)
    const lines = page(all).html.trimEnd().split('\r\n')
    assert.equal(lines[0], 'name,Grand Total')
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(',')[0]),
      names,
    )
  })

  it('finds by words, within the filters, and forgives a typing error', async () => {
    const browser = await signIn(service, sales)
    const found = page(await browser.open(`${service.url}/documents/Customer?words=Mueller`))
    assert.ok(
      namesOf(found).some((name) => name.startsWith('Müller')),
      found.html,
    )
    const territories = new Set(
      cellsOf(
        page(await browser.open(`${service.url}/documents/Customer?c.territory=1&words=Mueller`)),
        'Territory',
      ),
    )
    assert.ok(territories.size > 1)
    const [one = ''] = territories
    const fewer = page(
      await browser.open(
        `${service.url}/documents/Customer?c.territory=1&words=Mueller&f.territory=${encodeURIComponent(one)}`,
      ),
    )
    assert.deepEqual([...new Set(cellsOf(fewer, 'Territory'))], [one])
  })

  it('says at its input which filter cannot be read, and keeps all of them', async () => {
    const browser = await signIn(service, sales)
    const asked =
      'f.grand_total.to=20.000,x&f.order_date.from=gestern+abend&f.po_number=P1&words=x&order=customer'
    const answer = page(
      await browser.open(`${service.url}/documents/Sales%20Order?${asked}`, {
        headers: { 'accept-language': 'de' },
      }),
    )
    assert.equal(answer.status, 400)
    const problemAt = (name: string): string =>
      new RegExp(`id="f-${name}-about"[^]*?</p>`).exec(answer.html)?.[0].replaceAll(/<[^>]*>/g, '') ?? ''
    assert.match(problemAt('grand_total-to'), /Das ist keine Zahl/)
    assert.match(problemAt('order_date-from'), /Das ist kein Datum/)
    for (const kept of [
      'value="20.000,x"',
      'value="P1"',
      'name="words" value="x"',
      'name="order" value="customer"',
    ])
      assert.ok(answer.html.includes(kept), kept)
    const [told] = (await eventsOf(service, ['document.view'])).slice(-1)
    assert.deepEqual([told?.user, told?.target, told?.status], [sales, 'Sales Order', 'error'])
    for (const query of [
      'order=no_such_field',
      'order=grand_total%3Bdrop',
      'after=made-up',
      'offset=-1&words=x',
      'c.nothing=1',
    ])
      assert.ok(
        page(await browser.open(`${service.url}/documents/Sales%20Order?${query}`)).status < 500,
        query,
      )
  })

  it('neither filters, orders, shows nor exports by a field that a role may not see', async () => {
    const browser = await signIn(service, hr)
    const chief = await signIn(service, admin)
    const [theirs, whole] = await Promise.all(
      [browser, chief].map(async (one) => page(await one.open(`${service.url}/documents/Employee`))),
    )
    assert.match(whole!.html, /name="f\.salary\.from"/)
    assert.doesNotMatch(theirs!.html, /name="f\.salary/)
    const plain = namesOf(theirs!)
    for (const query of ['f.salary.from=1', 'c.salary=1', 'f.salary=1'])
      assert.deepEqual(
        namesOf(page(await browser.open(`${service.url}/documents/Employee?${query}`))),
        plain,
        query,
      )
    assert.equal(page(await browser.open(`${service.url}/documents/Employee?order=salary`)).status, 400)
    const masked = page(await browser.open(`${service.url}/documents/Employee?c.salary=1`))
    assert.deepEqual([...new Set(cellsOf(masked, 'Salary'))], ['[masked]'])
    const file = page(await browser.open(`${service.url}/exports/Employee?c.salary=1`)).html
    assert.match(file, /^name,Salary\r\n([^,]+,\[masked\]\r\n)+$/)
    assert.equal(page(await browser.open(`${service.url}/exports/Customer`)).status, 404)
    const refused = (await eventsOf(service, ['document.view'])).slice(-1)
    assert.deepEqual(
      refused.map(({ user, status, target }) => [user, status, target]),
      [[hr, 'denied', 'Customer']],
    )
  })

  it('takes apart no body of thousands of files, and none at all of who is not signed in', async () => {
    const { name } = await anyOf(service, 'Task', [])
    const at = `/documents/Task/${name}`
    const browser = await signIn(service, admin)
    const csrf = fieldsOn(page(await browser.open(service.url + at)), `${at}/attach`).get('csrf')!
    const part = (head: string, text = ''): string =>
      `--x\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`
    const token = part('name="csrf"', csrf)
    const bodies = {
      'many files': [token, ...Array<string>(30_000).fill(part('name="a"; filename="b"'))],
      'many headers': [token, part(`name="a"\r\n${'a: b\r\n'.repeat(250_000)}x: y`)],
    }
    for (const [what, parts] of Object.entries(bodies)) {
      const body = Buffer.from(`${parts.join('')}--x--\r\n`)
      const headers = { 'content-type': 'multipart/form-data; boundary=x', origin: service.url }
      const refused = page(
        await browser.open(`${service.url}${at}/attach`, { method: 'POST', headers, body }),
      )
      assert.equal(refused.status, 400, what)
      // Another boundary than the one that is counted would hide them.
      const hidden = { ...headers, 'content-type': 'multipart/form-data; a="; boundary=y"; boundary=x' }
      const other = page(
        await browser.open(`${service.url}${at}/attach`, { method: 'POST', headers: hidden, body }),
      )
      assert.equal(other.status, 400, what)
      const stranger = await fetch(`${service.url}${at}/attach`, { method: 'POST', headers, body }).catch(
        // The connection may end before all is sent.
        () => undefined,
      )
      assert.ok(stranger === undefined || stranger.status === 403, what)
    }
    const stored = await asAdmin(service, 'list_attachments', { doctype: 'Task', name })
    assert.deepEqual((stored as { attachments?: unknown[] }).attachments ?? [], [])
  })

  it('leaves in the log no value of a field that others may not see: neither what was asked, nor what was near it', async () => {
    const { name } = await anyOf(service, 'Employee', [['bank_account', 'is', 'set']])
    const account = (await storedOf(service, 'Employee', name))['bank_account']
    assert.ok(typeof account === 'string' && account.length > 5, String(account))
    const mistyped = `${account.slice(0, -1)}_`
    const browser = await signIn(service, admin)
    const near = page(
      await browser.open(`${service.url}/documents/Employee?f.bank_account=${encodeURIComponent(mistyped)}`),
    )
    const [suggested = ''] = /DE00 [\d ]+(?=&quot;\?)/.exec(near.html) ?? []
    assert.notEqual(suggested, '', near.html.slice(near.html.indexOf('bank_account'), 3000))
    for (const path of ['documents', 'exports'])
      await browser.open(
        `${service.url}/${path}/Employee?f.salary.from=54321.5&f.bank_account=${encodeURIComponent(account)}`,
      )
    const log = JSON.stringify(await eventsOf(service, ['document.view', 'document.export']))
    assert.match(log, /"bank_account"/)
    for (const value of [account, mistyped, suggested, '54321.5']) assert.ok(!log.includes(value), value)
  })

  it('neither shows nor takes a field that a role may not see', async () => {
    const { name } = await anyOf(service, 'Employee', [])
    const browser = await signIn(service, hr)
    const form = page(await browser.open(`${service.url}/documents/Employee/${name}/edit`))
    const chief = await signIn(service, admin)
    const whole = page(await chief.open(`${service.url}/documents/Employee/${name}/edit`))
    const names = (shown: Page): string[] => [
      ...fieldsOn(shown, `/documents/Employee/${name}/edit/save`).keys(),
    ]
    const secret = names(whole).filter((field) => !names(form).includes(field))
    assert.ok(secret.includes('f.salary'), secret.join())
    const before = await storedOf(service, 'Employee', name)
    const forged = page(
      await browser.fill(form, `/documents/Employee/${name}/edit/save`, { 'f.salary': '1', 'f.notes': 'x' }),
    )
    assert.ok(forged.status < 500)
    assert.equal((await storedOf(service, 'Employee', name))['salary'], before['salary'])
  })
})

async function withPeople(ends: (() => unknown)[], tools: readonly string[] = []): Promise<RunningService> {
  const t = { after: (end: () => unknown) => void ends.push(end) }
  const where = folders(t)
  const file = join(where.site, 'config/tools.yaml')
  const text = readFileSync(file, 'utf8').replace(/\n  update_document:\n    redact:.*/, '')
  if (tools.length > 0)
    writeFileSync(file, `${text.trimEnd()}\n${tools.map((line) => `  ${line}\n`).join('')}`)
  const service = await runService(t, where)
  for (const user of [admin, sales, hr]) await service.daemon.services.passwords.set(user, password)
  return service
}

async function sent(
  { url }: RunningService,
  browser: Browser,
  action: string,
  body: URLSearchParams,
  language = 'de',
): Promise<Page> {
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    origin: url,
    'accept-language': language,
  }
  return page(await browser.open(url + action, { method: 'POST', headers, body }))
}

async function attach({ url }: RunningService, browser: Browser, shown: Page, file: File): Promise<Page> {
  const at = `${new URL(shown.url).pathname}/attach`
  const body = new FormData()
  for (const [name, value] of fieldsOn(shown, at)) body.set(name, value)
  body.set('file', file)
  return page(await browser.open(url + at, { method: 'POST', headers: { origin: url }, body }))
}

async function suggested({ url }: RunningService, browser: Browser, doctype: string): Promise<unknown> {
  const cookie = browser.cookiesFor(url)
  return (await fetch(`${url}/suggestions/${doctype}?typed=a`, { headers: { cookie } })).json()
}

/** Makes an order by the form, and returns its name. */
async function makeOrder({ url }: RunningService, browser: Browser): Promise<string> {
  const blank = page(await browser.open(`${url}/new-document/Sales%20Order`))
  const chosen = (doctype: string): string =>
    new RegExp(`<datalist id="choices-${doctype}"><option value="([^"]+)"`).exec(blank.html)![1]!
  const made = page(
    await browser.fill(blank, '/new-document/Sales%20Order/save', {
      'f.customer': chosen('Customer'),
      'f.items.0.item': chosen('Item'),
      'f.items.0.qty': '1',
      'f.items.0.rate': '5',
    }),
  )
  assert.equal(made.status, 200, made.html)
  return decodeURIComponent(new URL(made.url).pathname.split('/').at(-1)!)
}

type Stored = Readonly<Record<string, unknown>>

/** What is stored, as an administrator sees it. */
async function storedOf(service: RunningService, doctype: string, name: string): Promise<Stored> {
  return asAdmin(service, 'get_document', { doctype, name }) as Promise<Stored>
}

async function countOf(service: RunningService, doctype: string, filters: unknown): Promise<number> {
  return ((await asAdmin(service, 'count_documents', { doctype, filters })) as { count: number }).count
}

async function anyOf(service: RunningService, doctype: string, filters: unknown): Promise<{ name: string }> {
  const found = await asAdmin(service, 'list_documents', { doctype, filters, limit: 1 })
  return (found as { data: [{ name: string }] }).data[0]
}

async function asAdmin({ daemon }: RunningService, tool: string, args: object): Promise<unknown> {
  const { services } = daemon
  const { principalFor } = await import('../../src/core/principal.ts')
  const { outcomeOfTool } = await import('../../src/pages/documents/use-tool.ts')
  const principal = principalFor(services.people().find('admin@example.com')!, 'test')
  const { text, isError } = await outcomeOfTool(
    services,
    { ...principal, user: 'admin@example.com' },
    tool,
    { ...args },
    {},
  )
  assert.equal(isError, false, text)
  const answer = JSON.parse(text) as { data?: unknown }
  return tool === 'get_document' && answer.data ? answer.data : answer
}

async function eventsOf({ options }: RunningService, types: readonly string[]): Promise<AuditLine[]> {
  const events: AuditLine[] = []
  for await (const event of stream(options, 'audit.search', {})) {
    const line = event
    const own =
      line.type === 'tool.call' &&
      ['get_document', 'list_documents', 'count_documents'].includes(line.target ?? '')
    if (types.includes(line.type) && !own) events.push(line)
  }
  return events
}

const headsOf = ({ html }: Page): string[] =>
  [...(/<thead>([^]*?)<\/thead>/.exec(html)?.[1] ?? '').matchAll(/<th[^>]*>([^]*?)<\/th>/g)].map(([, text]) =>
    text!.replaceAll(/<[^>]*>/g, ''),
  )

const namesOf = ({ html }: Page): string[] =>
  [...html.matchAll(/<th scope="row"><a [^>]*>([^<]*)<\/a>/g)].map(([, name]) => name!)

/** The cells of one column. */
function cellsOf(shown: Page, head: string): string[] {
  const at = headsOf(shown).indexOf(head)
  assert.ok(at > 0, `${head} of ${headsOf(shown).join()}`)
  const rows = shown.html.split('<tbody>')[1]!.matchAll(/<tr>([^]*?)<\/tr>/g)
  return [...rows].map(
    ([, row]) => [...row!.matchAll(/<td(?! class="tick")[^>]*>([^]*?)<\/td>/g)][at - 1]![1]!,
  )
}
