/**
 * What each page weighs and costs: the real daemon over the shipped site, an administrator's session, one request after
 * another; processor time is the least of the rounds. `node --import tsx bench/pages/pages.ts [rounds]`
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { Browser, type Page } from '../../test/helpers/browser.ts'
import { copyOfShippedSite, startDaemon } from '../../test/helpers/daemon.ts'
import { alsoLoadedBy, dashboardOfPictures, furnish, pagesOf, people } from '../../test/helpers/every-page.ts'
import { table, usedBy } from '../server-process.ts'

const rounds = Number(process.argv[2] ?? 3)
const requestsARound = 40
const password = 'correct horse battery staple'
// As a browser asks that goes on from one page of ours to another.
const html = {
  headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin', 'accept-encoding': 'br, gzip' },
}
// The promise: a page is no heavier, asks no more often, and takes no longer to make.
const mostKilobytes = 80
const mostRequests = 6
const mostMilliseconds = 20

const undo: (() => unknown)[] = []
const cleanup = { after: (done: () => unknown) => void undo.push(done) } as never
try {
  await main()
} finally {
  for (const done of undo.reverse()) await done()
}

async function main(): Promise<void> {
  const site = copyOfShippedSite(cleanup)
  furnish(site)
  const settings = join(site, 'config/settings.yaml')
  const unlimited = readFileSync(settings, 'utf8').replace(
    /(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m,
    '$1 false',
  )
  writeFileSync(settings, unlimited)
  const daemon = await startDaemon(cleanup, { site })
  const { code, stderr } = await daemon.cli(['users', 'passwd', people.admin, '--password-stdin'], password)
  if (code !== 0) throw new Error(stderr)
  const pictures = await dashboardOfPictures(daemon, 8)
  const pages = { ...(await pagesOf(daemon)), 'dashboard of pictures': pictures }
  const nobody = new Browser()
  const browser = new Browser()
  const open = async (path: string, by = browser): Promise<Page> => {
    const page = await by.open(daemon.url + path, html)
    if (!('html' in page) || page.status !== 200 || new URL(page.url).pathname !== path.split('?')[0])
      throw new Error(`${path}: ${JSON.stringify(page).slice(0, 500)}`)
    return page
  }
  await browser.submit(await open('/sign-in'), { username: people.admin, password })
  const entries = [
    ...Object.entries(pages).map(([name, path]) => ({ name, path, by: browser })),
    { name: 'sign-in', path: '/sign-in', by: nobody },
    { name: 'home', path: '/', by: browser },
  ]
  const rows: [string, ...string[]][] = []
  const over: string[] = []
  for (const { name, path, by } of entries) {
    const page = await open(path, by)
    const bytes = Buffer.byteLength(page.html)
    const [own, pictures] = await alsoLoaded(daemon.url, page.html, by)
    const loaded = bytes + own
    const spent: number[] = []
    for (let round = 0; round < rounds; round++) {
      const before = usedBy(daemon.process.pid!)
      for (let request = 0; request < requestsARound; request++) await open(path, by)
      spent.push((usedBy(daemon.process.pid!) - before) / requestsARound / 1000)
    }
    const least = Math.min(...spent)
    const requests = 1 + alsoLoadedBy(page.html).length
    const isHeavy = bytes > mostKilobytes * 1000 || requests > mostRequests
    if (isHeavy || least > mostMilliseconds) over.push(name)
    const kilobytes = (count: number): string => `${(count / 1000).toFixed(1)} kB`
    rows.push([
      name,
      kilobytes(bytes),
      kilobytes(loaded),
      String(requests),
      pictures === 0 ? '' : kilobytes(pictures),
      `${least.toFixed(1)} ms`,
    ])
  }
  rows.sort(([one], [other]) => one.localeCompare(other))
  table(
    ['page', 'HTML', 'with style, script and icon', 'requests', 'pictures of charts', 'processor time'],
    rows,
  )
  if (over.length === 0) return
  process.stderr.write(
    `over ${mostKilobytes} kB of HTML, ${mostRequests} requests or ${mostMilliseconds} ms: ${over.join(', ')}\n`,
  )
  process.exitCode = 1
}

/** What a browser loads for the page the first time: its style, its script and its icon; and the pictures of charts that are not folded. */
async function alsoLoaded(url: string, page: string, by: Browser): Promise<[own: number, pictures: number]> {
  const bytesOf = async (source: string): Promise<number> => {
    const headers = { cookie: by.cookiesFor(url) }
    const answer = await fetch(new URL(source, url), { headers })
    if (!answer.ok) throw new Error(`${source}: ${answer.status}`)
    return (await answer.arrayBuffer()).byteLength
  }
  let [own, pictures] = [0, 0]
  for (const source of alsoLoadedBy(page))
    if (source.includes('/charts/')) pictures += await bytesOf(source)
    else own += await bytesOf(source)
  return [own, pictures]
}
