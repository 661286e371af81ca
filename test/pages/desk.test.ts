/** The pages of dashboards, without a browser's script. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Stored } from '#state/store.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { principalFor } from '../../src/core/principal.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import type { Page } from '../helpers/browser.ts'
import { administered, manager, page, sales, signIn } from './administered.ts'

describe('a dashboard', () => {
  it('lists the first 500 numbers of a chart, and says how many more there are', async (t) => {
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
    assert.deepEqual(listed, days.slice(0, 500))
    assert.match(html, /1,200 more are not listed/)
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
    const id = await make('Dashboard', { dashboard_name: 'D', charts: [{ chart: groups }, { chart: lines }] })
    const numbers = async (query: string): Promise<[string, number, number][]> => {
      const { html } = page(await browser.open(`${service.url}/desk/${id}${query}`))
      const found: [string, number, number][] = []
      for (const [, link = '', label = '', value] of html.matchAll(
        /<a href="([^"]*)">([^<]*)<\/a><\/th><td class="number">(\d+)</g,
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
    ])
    const shorter = await numbers('?period=Last%20Week')
    assert.deepEqual(
      shorter.toSorted(([one], [other]) => (one < other ? -1 : 1)),
      [
        [month, 2, 2],
        ['High', 1, 1],
        ['Low', 1, 1],
      ],
    )
    const picture = page(await browser.open(`${service.url}/desk/charts/${groups}?period=Last%20Week`))
    const whole = page(await browser.open(`${service.url}/desk/charts/${groups}`))
    assert.notEqual(picture.headers.get('etag'), whole.headers.get('etag'))
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
    // Others see it and change nothing.
    const theirs = await signIn(service, sales)
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
