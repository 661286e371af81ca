/** Whole stories with nothing but a keyboard, and what another site can do to who is signed in, in a real browser. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { furnish, pagesOf, people } from '../helpers/every-page.ts'

const password = 'correct horse battery staple'
const hostile = '<img src=x onerror=alert(1)> \u202e'

describe('with a keyboard alone', { skip }, () => {
  it('somebody signs in for an app that the page names, lets it only read, and takes that back', async (t) => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/settings.yaml')
    const company = `company:\n  logo: config/logo.svg\n  accent_color: "#7a1f5c"\n  support: help@clinic.example\n`
    writeFileSync(settings, readFileSync(settings, 'utf8').replace(/^company:\n(?: .*\n)+/m, company))
    const logo = '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="16"/>'
    writeFileSync(join(site, 'config/logo.svg'), logo)
    const daemon = await startDaemon(t, { site })
    await daemon.cli(['users', 'passwd', people.sales, '--password-stdin'], password)
    const arrived: string[] = []
    const app = await serving(t, (path) => {
      arrived.push(path)
      return '<title>connected</title>'
    })
    const { page, complaints } = await newPage(t)
    await page.goto(await askedBy(daemon, `${hostile}Mail`, `${app}/callback`))
    await page.getByText('asks to act as you').waitFor()
    await page.getByText('<img src=x onerror=alert(1)>').waitFor()
    assert.equal(await page.evaluate(`document.querySelector('header img.logo').naturalWidth`), 48)
    await signIn(page, people.sales)
    await page.getByRole('heading', { name: /to act as you/ }).waitFor()
    await tabTo(page, /Only let it read/)
    await page.keyboard.press('Space')
    await tabTo(page, 'Allow')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname === '/callback')
    assert.match(arrived[0]!, /^\/callback\?.*code=/)

    await page.goto(daemon.url)
    await follow(page, 'Connected apps')
    await page.getByText('read').first().waitFor()
    await tabTo(page, /^Revoke access/)
    await page.keyboard.press('Enter')
    await tabTo(page, 'Yes, end it')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('Access was revoked').waitFor()
    await page.goto(`${daemon.url}/nowhere`)
    await page.getByText('Request id:').waitFor()
    await tabTo(page, 'help@clinic.example')
    assert.equal(await page.locator('main img, main script').count(), 0)
    assert.deepEqual(complaints, [])
  })

  it('somebody decides about a call, reads the numbers of a dashboard, and finds an event of the log', async (t) => {
    const site = copyOfShippedSite(t)
    furnish(site)
    const daemon = await startDaemon(t, { site })
    await daemon.cli(['users', 'passwd', people.admin, '--password-stdin'], password)
    const pages = await pagesOf(daemon)
    const { page, complaints } = await newPage(t)
    await page.goto(`${daemon.url}/sign-in`)
    await signIn(page, people.admin)
    await page.getByRole('link', { name: 'Update a document' }).waitFor()
    assert.equal(await page.locator('main a[href^="/approvals/"]').count(), 4)
    await follow(page, 'Waiting for you 4')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await tabTo(page, /Update a document/)
    await page.keyboard.press('Enter')
    await page.waitForURL(daemon.url + pages['approval-update'])
    await tabTo(page, 'Exactly with these values')
    await page.keyboard.press('Enter')
    await page.getByText('"credit_limit": 250000').waitFor()
    await tabTo(page, 'Allow this once')
    await page.keyboard.press('Enter')
    await page.getByText('was approved').waitFor()
    await page.getByRole('link', { name: 'Waiting for you 3' }).waitFor()

    await follow(page, 'Dashboards')
    await follow(page, 'Sales this quarter')
    await tabTo(page, 'High', 'A')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/documents\/Task\?filters=/)
    await page.getByRole('status').waitFor()

    await follow(page, 'Audit log')
    await tabTo(page, 'Filters')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Type')
    await page.keyboard.type('tool.approve')
    await page.keyboard.press('Enter')
    await page.waitForURL(/type=tool\.approve/)
    await tabTo(page, /tool\.approve/)
    await page.keyboard.press('Enter')
    await page.getByLabel(/^Event \d+$/).waitFor()
    await follow(page, 'Sign out')
    await tabTo(page, 'Sign out', 'BUTTON')
    await page.keyboard.press('Enter')
    await page.getByText('You are signed out').waitFor()
    assert.deepEqual(complaints, [])
  })
})

describe('with a keyboard alone, by the one form', { skip }, () => {
  it('somebody makes a dashboard with a new chart, looks at it first, and opens what is behind a bar', async (t) => {
    const daemon = await startDaemon(t)
    await daemon.cli(['users', 'passwd', people.sales, '--password-stdin'], password)
    const { page, complaints } = await newPage(t)
    await page.goto(`${daemon.url}/sign-in`)
    await signIn(page, people.sales)
    await page.getByRole('link', { name: 'Dashboards' }).waitFor()
    await follow(page, 'Dashboards')
    await follow(page, 'New chart')
    await tabTo(page, 'Documents to count')
    await page.keyboard.type('Task')
    await tabTo(page, 'Go on')
    await page.keyboard.press('Enter')
    await page.waitForURL(/of=Task/)
    await tabTo(page, /^Name/, 'INPUT')
    await page.keyboard.type('Tasks by priority')
    await tabTo(page, 'Groups')
    await page.keyboard.type('Priority')
    await tabTo(page, 'Preview', 'BUTTON')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Preview' }).waitFor()
    await page.locator('.bars a').first().waitFor()
    assert.deepEqual(await faultsIn(page), [])
    assert.equal(await page.locator('#chart_name').inputValue(), 'Tasks by priority')
    assert.equal(await page.locator('#based_on').inputValue(), 'priority')
    await tabTo(page, 'Name of the new dashboard')
    await page.keyboard.type('My tasks')
    await tabTo(page, 'Keep the chart')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/desk\/DASH-/)
    await page.getByRole('heading', { name: 'My tasks' }).waitFor()
    assert.deepEqual(await faultsIn(page), [])
    const bar = page.locator('.bars a').first()
    const count = (await bar.locator('.number').textContent())!
    await tabTo(page, (await bar.innerText()).trim(), 'A')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/documents\/Task\?filters=/)
    await page
      .getByRole('status')
      .getByText(new RegExp(`^${count} document`))
      .waitFor()
    assert.deepEqual(complaints, [])
  })

  it('somebody who mistypes a new password reads so at its field, in German, and loses nothing else', async (t) => {
    const daemon = await startDaemon(t)
    await daemon.cli(['users', 'passwd', people.sales, '--password-stdin'], password)
    const { page, complaints } = await newPage(t, 'de')
    await page.goto(`${daemon.url}/sign-in?next=/account`)
    await page.locator('#username:focus').waitFor()
    await page.keyboard.type(people.sales)
    await page.keyboard.press('Tab')
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Konto' }).waitFor()
    await page.locator('#current').focus()
    for (const word of [password, 'ein anderer langer Satz', 'ein anderer langer Sats']) {
      await page.keyboard.type(word)
      await page.keyboard.press('Tab')
    }
    await page.locator('#again').press('Enter')
    await page.locator('#again-about').getByText('Die beiden Passwörter sind verschieden').waitFor()
    assert.equal(await page.locator('#again').getAttribute('aria-invalid'), 'true')
    // The alert has the focus, and the field says by itself what is wrong with it; no password stands in the page.
    assert.equal(await page.evaluate(`document.activeElement.getAttribute('role')`), 'alert')
    assert.doesNotMatch(await page.content(), /langer Sat/)
    assert.deepEqual(await faultsIn(page), [])
    await page.locator('#label').fill('Nachtlauf')
    await page.locator('#timezone').selectOption('Europe/Vienna')
    await tabTo(page, 'Speichern', 'BUTTON')
    await page.keyboard.press('Enter')
    await page.waitForURL(/done=preferences/)
    assert.equal(await page.locator('#timezone').inputValue(), 'Europe/Vienna')
    assert.deepEqual(complaints, [])
  })
})

describe('another site', { skip }, () => {
  it('shows no page of ours in a frame, and sends no form of ours, while somebody is signed in', async (t) => {
    const daemon = await startDaemon(t)
    await daemon.cli(['users', 'passwd', people.sales, '--password-stdin'], password)
    const { page } = await newPage(t)
    await page.goto(`${daemon.url}/sign-in`)
    await signIn(page, people.sales)
    await page.getByRole('link', { name: 'Sign out' }).waitFor()
    // Of the same host, so that cookies come along: only our own checks are in the way.
    const evil = await serving(
      t,
      () => `<title>evil</title><iframe src="${daemon.url}/account"></iframe>
<form method="post" action="${daemon.url}/account/browsers"><button>win</button></form>`,
    )
    await page.goto(evil.replace('127.0.0.1', 'localhost'))
    const refused = page.frames().find((frame) => frame.parentFrame() !== null)!
    await page.waitForLoadState()
    assert.equal(await refused.getByRole('heading', { name: 'Account' }).count(), 0)
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST'),
      page.getByRole('button', { name: 'win' }).press('Enter'),
    ])
    assert.equal(answer.status(), 403)
    const told = await daemon.cli(['audit', 'search', '--type', 'session.', '--json'])
    assert.equal(told.stdout.trim(), '')
  })
})

/** Where an app asks to be allowed. */
async function askedBy({ url }: RunningDaemon, name: string, redirectUri: string): Promise<string> {
  const discovery = (await (await fetch(`${url}/.well-known/openid-configuration`)).json()) as Record<
    string,
    string
  >
  const registered = await fetch(discovery['registration_endpoint']!, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: name,
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    }),
  })
  const asked = new URL(discovery['authorization_endpoint']!)
  asked.search = new URLSearchParams({
    response_type: 'code',
    client_id: ((await registered.json()) as { client_id: string }).client_id,
    redirect_uri: redirectUri,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }).toString()
  return asked.href
}

