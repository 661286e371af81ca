/** The pages of dashboards, without a browser's script. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Stored } from '#state/store.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { principalFor } from '../../src/core/principal.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { type Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { administered, audited, manager, page, sales, send, signIn } from './administered.ts'

describe('a dashboard', () => {
  it('lists the first 200 numbers of a chart, and says how many more there are', async (t) => {
    const service = await administered(t)
    const { documents } = service.daemon.services.site.current()
    const time = '2026-03-01T10:00:00.000Z'
    const made = {
      owner: manager,
      creation: time,
      modified: time,
      modified_by: manager,
      docstatus: 0 as const,
    }
    const days = Array.from({ length: 1700 }, (_, n) => new Date(n * 86_400_000).toISOString().slice(0, 10))
    await documents.store.transaction(async (tx) => {
      const put = async (doctype: string, document: Stored & Record<string, unknown>): Promise<unknown> =>
        await tx
          .in(collectionFor(documents, documents.platform.doctypes.get(doctype)!))
          .put({ ...made, ...document })
      for (const [n, day] of days.entries())
        await put('Opportunity', { id: `O-${n}`, title: `o${n}`, stage: 'Won', expected_close: day })
      await put('Dashboard Chart', {
        id: 'C-1',
        chart_name: 'By day',
        chart_type: 'line',
        document_type: 'Opportunity',
        aggregate_function: 'Count',
        time_series_based_on: 'expected_close',
        timespan: 'All Time',
        time_interval: 'Daily',
        filters: { title: ['like', 'o%'] },
      })
      await put('Dashboard', {
        id: 'D-1',
        dashboard_name: 'All',
        charts: [{ name: 'r', idx: 1, chart: 'C-1' }],
      })
    })
    const browser = await signIn(service, manager)
    const { html } = page(await browser.open(`${service.url}/desk/D-1`))
    const listed = [...html.matchAll(/<th scope="row" dir="auto"><a [^>]*>([^<]+)</g)].map(
      ([, label]) => label,
    )
    assert.deepEqual(listed, days.slice(0, 200))
    assert.match(html, /1,500 more are not listed/)
    // Several charts share what a page lists, and of four pictures three come with it.
    const charts = Array.from({ length: 4 }, (_, n) => ({ name: `r${n}`, idx: n + 1, chart: 'C-1' }))
    await documents.store.transaction(async (tx) => {
      const dashboards = collectionFor(documents, documents.platform.doctypes.get('Dashboard')!)
      await tx.in(dashboards).put({ ...made, id: 'D-2', dashboard_name: 'Four', charts })
    })
    const four = page(await browser.open(`${service.url}/desk/D-2`)).html
    assert.equal(four.match(/<th scope="row" dir="auto"><a /g)?.length, 200)
    assert.equal(four.match(/<picture>/g)?.length, 4)
    assert.equal(
      four.match(/<details><summary>The picture of By day<\/summary>\s*<a [^>]*><picture>/g)?.length,
      1,
    )
  })

  it('lists what is behind each number, in the timespan that one asks for', async (t) => {
    const { service, browser, make } = await desk(t)
    const today = new Date(service.daemon.services.clock.now()).toISOString().slice(0, 10)
    for (const [priority, due_date] of [
      ['High', today],
      ['High', '2001-02-03'],
      ['Low', today],
    ] as const)
      await make('Task', { subject: `behind ${priority}`, priority, due_date })
    const about = {
      document_type: 'Task',
      aggregate_function: 'Count',
      filters: { subject: ['like', 'behind%'] },
      time_series_based_on: 'due_date',
      timespan: 'All Time',
    }
    const groups = await make('Dashboard Chart', {
      ...about,
      chart_name: 'g',
      chart_type: 'bar',
      based_on: 'priority',
    })
    const months = { ...about, chart_name: 'm', chart_type: 'line', time_interval: 'Monthly' }
    const lines = await make('Dashboard Chart', months)
    // Ticks were called 0 and 1.
    for (const [n, isPublic] of [true, false, true].entries())
      await make('Note', { title: `ticked ${n}`, public: isPublic })
    const ticks = await make('Dashboard Chart', {
      document_type: 'Note',
      aggregate_function: 'Count',
      filters: { title: ['like', 'ticked%'] },
      chart_name: 't',
      chart_type: 'bar',
      based_on: 'public',
    })
    const charts = [{ chart: groups }, { chart: lines }, { chart: ticks }]
    const id = await make('Dashboard', { dashboard_name: 'D', charts })
    const numbers = async (query: string): Promise<[string, number, number][]> => {
      const { html } = page(await browser.open(`${service.url}/desk/${id}${query}`))
      const found: [string, number, number][] = []
      for (const [, link = '', label = '', value] of html.matchAll(
        /<a href="([^"]*)">(?:<span[^>]*>)?([^<]*)<\/(?:a|span)>(?:<\/th><td|<svg.*?<\/svg><span) class="number">(\d+)</gs,
      )) {
        const list = page(await browser.open(service.url + link.replaceAll('&amp;', '&')))
        found.push([label, Number(value), Number(/role="status">(\d+) document/.exec(list.html)?.[1])])
      }
      return found
    }
    const month = `${today.slice(0, 7)}-01`
    assert.deepEqual(await numbers(''), [
      ['High', 2, 2],
      ['Low', 1, 1],
      ['2001-02-01', 1, 1],
      [month, 2, 2],
      ['true', 2, 2],
      ['false', 1, 1],
    ])
    const shorter = await numbers('?period=Last%20Week')
    assert.deepEqual(
      shorter.toSorted(([one], [other]) => (one < other ? -1 : 1)),
      [
        [month, 2, 2],
        ['High', 1, 1],
        ['Low', 1, 1],
        ['false', 1, 1],
        ['true', 2, 2],
      ],
    )
    const picture = page(await browser.open(`${service.url}/desk/charts/${groups}?period=Last%20Week`))
    const whole = page(await browser.open(`${service.url}/desk/charts/${groups}`))
    assert.notEqual(picture.headers.get('etag'), whole.headers.get('etag'))
  })

  it('draws bars, sectors and lines that lead to what is behind each, and leaves to the sandbox what its owner refined', async (t) => {
    const { service, browser, make } = await desk(t)
    const today = new Date(service.daemon.services.clock.now()).toISOString().slice(0, 10)
    for (const priority of ['High', 'High', 'High', 'Low'])
      await make('Task', { subject: `drawn <${priority}>`, priority, due_date: today })
    const about = {
      document_type: 'Task',
      aggregate_function: 'Count',
      filters: { subject: ['like', 'drawn%'] },
      time_series_based_on: 'due_date',
    }
    const kinds: readonly (readonly [string, object])[] = [
      ['bar', { based_on: 'priority' }],
      ['pie', { based_on: 'priority' }],
      ['donut', { based_on: 'priority' }],
      ['percentage', { based_on: 'priority' }],
      ['line', { time_interval: 'Monthly', timespan: 'All Time' }],
      ['bar', { time_interval: 'Monthly', timespan: 'All Time' }],
      ['pie', { based_on: 'priority', vega_lite: { mark: 'bar', encoding: {} } }],
    ]
    const charts = []
    for (const [chart_type, more] of kinds)
      charts.push({
        chart: await make('Dashboard Chart', { ...about, chart_name: chart_type, chart_type, ...more }),
      })
    const id = await make('Dashboard', { dashboard_name: 'Drawn', charts })
    const { html } = page(await browser.open(`${service.url}/desk/${id}`))
    const figures = html.match(/<figure>[^]*?<\/figure>/g)!
    const linksOf = (figure: string, mark: string): string[] =>
      [
        ...figure.matchAll(new RegExp(`<a href="([^"]*)"[^>]*>(?:<span[^]*?<svg[^>]*>)?<${mark}\\b`, 'g')),
      ].map(([, link]) => link!)
    const marks = ['rect', 'path', 'path', 'rect', 'circle', 'rect']
    assert.deepEqual(
      marks.map((mark, index) => linksOf(figures[index]!, mark).length),
      [2, 2, 2, 2, 1, 1],
    )
    assert.ok(figures.slice(0, 6).every((figure) => !figure.includes('<img')))
    assert.match(figures[6]!, /<img /)
    // The numbers stand on the sectors.
    assert.deepEqual(
      [...figures[1]!.matchAll(/<text [^>]*>(\d+)</g)].map(([, number]) => number),
      ['3', '1'],
    )
    for (const [index, mark] of marks.entries()) {
      const [first = ''] = linksOf(figures[index]!, mark)
      const list = page(await browser.open(service.url + first.replaceAll('&amp;', '&')))
      assert.match(list.html, index < 4 ? /role="status">3 documents/ : /role="status">4 documents/)
    }
    // Whoever may read less sees and is led to less, by the same links.
    assert.doesNotMatch(html, /<High>/)
  })

  it('is made, named, filled, ordered and deleted on its page, by its owner alone', async (t) => {
    const { service, browser, make } = await desk(t)
    const chart = (chart_name: string): Promise<string> =>
      make('Dashboard Chart', {
        chart_name,
        chart_type: 'bar',
        document_type: 'Task',
        aggregate_function: 'Count',
        based_on: 'priority',
      })
    const [one, other] = [await chart('one'), await chart('other')]
    const none = page(await browser.fill(await shownAt('/desk'), '/desk/make', { name: 'Mine' }))
    assert.match(none.html, /choose at least one chart/)
    assert.match(none.html, /name="name" value="Mine"/)
    const stranger = { name: 'Mine', 'chart.0': one, share: 'nobody@example.com' }
    const unknown = page(await browser.fill(await shownAt('/desk'), '/desk/make', stranger))
    assert.match(unknown.html, /no user of that address who may see dashboards/)
    const given = { name: 'Mine', 'chart.0': one, share: `${sales}, Sales Manager` }
    const made = page(await browser.fill(await shownAt('/desk'), '/desk/make', given))
    const at = new URL(made.url).pathname
    const act = async (verb: string, fields: Record<string, string> = {}): Promise<Page> =>
      page(await browser.fill(await shownAt(at), `${at}/${verb}`, fields))
    await act('rename', { name: 'Ä'.repeat(140) })
    await act('add', { chart: other })
    assert.deepEqual(chartsOn(await shownAt(at)), ['one', 'other'])
    const stale = await shownAt(at)
    await act('earlier', { at: '1' })
    assert.deepEqual(chartsOn(await shownAt(at)), ['other', 'one'])
    const late = page(await browser.fill(stale, `${at}/take`, { at: '0' }))
    assert.equal(late.status, 409)
    assert.deepEqual(chartsOn(await shownAt(at)), ['other', 'one'])
    await act('take', { at: '1' })
    assert.deepEqual(chartsOn(await shownAt(at)), ['other'])
    // Of a form that names a stranger nothing is done, and what was typed stays.
    const sharing = { 'shared_roles.0': '', share_with: 'nobody@example.com' }
    const refused = page(await browser.fill(await shownAt(at), `${at}/share`, sharing))
    assert.match(refused.html, /id="share_with-about"[^>]*><span class="fault">[^<]*no user of that address/)
    assert.match(refused.html, /name="share_with" value="nobody@example.com"/)
    const theirs = await signIn(service, sales)
    assert.equal(page(await theirs.open(service.url + at)).status, 200, 'it is shared as before')
    // Others see it and change nothing.
    const seen = page(await theirs.open(service.url + at))
    assert.ok(seen.html.includes('Ä'.repeat(140)) && !seen.html.includes(`${at}/rename`))
    const csrf = /name="csrf" value="([^"]+)"/.exec(
      page(await theirs.open(`${service.url}/account`)).html,
    )![1]!
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
    const body = new URLSearchParams({ csrf, confirmed: '1' })
    assert.equal(
      page(await theirs.open(`${service.url}${at}/delete`, { method: 'POST', headers, body })).status,
      403,
    )
    const asked = await act('delete')
    assert.equal((await shownAt(at)).status, 200, 'nothing is deleted before it is confirmed')
    const gone = page(await browser.fill(asked, `${at}/delete`, { confirmed: '1' }))
    assert.equal(new URL(gone.url).pathname, '/desk')
    assert.equal((await shownAt(at)).status, 404)

    async function shownAt(path: string): Promise<Page> {
      return page(await browser.open(service.url + path))
    }
  })
})

const chartsOn = ({ html }: Page): string[] =>
  [...html.matchAll(/<figcaption[^>]*>([^<]*)</g)].map(([, name]) => name!)

async function desk(t: TestContext) {
  const service = await administered(t, { analysis: true })
  const { services } = service.daemon
  const who = principalFor(services.people().find(manager)!, 'r')
  const make = async (doctype: string, data: Record<string, unknown>): Promise<string> =>
    String((await createDocument(services.site.current().documents, who, doctype, data)).document['name'])
  return { service, browser: await signIn(service, manager), make }
}

describe('the sharing of a dashboard', () => {
  it('is given and taken on its page, with its charts, and told to the log', async (t) => {
    const { service, browser, make } = await desk(t)
    const about = {
      chart_type: 'bar',
      document_type: 'Task',
      aggregate_function: 'Count',
      based_on: 'priority',
    }
    const [both, one] = [
      await make('Dashboard Chart', { ...about, chart_name: 'both' }),
      await make('Dashboard Chart', { ...about, chart_name: 'one' }),
    ]
    const first = await make('Dashboard', {
      dashboard_name: 'First',
      charts: [{ chart: both }, { chart: one }],
    })
    const second = await make('Dashboard', { dashboard_name: 'Second', charts: [{ chart: both }] })
    const theirs = await signIn(service, sales)
    const seen = async (id: string): Promise<number | string[]> => {
      const shown = page(await theirs.open(`${service.url}/desk/${id}`))
      return shown.status === 200 ? chartsOn(shown).map((name) => name.trim()) : shown.status
    }
    const share = async (id: string, fields: Record<string, string>): Promise<void> => {
      const shown = page(await browser.open(`${service.url}/desk/${id}`))
      const answer = page(await browser.fill(shown, `/desk/${id}/share`, fields))
      assert.match(answer.html, /It is done/, answer.html)
    }
    const boxOf = async (role: string): Promise<string> => {
      const { html } = page(await browser.open(`${service.url}/desk/${first}`))
      return new RegExp(`name="(shared_roles\\.\\d+)" value="${role}"`).exec(html)![1]!
    }
    assert.deepEqual([await seen(first), await seen(second)], [404, 404])
    const everybody = { [await boxOf('Assistant User')]: 'Assistant User' }
    await share(first, everybody)
    assert.deepEqual([await seen(first), await seen(second)], [['both', 'one'], 404])
    await share(second, everybody)
    assert.deepEqual(await seen(second), ['both'])
    // Taken from one, what is on the other stays.
    await share(first, { [await boxOf('Assistant User')]: '', share_with: '' })
    assert.deepEqual([await seen(first), await seen(second)], [404, ['both']])
    const picture = async (chart: string): Promise<number> =>
      page(await theirs.open(`${service.url}/desk/charts/${chart}`)).status
    assert.deepEqual([await picture(one), await picture(both)], [404, 200])
    // Nobody else shares it, whatever they send.
    const { services } = service.daemon
    const stranger = principalFor(services.people().find(sales)!, 'r')
    const { document } = await createDocument(services.site.current().documents, stranger, 'Dashboard', {
      dashboard_name: 'Theirs',
    })
    const path = `/desk/${String(document['name'])}`
    const before = await audited(service, 'tool.call')
    const fields = { share_with: manager, modified: '' }
    assert.equal((await send(service, theirs, path, `/desk/${second}/share`, fields)).status, 403)
    assert.deepEqual([await seen(first), await seen(second)], [404, ['both']])
    const after = await audited(service, 'tool.call')
    assert.deepEqual(
      after.filter((line) => line.startsWith(sales)),
      [`${sales} update_document denied`],
    )
    assert.ok(
      before.length >= 5 && before.every((line) => line === `${manager} update_document ok`),
      before.join(),
    )
  })
})

describe('a new chart', () => {
  it('is described in the one form, looked at, and kept on a new dashboard or on one that is shared', async (t) => {
    const { service, browser, make } = await desk(t)
    for (const priority of ['High', 'High', 'Low'])
      await make('Task', { subject: `zebra ${priority}`, priority })
    const of = '/new-chart?of=Task'
    const start = page(await browser.open(`${service.url}/new-chart`))
    assert.match(start.html, /<option[^>]*>Task</)
    const given = {
      chart_name: 'By priority',
      chart_type: 'pie',
      based_on: 'priority',
      'by.subject': 'zebra',
      dashboard_name: 'My tasks',
    }
    const open = async (): Promise<Page> => page(await browser.open(service.url + of))
    // What is wrong is told at its field, in the reader's language, and nothing is lost or kept.
    const wrong = { ...given, aggregate_function: 'Sum' }
    const unnamed = page(await browser.fill(await open(), '/new-chart/make', { ...given, chart_name: '' }))
    assert.match(unnamed.html, /id="chart_name-about"[^>]*><span class="fault">is required/)
    const refused = page(await browser.fill(await open(), '/new-chart/make', wrong))
    assert.equal(refused.status, 400)
    assert.match(refused.html, /id="value_based_on-about"[^>]*><span class="fault">/)
    assert.match(refused.html, /name="by\.subject" value="zebra"/)
    assert.deepEqual(chartsMade(page(await browser.open(`${service.url}/desk`))), [])
    const filtered = page(
      await browser.fill(await open(), '/new-chart/make', { ...given, 'by.due_date.from': 'soon' }),
    )
    assert.match(filtered.html, /id="by-due_date-from-about"[^>]*><span class="fault">/)
    const shown = await open()
    const csrf = fieldsOn(shown, '/new-chart/make').get('csrf')!
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
    const preview = page(
      await browser.open(`${service.url}/new-chart/preview?of=Task`, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ csrf, ...given, aggregate_function: 'Count' }),
      }),
    )
    assert.match(preview.html, /<text [^>]*>2<\/text>[^]*<text [^>]*>1<\/text>/)
    assert.match(preview.html, /name="chart_name" value="By priority"/)
    assert.deepEqual(chartsMade(page(await browser.open(`${service.url}/desk`))), [])
    const made = page(await browser.fill(await open(), '/new-chart/make', given))
    assert.match(made.html, /<h1[^>]*>My tasks</)
    assert.match(made.html, /<figcaption>By priority/)
    const at = new URL(made.url).pathname
    const box = /name="(shared_roles\.\d+)" value="Sales User"/.exec(made.html)![1]!
    await browser.fill(made, `${at}/share`, { [box]: 'Sales User' })
    const more = { ...given, chart_name: 'Another', chart_type: 'bar', dashboard: at.split('/').at(-1)! }
    const full = page(await browser.fill(await open(), '/new-chart/make', more))
    assert.equal(new URL(full.url).pathname, at)
    const theirs = page(await (await signIn(service, sales)).open(service.url + at))
    assert.deepEqual(
      chartsOn(theirs).map((name) => name.trim()),
      ['By priority', 'Another'],
    )
  })

  it('is of what its maker may read alone', async (t) => {
    const { service, browser } = await desk(t)
    const theirs = await signIn(service, sales)
    const numbersOf = async (browser: Browser): Promise<boolean> => {
      const { html } = page(await browser.open(`${service.url}/new-chart?of=Employee`))
      assert.match(html, /<option value="department"/)
      return /<option value="(salary|date_of_birth)"/.test(html)
    }
    assert.deepEqual([await numbersOf(theirs), await numbersOf(browser)], [false, true])
    // A name that the form does not offer is refused, and nothing is kept or told.
    const path = '/new-chart?of=Employee'
    const pay = {
      chart_name: 'Pay',
      chart_type: 'bar',
      aggregate_function: 'Sum',
      value_based_on: 'salary',
      based_on: 'department',
    }
    for (const verb of ['preview', 'make']) {
      const refused = await send(service, theirs, path, `/new-chart/${verb}?of=Employee`, pay)
      assert.equal(refused.status, 400)
      assert.match(refused.html, /id="value_based_on-about"[^>]*><span class="fault">must be one of/)
    }
    assert.deepEqual(chartsMade(page(await theirs.open(`${service.url}/desk`))), [])
    assert.deepEqual(await audited(service, 'tool.call'), [])
    assert.equal(page(await theirs.open(`${service.url}/new-chart?of=Nothing`)).status, 404)
  })
})

/** The charts that one may choose, but for those that the site begins with. */
const chartsMade = ({ html }: Page): string[] =>
  [...html.matchAll(/name="chart\.\d+"[^>]*> <span[^>]*>([^<]*)</g)]
    .map(([, name]) => name!)
    .filter((name) => !name.endsWith('(Sales Order)'))
