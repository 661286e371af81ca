/** The editor of prompts: what it shows of a text while it is written, what it keeps, and what it needs of a browser. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { noChromium as skip, startChromium, writeWhole } from '../helpers/chromium.ts'
import { copyOfShippedSite, projectRoot, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { furnish, people } from '../helpers/every-page.ts'

const password = 'correct horse battery staple'
const path = '/prompts/letter/edit'

describe('the editor of prompts', { skip }, () => {
  it('is one file of 400 kB at most, at an address of its own for good, with the licences of what is in it', async (t) => {
    const { daemon, page, complaints } = await editing(t)
    const script = await page.locator('script[src^="/assets/prompt-editor/"]').getAttribute('src')
    const answer = await fetch(daemon.url + script!)
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    const text = await answer.text()
    assert.ok(Buffer.byteLength(text) <= 400_000, String(Buffer.byteLength(text)))
    const { devDependencies } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>
    }
    for (const [name, version] of Object.entries(devDependencies))
      if (/^@(codemirror|lezer)\//.test(name)) assert.ok(text.includes(`${name}@${version} Copyright`), name)
    assert.equal((await fetch(`${daemon.url}/assets/prompt-editor/other.mjs`)).status, 404)
    assert.ok(statSync(join(projectRoot, 'dist/pages/views/prompt-editor.mjs')).size <= 400_000)
    // It is on this page alone, under the policy of every page.
    assert.match(await page.locator('.cm-content').innerText(), /Dear/)
    await page.goto(`${daemon.url}/prompts/letter`)
    assert.equal(await page.locator('script[src^="/assets/prompt-editor/"]').count(), 0)
    assert.deepEqual(complaints, [])
  })

  it('shows lines and colours, lets Tab go on, and leads from a fault to its line', async (t) => {
    const { page, complaints } = await editing(t)
    const text = page.getByRole('textbox', { name: 'The whole file' })
    await text.focus()
    await page.getByText('Tab leaves the field').waitFor()
    await page.keyboard.press('Tab')
    await page.locator('[name="f.who"]:focus').waitFor()
    await page.keyboard.press('Shift+Tab')
    // The editor tells where the focus is a moment after it came.
    await page.locator('.cm-editor.cm-focused').waitFor()
    assert.equal(await page.locator('.cm-lineNumbers').getByText('16', { exact: true }).count(), 1)
    const inside = `document.querySelector('textarea[name="text"] + div').shadowRoot`
    const colours = await page.evaluate<string[]>(
      `[...${inside}.querySelectorAll('.cm-line span[class]')].map((one) => getComputedStyle(one).color)`,
    )
    assert.ok(new Set(colours).size >= 3, String(colours))
    await write(page, (old) => old.replace('Dear {{ who }}', 'Dear {{ who'))
    const link = page.getByRole('link', { name: /^Line 16, column/ })
    await link.waitFor()
    await page.locator('.cm-lint-marker-error').waitFor()
    await link.press('Enter')
    await page.locator('.cm-editor.cm-focused').waitFor()
    await page.locator('.cm-activeLineGutter').getByText('16', { exact: true }).waitFor()
    await write(page, (old) => old.replace('{{ who', '{{ who }}'))
    await link.waitFor({ state: 'detached' })
    assert.deepEqual(complaints, [])
  })

  it('has a preview that follows text and values, and new arguments among them, as the button has', async (t) => {
    const { page, complaints } = await editing(t)
    const shown = page.getByRole('region', { name: 'Preview' })
    await page.getByRole('textbox', { name: /^Who/ }).fill('Ada')
    await shown.getByText('Dear Ada').waitFor()
    await page.getByRole('checkbox', { name: 'South' }).check()
    await shown.getByText('South').waitFor()
    await write(page, (old) =>
      old.replace('Dear', 'Hello').replace('arguments:', 'arguments:\n  - { argument_name: city }'),
    )
    await shown.getByText('Hello Ada').waitFor()
    await page.getByRole('textbox', { name: 'city' }).waitFor()
    assert.equal(await page.getByRole('textbox', { name: /^Who/ }).inputValue(), 'Ada')
    await page.getByRole('button', { name: 'Preview' }).press('Enter')
    await page.getByRole('heading', { name: 'Preview' }).waitFor()
    await shown.getByText('Hello Ada').waitFor()
    assert.deepEqual(complaints, [])
  })

  it('keeps what was typed when the page is left, offers it to the same person, and forgets it when it is saved or they sign out', async (t) => {
    const { daemon, page, context, complaints } = await editing(t)
    const saved = await valueOf(page)
    const again = async (): Promise<void> => void (await page.goto(daemon.url + path))
    await write(page, (old) => old.replace('Dear', 'Half written'))
    await page.goto(`${daemon.url}/prompts`)
    await again()
    assert.equal(await valueOf(page), saved)
    await page.getByText('was not saved').waitFor()
    await page.getByRole('button', { name: 'Take it up' }).press('Enter')
    assert.match(await valueOf(page), /Half written/)
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('status').getByText('It is saved.').waitFor()
    await again()
    await page.locator('.cm-content').waitFor()
    assert.equal(await page.getByText('was not saved').isVisible(), false)

    await write(page, (old) => old.replace('Half', 'Quarter'))
    await again()
    await page.getByRole('button', { name: 'Discard it' }).press('Enter')
    await again()
    await page.locator('.cm-content').waitFor()
    assert.equal(await page.getByText('was not saved').isVisible(), false)

    await write(page, (old) => old.replace('Half', 'Secret'))
    await page.goto(`${daemon.url}/sign-out`)
    await page.getByRole('button', { name: 'Sign out' }).press('Enter')
    await page.getByText('You are signed out').waitFor()
    assert.equal(await page.evaluate('localStorage.length'), 0)

    // Nor does somebody else see it where nobody signed out.
    await signIn(page, daemon, people.admin)
    await again()
    await write(page, (old) => old.replace('Half', 'Private'))
    await context.clearCookies()
    await signIn(page, daemon, people.sales)
    await page.goto(`${daemon.url}/new-prompt`)
    await page.locator('.cm-content').waitFor()
    assert.equal(await page.getByText('was not saved').isVisible(), false)
    assert.equal(await page.evaluate('localStorage.length'), 0)
    assert.deepEqual(complaints, [])
  })

  it('is a text area with numbered lines to go to where no script runs', async (t) => {
    const { page } = await editing(t, { javaScriptEnabled: false })
    const text = page.getByRole('textbox', { name: 'The whole file' })
    await text.fill((await valueOf(page)).replace('Dear {{ who }}', 'Dear {{ who'))
    await page.getByRole('button', { name: 'Check' }).click()
    const link = page.getByRole('link', { name: /^Line 16, column/ })
    const target = page.locator((await link.first().getAttribute('href'))!)
    assert.match(await target.innerText(), /Dear \{\{ who/)
    assert.equal(await page.getByRole('button', { name: 'Take it up' }).count(), 0)
    assert.match(await text.inputValue(), /Dear \{\{ who\{%/)
  })
})

async function editing(
  t: TestContext,
  options: { readonly javaScriptEnabled?: boolean } = {},
): Promise<{ daemon: RunningDaemon; page: Page; context: BrowserContext; complaints: string[] }> {
  const site = copyOfShippedSite(t)
  furnish(site)
  const daemon = await startDaemon(t, { site })
  for (const user of [people.admin, people.sales])
    await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
  const context = await (await startChromium(t)).newContext(options)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await signIn(page, daemon, people.admin)
  await page.goto(daemon.url + path)
  return { daemon, page, context, complaints }
}

async function signIn(page: Page, daemon: RunningDaemon, user: string): Promise<void> {
  await page.goto(`${daemon.url}/sign-in`)
  await page.getByLabel('E-mail address').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation').waitFor()
}

function valueOf(page: Page): Promise<string> {
  return page.locator('textarea[name="text"]').inputValue()
}

async function write(page: Page, change: (old: string) => string): Promise<void> {
  const text = change(await valueOf(page))
  await writeWhole(page, text)
  assert.equal(await valueOf(page), text)
}