async function serving(t: TestContext, pageAt: (path: string) => string): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(request.url === '/favicon.ico' ? '' : pageAt(request.url ?? ''))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What axe-core finds wrong with a page as it stands. */
async function faultsIn(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(
    `${axe.source}; axe.run().then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')))`,
  )
}

async function newPage(t: TestContext, locale = 'en'): Promise<{ page: Page; complaints: string[] }> {
  const browser: Browser = await startChromium(t)
  const page = await browser.newPage({ locale })
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, complaints }
}

async function signIn(page: Page, user: string): Promise<void> {
  await tabTo(page, 'E-mail address')
  await page.keyboard.type(user)
  await page.keyboard.press('Tab')
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
}

async function follow(page: Page, name: string): Promise<void> {
  const before = page.url()
  await tabTo(page, name, 'A')
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.href !== before)
}

/** Presses Tab until what has the focus is called so. */
async function tabTo(page: Page, name: string | RegExp, tag = ''): Promise<void> {
  const passed: string[] = []
  for (let presses = 0; presses < 300; presses++) {
    const [found, called] = await page.evaluate<[string, string]>(
      `(({ tagName, labels, innerText, ariaLabel }) =>
        [tagName, ariaLabel ?? labels?.[0]?.innerText ?? innerText ?? ''])(document.activeElement)`,
    )
    const isIt = typeof name === 'string' ? called.trim() === name : name.test(called)
    if (isIt && found !== 'BODY' && (tag === '' || tag === found)) return
    passed.push(called.trim().slice(0, 40))
    await page.keyboard.press('Tab')
  }
  assert.fail(`Tab does not come to ${name} on ${page.url()}: ${[...new Set(passed)].join(' | ')}`)
}
