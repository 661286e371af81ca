/** The log as it grows on a page: told without loading again, to whoever may read the log, for as long as they may. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { Browser, type Page as Answer } from '../helpers/browser.ts'
import { noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { people } from '../helpers/every-page.ts'

const password = 'correct horse battery staple'
const inVienna = 'Europe/Vienna'

describe('the log, watched', () => {
  it('tells what fits as it is written, goes on where it broke, and is told in the log', async (t) => {
    const { daemon } = await audited(t)
    const { browser, page } = await opened(daemon, '/audit?type=cli.run')
    const live = liveAddress(page)
    const first = await listen(daemon, browser, live)
    await daemon.cli(['status'])
    await happen(daemon, 'first@example.com')
    const [event] = await first.until(/first@example\.com/)
    assert.match(event!.data, /<details class="event"/)
    first.close()
    await happen(daemon, 'between@example.com')
    const again = await listen(daemon, browser, live, { 'last-event-id': event!.id })
    const [next] = await again.until(/example\.com/)
    assert.match(next!.data, /between@example\.com/, 'nothing twice, nothing lost')
    again.close()
    const told = await search(daemon, 'audit.view')
    assert.equal(told.filter(({ data, user }) => data?.live === true && user === people.auditor).length, 2)
  })

  it('ends with the session, with the role and with the daemon, and tells nothing after that', async (t) => {
    const { daemon, site } = await audited(t)
    const { browser, page } = await opened(daemon, '/audit')
    const live = liveAddress(page)
    const bySession = await listen(daemon, browser, live)
    const csrf = await browser.open(`${daemon.url}/sign-out`)
    assert.ok('html' in csrf)
    const cookie = browser.cookiesFor(daemon.url)
    await browser.submit(csrf, {})
    await happen(daemon, 'after@example.com')
    assert.doesNotMatch(await bySession.rest(), /after@example\.com/)
    const refused = await fetch(daemon.url + live, { headers: { cookie }, redirect: 'manual' })
    assert.equal(refused.status, 303)

    const other = await opened(daemon, '/audit')
    const byRole = await listen(daemon, other.browser, liveAddress(other.page))
    const users = join(site, 'config/users.yaml')
    writeFileSync(users, readFileSync(users, 'utf8').replace('[Assistant User, Auditor]', '[Assistant User]'))
    await daemon.cli(['reload'])
    await happen(daemon, 'later@example.com')
    assert.doesNotMatch(await byRole.rest(), /later@example\.com/)
    const shut = await other.browser.open(daemon.url + liveAddress(other.page))
    assert.ok('status' in shut && shut.status === 403)

    writeFileSync(users, readFileSync(users, 'utf8').replace('[Assistant User]', '[Assistant User, Auditor]'))
    await daemon.cli(['reload'])
    const last = await opened(daemon, '/audit')
    const byDaemon = await listen(daemon, last.browser, liveAddress(last.page))
    await daemon.stop()
    await byDaemon.rest()
  })

  it('is open a few times for one user, and is no page for who may not read the log', async (t) => {
    const { daemon } = await audited(t)
    const { browser, page } = await opened(daemon, '/audit')
    const live = liveAddress(page)
    const some = await Promise.all([1, 2, 3, 4].map(() => listen(daemon, browser, live)))
    const more = await browser.open(daemon.url + live)
    assert.ok('status' in more && more.status === 429)
    some[0]!.close()
    for (;;) {
      const freed = await fetch(daemon.url + live, {
        headers: { cookie: browser.cookiesFor(daemon.url) },
      })
      await freed.body?.cancel()
      if (freed.status === 200) break
    }
    for (const one of some) one.close()
    const seller = await signedIn(daemon, people.sales)
    const refused = await seller.open(daemon.url + live)
    assert.ok('status' in refused && refused.status === 403)
  })

  it(
    'stays open where one reads, in the reader’s own time, and folds the fields of a phone',
    { skip },
    async (t) => {
      const { daemon } = await audited(t)
      const context = await (await startChromium(t)).newContext({ viewport: { width: 390, height: 844 } })
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      await page.goto(`${daemon.url}/sign-in`)
      await page.getByLabel('E-mail address').fill(people.auditor)
      await page.getByLabel('Password').fill(password)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Sign in' }).waitFor({ state: 'detached' })
      await page.goto(`${daemon.url}/account`)
      await page.getByLabel('Time zone').selectOption(inVienna)
      await page.getByRole('button', { name: 'Save' }).first().click()
      await page.goto(`${daemon.url}/audit`)
      const events = page.locator('details.event')
      const box = await events.first().boundingBox()
      assert.ok(box && box.y + box.height < 844, `the first event begins at ${box?.y}`)
      const time = events.first().locator('time')
      assert.match(await time.innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d CES?T$/)
      await events.first().locator('summary').press('Enter')
      const opened = await events.first().getAttribute('data-key')
      await page.getByRole('button', { name: 'Watch live' }).press('Enter')
      await page.getByText('New events appear at the top').waitFor()
      await happen(daemon, 'live@example.com')
      await events.filter({ hasText: 'live@example.com' }).first().waitFor({ state: 'attached' })
      assert.equal(
        await page.locator(`[data-key="${opened}"][open]`).count(),
        1,
        'what was opened stays open',
      )
      const keys = await valuesOf(page, 'details.event', 'dataset.key')
      assert.equal(new Set(keys).size, keys.length, 'no event stands there twice')
      await page.getByRole('button', { name: 'Stop watching' }).press('Enter')
      assert.equal(
        await page.getByRole('button', { name: 'Watch live' }).getAttribute('aria-pressed'),
        'false',
      )
      await page.getByText('Filters').press('Enter')
      assert.ok(
        (await valuesOf(page, 'input[name="user"] + datalist option', 'value')).includes(people.sales),
      )
      assert.deepEqual(complaints, [])

      const plain = await (await startChromium(t)).newContext({ javaScriptEnabled: false })
      await plain.addCookies(await context.cookies())
      const still = await plain.newPage()
      await still.goto(`${daemon.url}/audit`)
      await still.locator('details.event').first().waitFor()
      assert.equal(await still.getByRole('button', { name: 'Watch live' }).count(), 0)
    },
  )
})

async function valuesOf(page: Page, selector: string, member: string): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('${selector}')].map((one) => one.${member})`)
}

async function audited(t: TestContext): Promise<{ daemon: RunningDaemon; site: string }> {
  const site = copyOfShippedSite(t)
  const users = join(site, 'config/users.yaml')
  const auditor = `  - { email: ${people.auditor}, full_name: Ada Audit, roles: [Assistant User, Auditor], assistant_enabled: 1 }\n`
  writeFileSync(users, `${readFileSync(users, 'utf8').trimEnd()}\n${auditor}`)
  const daemon = await startDaemon(t, { site })
  for (const user of [people.auditor, people.sales])
    await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
  return { daemon, site }
}

/** Has something happen that the log tells: an operator asks for a link for somebody whom nobody knows. */
async function happen(daemon: RunningDaemon, user: string): Promise<void> {
  const { code } = await daemon.cli(['users', 'reset', user])
  assert.notEqual(code, 0)
}

