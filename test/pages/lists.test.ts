/** Lists of documents: views that one keeps, and what is done to several documents at once, without a script. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import type { AuditLine } from '../../src/audit/event.ts'
import { principalFor } from '../../src/core/principal.ts'
import { getDocument } from '../../src/documents/asking/reading.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import type { RunningService } from '../cli/running-service.ts'
import { type Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { administered, audited, manager, page, sales, signIn } from './administered.ts'

const list = '/documents/Task'
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
    assert.equal(await accounts.forgetViews(manager), 100)
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

  const who = () => principalFor(service.daemon.services.people().find(manager)!, 'r')
  const documents = () => service.daemon.services.site.current().documents
  async function task(title: string, priority = 'Medium'): Promise<string> {
    const { document } = await createDocument(documents(), who(), 'Task', { subject: title, priority })
    return String(document['name'])
  }
  async function priorityOf(name: string): Promise<unknown> {
    return (await getDocument(documents(), who(), 'Task', name))['priority']
  }
  async function changed(name: string): Promise<void> {
    const at = `${list}/${name}/edit`
    await browser.fill(page(await browser.open(service.url + at)), `${at}/save`, { 'f.subject': 'changed' })
  }
  async function posted(at: string, action: string, fields: Record<string, string>): Promise<Page> {
    const [path = '', query] = at.split('?')
    const shown = page(await browser.open(service.url + at))
    const csrf = /name="csrf" value="([^"]+)"/.exec(shown.html)![1]!
    return sent(
      `${path}${action}${query === undefined ? '' : `?${query}`}`,
      new URLSearchParams({ csrf, ...fields }),
    )
  }
  /** Sends the first form for several documents that a page shows. */
  function sentAgain(shown: Page, fields: Record<string, string>): Promise<Page> {
    const typed = fieldsOn(shown, `${list}/bulk`)
    for (const [name, value] of Object.entries(fields)) typed.set(name, value)
    return sent(`${list}/bulk`, typed)
  }
  async function sent(action: string, body: URLSearchParams): Promise<Page> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
    return page(await browser.open(service.url + action, { method: 'POST', headers, body }))
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
