/** Lists of documents: views that one keeps, and what is done to several documents at once, without a script. */
import assert from 'node:assert/strict'
import { forgetViews } from '../../src/users/accounts.ts'
import { after, before, describe, it } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import type { AuditLine } from '#audit/audit.ts'
import { principalFor } from '../../src/core/principal.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { cancelDocument, submitDocument } from '../../src/documents/writing/lifecycle.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import type { RunningService } from '../cli/running-service.ts'
import { type Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { administered, audited, manager, page, sales, signIn } from './administered.ts'

const list = '/documents/Task'
const orders = '/documents/Sales%20Order'
const long = 'Ä'.repeat(140)

describe('a list of documents', () => {
  const ends: (() => unknown)[] = []
  let service: RunningService
  let browser: Browser
  before(async () => {
    service = await administered({ after: (end: () => unknown) => void ends.push(end) } as never)
    browser = await signIn(service, manager)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  it('is kept with its columns, filters and order under a name, and begins so without one', async () => {
    const asked = `${list}?f.priority=High&order=subject+desc&c.subject=1&c.owner=1`
    const named = await posted(asked, '/keep', { name: ` ${long} ` })
    assert.match(named.html, /It is done\./)
    const [view = ''] = new RegExp(`href="([^"]*)" aria-current="page" dir="auto">${long}<`)
      .exec(named.html)!
      .slice(1)
    assert.equal(
      new URLSearchParams(view.replaceAll('&amp;', '&').split('?')[1]).toString(),
      'f.priority=High&order=subject+desc&c.subject=1&c.owner=1',
    )
    await posted(`${list}?c.subject=1&c.modified_by=1&f.priority=Low&words=`, '/keep', {})
    const first = page(await browser.open(service.url + list))
    assert.deepEqual(headsOf(first), ['Name', 'Subject', 'Changed by'])
    assert.match(first.html, /<option selected>Low<\/option>/)
    // What is asked now is asked as it stands, in the columns that are kept.
    const other = page(await browser.open(`${service.url}${list}?f.priority=High`))
    assert.deepEqual(headsOf(other), ['Name', 'Subject', 'Changed by'])
    assert.match(other.html, /<option selected>High<\/option>/)
    assert.match(
      page(await browser.open(`${service.url}/`)).html,
      new RegExp(`\\?f.priority=High&amp;[^"]*" dir="auto">${long}<`),
    )
    // They are one's own.
    const others = await signIn(service, sales)
    const theirs = page(await others.open(service.url + list))
    assert.ok(!theirs.html.includes(long) && headsOf(theirs).length > 3)
    await posted(list, '/forget', { name: '' })
    await posted(list, '/forget', { name: long })
    assert.ok(headsOf(page(await browser.open(service.url + list))).length > 3)
    assert.deepEqual(
      (await audited(service, 'account.preferences')).map((line) => line),
      Array.from({ length: 4 }, () => `${manager} Task ok`),
    )
  })

  it('keeps no view that is too long, nor more than a hundred', async () => {
    const words = Array.from({ length: 9 }, (_, n) => `f.a${n}=${'x'.repeat(480)}`).join('&')
    const refused = await posted(`${list}?${words}`, '/keep', { name: 'long' })
    assert.equal(refused.status, 400)
    assert.match(refused.html, /this view is too long to be kept/)
    const { accounts } = service.daemon.services
    const full = Array.from({ length: 100 }, (_, n) => ({ doctype: 'Note', name: `n${n}`, query: '' }))
    await accounts.change(manager, (account) => ({ ...account, views: full }))
    const most = await posted(list, '/keep', { name: 'one more' })
    assert.match(most.html, /you keep 100 views already/)
    assert.deepEqual((await accounts.of(manager)).views, full)
    assert.equal(await forgetViews(accounts, manager), 100)
  })

  it('has its views removed with a person who is not of the site any more', async () => {
    const { accounts } = service.daemon.services
    const view = { doctype: 'Task', name: 'mine', query: 'f.subject=secret' }
    for (const user of ['gone@example.com', sales])
      await accounts.change(user, (account) => ({ ...account, views: [view] }))
    const { ended } = (await operate(service.options, 'users.cut_off', { user: 'gone@example.com' })) as {
      ended: Record<string, number>
    }
    assert.equal(ended['saved_views'], 1)
    assert.deepEqual(await accounts.of('gone@example.com'), { id: 'gone@example.com' })
    await operate(service.options, 'users.cut_off', { user: sales })
    assert.deepEqual((await accounts.of(sales)).views, [view])
  })

  it('asks, shows and does one thing to several documents, and tells what became of each', async () => {
    const [one, other, same] = [await task('first', 'Low'), await task('second'), await task('third', 'High')]
    const ticked = { 'row.0': one, 'row.1': other, 'row.2': 'TASK-NONE', 'row.3': same }
    const blank = await posted(list, '/bulk', { do: 'delete' })
    assert.match(blank.html, /tick the documents that you mean/)
    const unknown = await posted(list, '/bulk', { ...ticked, do: 'set name' })
    assert.match(unknown.html, /choose what to do with the documents/)
    const asked = await posted(list, '/bulk', { ...ticked, do: 'set priority' })
    assert.match(asked.html, /Set Priority<\/bdi>: 4 documents/)
    const wrong = await sentAgain(asked, { 'f.priority': 'Utmost' })
    assert.match(wrong.html, /name="f.priority"[^>]*aria-invalid="true"/)
    const shown = await sentAgain(asked, { 'f.priority': 'High' })
    assert.match(shown.html, /<td>Priority<\/td><td dir="auto">Low<\/td><td dir="auto">High<\/td>/)
    assert.match(shown.html, /TASK-NONE<\/th><td[^>]*class="fault"/)
    assert.match(shown.html, new RegExp(`${same}</th><td[^>]*>Nothing changes`))
    assert.match(shown.html, /Yes, do it to 2 documents</)
    assert.equal(await priorityOf(one), 'Low', 'nothing is done before it is confirmed')
    // Somebody changes one of them meanwhile.
    await changed(other)
    const done = await sentAgain(shown, {})
    assert.match(done.html, new RegExp(`1 document done</summary>[^]*${one}</bdi>`))
    assert.match(done.html, new RegExp(`${other}</a>: <span class="fault"[^>]*>[^<]*changed meanwhile`))
    assert.equal(await priorityOf(one), 'High')
    const told = (await eventsOf()).filter(
      ({ user, target }) => user === manager && target === 'update_document',
    )
    assert.ok(told.some(({ status }) => status === 'ok') && told.some(({ status }) => status === 'error'))
  })

  it('assigns and deletes several, by the rules of each, and twice sent does it once', async () => {
    const names = [await task('a'), await task('b')]
    const ticked = Object.fromEntries(names.map((name, index) => [`row.${index}`, name]))
    const asked = await posted(list, '/bulk', { ...ticked, do: 'assign' })
    const wrong = await sentAgain(asked, { 'f.user': 'nobody@example.com' })
    assert.match(wrong.html, /name="f.user" value="nobody@example.com"[^>]*aria-invalid="true"/)
    const shown = await sentAgain(wrong, { 'f.user': 'me', 'f.note': 'Today' })
    await sentAgain(shown, {})
    assert.match((await sentAgain(shown, {})).html, /2 documents done/)
    for (const name of names)
      assert.match(page(await browser.open(`${service.url}${list}/${name}`)).html, /Alex Admin[^]*Today/)
    const gone = await posted(list, '/bulk', { ...ticked, do: 'delete' })
    await sentAgain(gone, {})
    for (const name of names)
      assert.equal(page(await browser.open(`${service.url}${list}/${name}`)).status, 404)
  })

  it('submits several: each by its rules, those refused told one by one, unchanged and audited', async () => {
    const theirs = await signIn(service, sales)
    const [one, other, mine, late] = [
      await order(sales),
      await order(sales),
      await order(manager),
      await order(sales),
    ]
    await submitDocument(documents(), who(sales), 'Sales Order', late)
    const ticked = { 'row.0': one, 'row.1': mine, 'row.2': other, 'row.3': late, 'row.4': 'SO-NONE' }
    const shown = await posted(orders, '/bulk', { ...ticked, do: 'submit' }, theirs)
    assert.match(shown.html, /Submit<\/bdi>: 5 documents/)
    for (const [name, why] of [
      [mine, 'but not submit it'],
      [late, 'is submitted, not a draft'],
      ['SO-NONE', 'there is no Sales Order'],
    ])
      assert.match(shown.html, new RegExp(`${name}</th><td[^>]*class="fault"[^>]*>[^<]*${why}`))
    assert.match(shown.html, /Yes, do it to 2 documents</)
    assert.deepEqual(
      await statesOf(one, mine, other, late),
      [0, 0, 0, 1],
      'nothing is done before it is confirmed',
    )
    // Somebody submits one meanwhile, and the form is sent with one that was refused.
    await submitDocument(documents(), who(sales), 'Sales Order', other)
    const before = await eventsOf()
    const done = await sentAgain(shown, { 'row.2': mine, 'modified.2': modifiedIn(shown) }, theirs, orders)
    assert.match(done.html, new RegExp(`1 document done</summary>[^]*<bdi>${one}</bdi>`))
    assert.match(done.html, new RegExp(`${other}</a>: <span class="fault"[^>]*>[^<]*changed meanwhile`))
    assert.match(done.html, new RegExp(`${mine}</a>: <span class="fault"`))
    assert.deepEqual(await statesOf(one, mine, other, late), [1, 0, 1, 1])
    const told = (await eventsOf()).filter(({ seq }) => !before.some((line) => line.seq === seq))
    assert.deepEqual(
      told.filter(({ target }) => target === 'submit_document').map(({ status }) => status),
      ['ok'],
      'what was changed meanwhile is not tried',
    )
    // The tool itself refuses, and is told of, whatever the page was told before.
    const forged = await posted(orders, '/bulk', { do: 'submit', 'row.0': mine, confirmed: '1' }, theirs)
    assert.match(forged.html, new RegExp(`${mine}</a>: <span class="fault"[^>]*>[^<]*but not submit it`))
    assert.deepEqual(await statesOf(mine), [0])
    const last = (await eventsOf()).filter(({ target }) => target === 'submit_document')
    assert.ok(last.some(({ user, status }) => user === sales && status === 'denied'))
  })

  it('cancels several, not those that are no more as they were shown, and is not offered to who may not', async () => {
    const [one, other, draft] = [await order(manager), await order(manager), await order(manager)]
    for (const name of [one, other]) await submitDocument(documents(), who(), 'Sales Order', name)
    const ticked = { 'row.0': one, 'row.1': other, 'row.2': draft }
    const theirs = await signIn(service, sales)
    const refused = await posted(orders, '/bulk', { ...ticked, do: 'cancel', confirmed: '1' }, theirs)
    assert.match(refused.html, /choose what to do with the documents/)
    assert.doesNotMatch(refused.html, /<option value="cancel"/)
    const shown = await posted(orders, '/bulk', { ...ticked, do: 'cancel' })
    assert.match(shown.html, new RegExp(`${draft}</th><td[^>]*class="fault"[^>]*>[^<]*is a? ?draft`))
    assert.deepEqual(await statesOf(one, other, draft), [1, 1, 0])
    await cancelDocument(documents(), who(), 'Sales Order', other)
    const done = await sentAgain(shown, {}, browser, orders)
    assert.match(done.html, new RegExp(`1 document done</summary>[^]*<bdi>${one}</bdi>`))
    assert.match(done.html, new RegExp(`${other}</a>: <span class="fault"`))
    const again = await sentAgain(shown, {}, browser, orders)
    assert.match(again.html, new RegExp(`${one}</(bdi|a)>`))
    assert.deepEqual(await statesOf(one, other, draft), [2, 2, 0])
    const told = (await eventsOf()).filter(
      ({ target, status }) => target === 'cancel_document' && status === 'ok',
    )
    assert.ok(told.every(({ user }) => user === manager))
  })

  it('offers and does nothing that one may not do', async () => {
    const theirs = await signIn(service, sales)
    const shown = page(await theirs.open(`${service.url}/documents/Customer`))
    assert.ok(!/<option value="delete"/.test(shown.html))
    const name = /name="row.0" value="([^"]+)"/.exec(shown.html)![1]!
    const typed = fieldsOn(shown, '/documents/Customer/bulk')
    for (const [key, value] of Object.entries({ do: 'delete', 'row.0': name, confirmed: '1' }))
      typed.set(key, value)
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
    const refused = page(
      await theirs.open(`${service.url}/documents/Customer/bulk`, { method: 'POST', headers, body: typed }),
    )
    assert.match(refused.html, /choose what to do with the documents/)
    assert.equal(
      page(await browser.open(`${service.url}/documents/Customer/${encodeURIComponent(name)}`)).status,
      200,
    )
  })

  it('is narrowed by filters that a link gives, which are told and kept', async () => {
    const name = await task('50% done_')
    const filters = JSON.stringify([['subject', '=', '50% done_']])
    const shown = page(await browser.open(`${service.url}${list}?filters=${encodeURIComponent(filters)}`))
    assert.match(shown.html, new RegExp(`1 document[^]*>${name}<`))
    assert.match(shown.html, /Only those with: <bdi>Subject = 50% done_<\/bdi>/)
    assert.equal(fieldsOn(shown, list).get('filters'), filters)
    for (const [asked, status] of [
      ['[["nothing","=","x"]]', 400],
      ['{"a":1}', 200],
      ['[[1,2,3]]', 200],
      ['[', 200],
    ] as const) {
      const answer = page(await browser.open(`${service.url}${list}?filters=${encodeURIComponent(asked)}`))
      assert.equal(answer.status, status, asked)
    }
  })

  const who = (user = manager) => principalFor(service.daemon.services.people().find(user)!, 'r')
  const documents = () => service.daemon.services.site.current().documents
  async function task(title: string, priority = 'Medium'): Promise<string> {
    const { document } = await createDocument(documents(), who(), 'Task', { subject: title, priority })
    return String(document['name'])
  }
  async function order(user: string): Promise<string> {
    const first = async (doctype: string) =>
      (await listDocuments(documents(), who(), { doctype, limit: 1 })).data[0]!['name']
    const items = [{ item: await first('Item'), qty: 2, rate: 5 }]
    const values = { customer: await first('Customer'), items }
    const { document } = await createDocument(documents(), who(user), 'Sales Order', values)
    return String(document['name'])
  }
  async function statesOf(...names: string[]): Promise<unknown[]> {
    const found = names.map((name) => getDocument(documents(), who(), 'Sales Order', name))
    return (await Promise.all(found)).map(({ docstatus }) => docstatus)
  }
  async function priorityOf(name: string): Promise<unknown> {
    return (await getDocument(documents(), who(), 'Task', name))['priority']
  }
  async function changed(name: string): Promise<void> {
    const at = `${list}/${name}/edit`
    await browser.fill(page(await browser.open(service.url + at)), `${at}/save`, { 'f.subject': 'changed' })
  }
  async function posted(
    at: string,
    action: string,
    fields: Record<string, string>,
    by = browser,
  ): Promise<Page> {
    const [path = '', query] = at.split('?')
    const shown = page(await by.open(service.url + at))
    const csrf = /name="csrf" value="([^"]+)"/.exec(shown.html)![1]!
    return sent(
      `${path}${action}${query === undefined ? '' : `?${query}`}`,
      new URLSearchParams({ csrf, ...fields }),
      by,
    )
  }
  /** Sends the first form for several documents that a page shows. */
  function sentAgain(shown: Page, fields: Record<string, string>, by = browser, at = list): Promise<Page> {
    const typed = fieldsOn(shown, `${at}/bulk`)
    for (const [name, value] of Object.entries(fields)) typed.set(name, value)
    return sent(`${at}/bulk`, typed, by)
  }
  async function sent(action: string, body: URLSearchParams, by: Browser): Promise<Page> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
    return page(await by.open(service.url + action, { method: 'POST', headers, body }))
  }
  async function eventsOf(): Promise<AuditLine[]> {
    const found: AuditLine[] = []
    for await (const line of stream(service.options, 'audit.search', { type: 'tool.call' })) found.push(line)
    return found
  }
})

const headsOf = ({ html }: Page): string[] =>
  [...(/<thead>([^]*?)<\/thead>/.exec(html)?.[1] ?? '').matchAll(/<th[^>]*>([^]*?)<\/th>/g)].map(([, text]) =>
    text!.replaceAll(/<[^>]*>/g, ''),
  )

/** The version of the first document that a page shows before something is done to several. */
const modifiedIn = ({ html }: Page): string => /name="modified\.0" value="([^"]+)"/.exec(html)![1]!