async function search(
  daemon: RunningDaemon,
  type: string,
): Promise<{ user: string; data?: { live?: boolean } }[]> {
  const { stdout } = await daemon.cli(['audit', 'search', '--type', type, '--json'])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { user: string })
}

async function signedIn(daemon: RunningDaemon, username: string): Promise<Browser> {
  const browser = new Browser()
  const form = await browser.open(`${daemon.url}/sign-in`)
  assert.ok('html' in form)
  await browser.submit(form, { username, password })
  return browser
}

async function opened(daemon: RunningDaemon, path: string): Promise<{ browser: Browser; page: Answer }> {
  const browser = await signedIn(daemon, people.auditor)
  const page = await browser.open(daemon.url + path)
  assert.ok('html' in page && page.status === 200)
  return { browser, page }
}

function liveAddress({ html }: Answer): string {
  return /data-live="([^"]+)"/.exec(html)![1]!.replaceAll('&amp;', '&').replaceAll('&quot;', '"')
}

/** A stream that somebody listens to. */
async function listen(
  daemon: RunningDaemon,
  browser: Browser,
  path: string,
  more: Readonly<Record<string, string>> = {},
) {
  const stop = new AbortController()
  const headers = { cookie: browser.cookiesFor(daemon.url), ...more }
  const answer = await fetch(daemon.url + path, { headers, signal: stop.signal })
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/)
  const parts = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const read = async (): Promise<boolean> => {
    const { value, done } = await parts.read()
    text += value ?? ''
    return !done
  }
  return {
    close: () => stop.abort(),
    /** Waits for an event in which this stands; returns it and those that came before. */
    until: async (pattern: RegExp): Promise<{ id: string; data: string }[]> => {
      while (!pattern.test(text)) assert.ok(await read(), `it ended before: ${text}`)
      return text
        .split('\n\n')
        .filter((one) => pattern.test(one))
        .map((one) => ({
          id: /^id: (.*)$/m.exec(one)![1]!,
          data: one.replaceAll(/^(id: .*\n|data: )/gm, ''),
        }))
    },
    /** Waits until it ends; returns all that came. */
    rest: async (): Promise<string> => {
      while (await read()) continue
      return text
    },
  }
}
