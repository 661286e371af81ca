/** The administration in a real browser and by keyboard: who may do what, tools, ending access, and editing the site. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { axeFaults, endOn, noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'

const password = 'correct horse battery staple'
const [manager, sales] = ['admin@example.com', 'sales@example.com']

describe('an administrator', { skip }, () => {
  it('sees how the service is, asks the doctor, finds out why somebody may do something, and where it is written', async (t) => {
    const { daemon, page, complaints } = await signedIn(t)
    await follow(page, 'Administration')
    await page.getByText('The site has no faults.').waitFor()
    await press(page, 'Ask the doctor')
    await page.getByRole('heading', { name: 'What the doctor says' }).waitFor()
    const doctor = JSON.parse((await daemon.cli(['doctor', '--json'])).stdout) as {
      findings: { check: string; status: string }[]
    }
    const told = await page
      .getByRole('region', { name: 'What the doctor says' })
      .getByRole('rowheader')
      .allTextContents()
    assert.deepEqual(new Set(told), new Set(doctor.findings.map(({ check }) => check)))
    // On a phone nothing of it is pushed sideways, and on paper nothing at all can be.
    await page.setViewportSize({ width: 360, height: 740 })
    for (const name of ['What the doctor says', 'Service'])
      assert.equal(await sideways(page, name), 0, `${name} on a phone`)
    await page.setViewportSize({ width: 794, height: 1100 })
    await page.goto(`${daemon.url}/admin/tools`)
    assert.ok((await sideways(page, 'Tools')) > 0)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await sideways(page, 'Tools'), 0, 'on paper')
    await page.emulateMedia({ media: null })
    await page.setViewportSize({ width: 1280, height: 900 })

    await follow(page, 'People')
    await page.getByRole('searchbox').fill('sales')
    await page.keyboard.press('Enter')
    await follow(page, sales)
    await page.getByLabel('Tool or doctype').selectOption('Customer')
    await page.keyboard.press('Tab')
    await page.getByRole('button', { name: 'Explain' }).press('Enter')
    await page.getByText('sales@example.com may use Customer.').waitFor()
    const place = page.getByRole('link', { name: /^config\/doctypes\/customer\.yaml:\d+$/ }).first()
    const [, line] = (await place.textContent())!.split(':')
    await place.press('Enter')
    await page.getByRole('heading', { name: 'config/doctypes/customer.yaml' }).waitFor()
    assert.equal(new URL(page.url()).hash, `#L${line}`)
    await follow(page, 'Tools')
    await page.getByRole('rowheader', { name: /run_python_code/ }).waitFor()
    assert.deepEqual(complaints, [])
  })

  it('ends a token and an app by keyboard; what is refused from then on is what was ended', async (t) => {
    const { daemon, page, complaints } = await signedIn(t)
    const hostile = '"><script>alert(1)</script>\u202e'
    const registered = await daemon.cli([
      'clients',
      'register',
      '--name',
      hostile,
      '--redirect-uri',
      'https://app.example/callback',
      '--json',
    ])
    assert.equal(registered.code, 0, registered.stderr)
    const { client_id } = JSON.parse(registered.stdout) as { client_id: string }
    const tokenFor = async (...more: string[]): Promise<string> => {
      const issued = await daemon.cli(['tokens', 'issue', '--user', sales, '--json', ...more])
      return (JSON.parse(issued.stdout) as { access_token: string }).access_token
    }
    const [own, apps] = [await tokenFor(), await tokenFor('--client', client_id)]
    await page.goto(`${daemon.url}/admin/people?user=${sales}`)
    assert.equal(await page.getByLabel(/^Revoke the token/).count(), 2)
    const row = page.getByRole('row').filter({ hasText: 'assistant-core command line' })
    await row.locator('summary').press('Enter')
    await row.getByRole('button').press('Enter')
    await page.getByRole('status').getByText('The token has ended').waitFor()
    assert.equal(await ping(daemon, own), 401)
    assert.equal(await ping(daemon, apps), 200)
    await page.getByRole('link', { name: 'script' }).press('Enter')
    await endOn(page, 'Remove the client')
    await page.getByRole('status').getByText('The client was removed').waitFor()
    assert.equal(await ping(daemon, apps), 401)
    assert.deepEqual(complaints, [])
    const log = await daemon.cli(['audit', 'search', '--user', manager, '--type', 'cli.run', '--json'])
    assert.deepEqual(
      log.stdout
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text) as { target: string; address?: string })
        .map(({ target, address }) => `${target} ${address === undefined ? 'nowhere' : 'from there'}`),
      ['tokens.revoke from there', 'clients.remove from there'],
    )
  })

  it('mends a fault of the site where it is told, as a commit in their name, in their language', async (t) => {
    const { daemon, page, complaints } = await signedIn(t, true)
    const users = join(daemon.site, 'config/users.yaml')
    const good = readFileSync(users, 'utf8')
    writeFileSync(users, good.replace('- Sales User', '- Sale User'))
    await page.goto(`${daemon.url}/admin`)
    await page.getByRole('button', { name: 'Read the site again' }).press('Enter')
    await page.getByRole('alert').waitFor()
    await page
      .getByRole('link', { name: /^config\/users\.yaml:\d+:\d+$/ })
      .first()
      .press('Enter')
    await page.getByText('did you mean "Sales User"').first().waitFor()
    await follow(page, 'Edit')
    await page.getByLabel('Text of the file').fill(good.replace('Sales User', 'Sails User'))
    await press(page, 'Save')
    await page.getByRole('alert').getByText('because it has faults').waitFor()
    await page.getByText('did you mean "Sales User"').first().waitFor()
    const text = page.getByLabel('Text of the file')
    assert.ok((await text.inputValue()).includes('Sails User'), 'what was typed is still there')
    await text.fill(`${good}# mended\n`)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('saved and committed').waitFor()
    assert.equal(readFileSync(users, 'utf8'), `${good}# mended\n`)
    const author = execFileSync('git', ['-C', daemon.site, 'log', '-1', '--format=%ae'], { encoding: 'utf8' })
    assert.equal(author.trim(), manager)
    await page.goto(`${daemon.url}/admin`)
    await page.getByText('The site has no faults.').waitFor()
    await page.goto(`${daemon.url}/account`)
    await page.getByLabel('Language').selectOption('de')
    await press(page, 'Save')
    await page.goto(`${daemon.url}/admin`)
    await page.getByRole('heading', { name: 'Zustand' }).waitFor()
    assert.deepEqual(complaints, [])
  })

  it('changes a setting in German, first with a mistake that is told at its field, as a commit in their name', async (t) => {
    const { daemon, page, complaints } = await signedIn(t, true)
    const settings = join(daemon.site, 'config/settings.yaml')
    const first = readFileSync(settings, 'utf8')
    await page.goto(`${daemon.url}/account`)
    await page.getByLabel('Language').selectOption('de')
    await press(page, 'Save')
    await follow(page, 'Verwaltung')
    await follow(page, 'Einstellungen')
    await page.getByRole('heading', { name: 'Ihr Betrieb' }).waitFor()
    const color = page.getByLabel('Farbe')
    await color.fill('gold')
    await page.getByLabel('Kontakt für Hilfe').fill('hilfe@example.com')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('weil sie Fehler hat').waitFor()
    await page.getByText('muss eine Farbe wie #1f5fbf sein, nicht "gold".').waitFor()
    assert.deepEqual(
      [await color.inputValue(), await color.getAttribute('aria-invalid')],
      ['gold', 'true'],
      'what was typed is still there',
    )
    assert.equal(await page.getByLabel('Kontakt für Hilfe').inputValue(), 'hilfe@example.com')
    assert.equal(readFileSync(settings, 'utf8'), first)
    const found = await axeFaults(page, 'a mistake')
    await color.fill('#7a1f5c')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('gespeichert').waitFor()
    found.push(...(await axeFaults(page, 'a setting that was saved')))
    const now = first
      .replace('accent_color: null', 'accent_color: "#7a1f5c"')
      .replace('support: null', 'support: hilfe@example.com')
    assert.equal(readFileSync(settings, 'utf8'), now)
    const painted = await page.evaluate(
      `getComputedStyle(document.querySelector('form.typed > button:last-of-type')).backgroundColor`,
    )
    assert.equal(painted, 'rgb(122, 31, 92)', 'it is in use at once')
    const told = execFileSync('git', ['-C', daemon.site, 'log', '-1', '--format=%ae %s'], {
      encoding: 'utf8',
    })
    assert.equal(told.trim(), `${manager} config/settings.yaml: edited in the browser`)
    assert.deepEqual(found, [])
    assert.deepEqual(complaints, [])
  })
})

/** By how many pixels a table is wider than its place. */
function sideways(page: Page, name: string): Promise<number> {
  return page
    .getByRole('region', { name, exact: true })
    .evaluate((place: { scrollWidth: number; clientWidth: number }) => place.scrollWidth - place.clientWidth)
}

