/** What every page of the shipped site weighs, and how often a browser asks for it; how long it takes, `bench/pages` says. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Browser, type Page } from '../helpers/browser.ts'
import { copyOfShippedSite, startDaemon } from '../helpers/daemon.ts'
import { alsoLoadedBy, dashboardOfPictures, furnish, pagesOf, people } from '../helpers/every-page.ts'
import { page } from './administered.ts'

const password = 'correct horse battery staple'
/** What a page may weigh as HTML, before it is compressed, and how many requests a browser may make for it. */
const [mostBytes, mostRequests] = [80_000, 6]

describe('the pages of the shipped site', () => {
  it('have at most 80 kB of HTML, ask for at most six things, and are sent compressed', async (t) => {
    const site = copyOfShippedSite(t)
    furnish(site)
    const daemon = await startDaemon(t, { site })
    await daemon.cli(['users', 'passwd', people.admin, '--password-stdin'], password)
    const pictures = await dashboardOfPictures(daemon, 8)
    const made = { ...(await pagesOf(daemon)), pictures }
    const every = Object.entries(made)
    const browser = new Browser()
    const open = async (path: string): Promise<Page> => page(await browser.open(daemon.url + path))
    const over: string[] = []
    const weigh = (name: string, { html }: Page): void => {
      const bytes = Buffer.byteLength(html)
      const requests = 1 + alsoLoadedBy(html).length
      if (bytes > mostBytes || requests > mostRequests)
        over.push(`${name}: ${bytes} bytes, ${requests} requests`)
    }
    const signIn = await open('/sign-in')
    weigh('sign-in', signIn)
    await browser.submit(signIn, { username: people.admin, password })
    assert.ok(every.length > 30)
    for (const [name, path] of [['home', '/'], ...every] as const) {
      weigh(name, await open(path))
      // As a browser asks that comes from a page of ours: what others may have asked for is not compressed.
      const headers = {
        cookie: browser.cookiesFor(daemon.url),
        'accept-encoding': 'br',
        'sec-fetch-site': 'same-origin',
      }
      const packed = await fetch(daemon.url + path, { headers })
      if (packed.headers.get('content-encoding') !== 'br') over.push(`${name}: is not compressed`)
      await packed.arrayBuffer()
    }
    const { html } = await open(made.pictures)
    assert.equal(html.match(/<img src="\/desk\/charts\//g)?.length, 8)
    assert.equal(alsoLoadedBy(html).filter((source) => source.includes('/charts/')).length, 3)
    assert.deepEqual(over, [])
  })
})
