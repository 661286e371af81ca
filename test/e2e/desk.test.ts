/** The desk page: charts that a tool stored, drawn for whoever looks and for nobody else. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Browser } from '../helpers/browser.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { callerOf } from '../helpers/tool-calls.ts'

const password = 'correct horse battery staple'

describe('the desk', () => {
  it('shows dashboards and their pictures to those who may see them', async (t) => {
    const daemon = await startDaemon(t)
    const people = ['admin@example.com', 'hr@example.com']
    for (const user of people) await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
    const call = await callerOf(daemon, people[0]!)
    const chart = await call('create_dashboard_chart', {
      chart_name: 'Tasks <b>by</b> priority',
      chart_type: 'bar',
      doctype: 'Task',
      aggregate_function: 'Count',
      based_on: 'priority',
    })
    const days = await call('create_dashboard_chart', {
      chart_name: 'Tasks by day',
      chart_type: 'heatmap',
      doctype: 'Task',
      aggregate_function: 'Count',
      time_series_based_on: 'creation',
      timespan: 'All Time',
    })
    const both = [chart.chart_id, days.chart_id]
    const made = await call('create_dashboard', { dashboard_name: 'Mine', chart_names: both })
    const id = String(made.dashboard_id)

    const mine = await signedIn(`${daemon.url}/desk`, people[0]!)
    assert.ok(mine.page.html.includes('Mine'), mine.page.html)
    const page = await mine.browser.open(`${daemon.url}/desk/${id}`)
    assert.ok(
      'html' in page && page.html.includes('Tasks &lt;b&gt;by&lt;/b&gt; priority'),
      JSON.stringify(page),
    )
    // Each bar leads to what is behind it; a picture has its numbers beside it, and its place is kept while it comes.
    assert.match(
      page.html,
      /<a href="[^"]*"><span[^>]*>High<\/span><svg[^>]*><rect [^>]*><\/svg><span[^>]*>\d+</,
    )
    assert.match(
      page.html,
      /<summary>The numbers of Tasks by day<[^]*<th scope="row"[^>]*><a [^>]*>[\d-]+<\/a><\/th><td[^>]*>\d+<\/td>/,
    )
    assert.match(page.html, /<img [^>]*width="640" height="400"/)
    const picture = await mine.browser.open(`${daemon.url}/desk/charts/${chart.chart_id}`)
    assert.ok('html' in picture && picture.status === 200 && /PNG|<svg/.test(picture.html.slice(0, 200)))
    // On a phone and in the dark it is another picture, drawn for there.
    const looks = ['', '?dark', '?narrow', '?narrow&dark'].map(async (look) => {
      const drawn = await fetch(`${daemon.url}/desk/charts/${chart.chart_id}${look}`, {
        headers: { cookie: mine.browser.cookiesFor(daemon.url) },
      })
      return sizeOf(Buffer.from(await drawn.arrayBuffer()))
    })
    const [wide, dark, narrow, narrowDark] = await Promise.all(looks)
    assert.ok(page.html.includes(`charts/${days.chart_id}?narrow&amp;dark&amp;`))
    assert.deepEqual(wide, dark)
    assert.deepEqual(narrow, narrowDark)
    assert.ok(wide![0]! > 600 && narrow![0]! < 320, JSON.stringify([wide, narrow]))
    const etag = 'headers' in picture ? picture.headers.get('etag') : null
    assert.match(etag ?? '', /^"[^"]{20,}"$/)
    const again = await mine.browser.open(`${daemon.url}/desk/charts/${chart.chart_id}`, {
      headers: { 'if-none-match': etag! },
    })
    assert.ok('status' in again && again.status === 304)

    const theirs = await signedIn(`${daemon.url}/desk`, people[1]!)
    assert.ok(!theirs.page.html.includes('Mine'))
    for (const path of [`/desk/${id}`, `/desk/charts/${chart.chart_id}`, '/desk/NONE', '/desk/%zz']) {
      const refused = await theirs.browser.open(daemon.url + path)
      assert.ok('status' in refused && refused.status === 404, path)
    }
    const events = (await daemon.cli(['audit', 'search', '--type', 'chart.view', '--json'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { user: string; status: string })
      .map(({ user, status }) => `${user} ${status}`)
    assert.deepEqual(events, [...Array.from({ length: 6 }, () => `${people[0]} ok`), `${people[1]} denied`])
    const stranger = await new Browser().open(`${daemon.url}/desk/charts/${chart.chart_id}`)
    assert.ok('html' in stranger && /name="?password"?/.test(stranger.html))
  })
})

/** How wide and high a picture is, as units of an SVG. */
function sizeOf(picture: Buffer): number[] {
  if (picture.toString('latin1', 1, 4) === 'PNG')
    return [picture.readUInt32BE(16), picture.readUInt32BE(20)].map((side) => side / 1.5)
  const [, ...sides] = /<svg[^>]* width="([\d.]+)" height="([\d.]+)"/.exec(picture.toString())!
  return sides.map(Number)
}

async function signedIn(
  url: string,
  username: string,
): Promise<{ browser: Browser; page: { html: string } }> {
  const browser = new Browser()
  const form = await browser.open(url)
  assert.ok('html' in form)
  const page = await browser.submit(form, { username, password })
  assert.ok('html' in page)
  return { browser, page }
}