/** Somebody who may do everything, at the start page. */
async function signedIn(
  t: TestContext,
  commits = false,
): Promise<{ daemon: RunningDaemon; page: Page; complaints: string[] }> {
  const site = copyOfShippedSite(t)
  if (commits) {
    const settings = join(site, 'config/settings.yaml')
    writeFileSync(
      settings,
      readFileSync(settings, 'utf8').replace('edit_in_browser: false', 'edit_in_browser: true'),
    )
    const git = (...words: string[]): unknown => execFileSync('git', ['-C', site, ...words])
    git('init', '-q')
    git('add', '.')
    git('-c', 'user.name=Seed', '-c', 'user.email=seed@example.com', 'commit', '-qm', 'the site')
  }
  const daemon = await startDaemon(t, { site })
  await daemon.cli(['users', 'passwd', manager, '--password-stdin'], password)
  const page = await (await (await startChromium(t)).newContext()).newPage()
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('dialog', (dialog) => void complaints.push(`dialog: ${dialog.message()}`))
  await page.goto(`${daemon.url}/sign-in`)
  await page.getByLabel('E-mail address').fill(manager)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Sign out' }).waitFor()
  return { daemon, page, complaints }
}

async function follow(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).first().press('Enter')
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).press('Enter')
}

async function ping({ url }: RunningDaemon, token: string): Promise<number> {
  const response = await fetch(`${url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })
  return response.status
}
