/** The pages as people see them: axe-core in a real browser, by day and by night, on a desk and on a phone. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { authorizeInBrowser } from '../helpers/browser.ts'
import { axeFaults, endOn, noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { consentAddress, furnish, pagesOf, people } from '../helpers/every-page.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { isWanted, picture } from '../helpers/pictures.ts'

const password = 'correct horse battery staple'
const looks = [
  { colorScheme: 'light', width: 1280, height: 900 },
  { colorScheme: 'dark', width: 1280, height: 900 },
  { colorScheme: 'light', width: 320, height: 640 },
  { colorScheme: 'dark', width: 390, height: 844 },
] as const
/** What a page may weigh. */
const mostBytes = 100_000
const unfold = 'document.querySelectorAll("details").forEach((details) => (details.open = true))'
describe('the pages', { skip }, () => {
  it('have nothing that axe-core finds, in light and dark, wide and narrow', async (t) => {
    const site = copyOfShippedSite(t)
    furnish(site)
    const daemon = await startDaemon(t, { site })
    for (const user of Object.values(people))
      await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
    const everyPage = await pagesOf(daemon)
    const asked = await consentAddress(daemon)

    const browser = await startChromium(t)
    const found: string[] = []
    const visit = async (page: Page, name: string): Promise<void> => {
      if (!isWanted(name)) return
      for (const look of looks) found.push(...(await faultsOf(page, name, look)))
    }
    for (const [person, email] of Object.entries(people)) {
      const page = await newPage(browser, found)
      const go = (path: string): Promise<unknown> => page.goto(`${daemon.url}${path}`)
      await page.goto(asked)
      if (person === 'sales') {
        await visit(page, 'sign-in')
        await signIn(page, email, 'mistyped')
        await visit(page, 'sign-in-refused')
      }
      await signIn(page, email, password)
      await page.getByRole('heading', { name: /to act as you/ }).waitFor()
      await visit(page, `consent-${person}`)
      await page.evaluate(unfold)
      await visit(page, `consent-${person}-unfolded`)
      await go('/')
      await visit(page, `home-${person}`)
      if (person === 'auditor') {
        await go('/audit')
        await visit(page, 'audit')
        await page.evaluate(unfold)
        await visit(page, 'audit-unfolded')
        await go('/audit?since=whenever')
        await visit(page, 'audit-refused')
      }
      if (person !== 'admin') continue
      const made = await daemon.cli(['api-keys', 'create', '--user', email, '--label', 'nightly figures'])
      assert.equal(made.code, 0, made.stderr)
      await authorizeInBrowser(asked, { username: email, password })
      const reset = await daemon.cli(['users', 'reset', people.sales, '--json'])
      for (const [name, path] of Object.entries({
        ...everyPage,
        'choose-password': new URL(JSON.parse(reset.stdout).url as string).href.slice(daemon.url.length),
      })) {
        await go(path)
        await visit(page, name)
      }
      await promptStates(page, daemon, visit)
      await go('/approvals/nothing-here')
      await visit(page, 'fault')
    }
    assert.deepEqual(found, [])
  })

  it('have nothing either while somebody sets up a second factor, and while somebody edits the site', async (t) => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/settings.yaml')
    const text = readFileSync(settings, 'utf8')
      .replace('second_factor_roles: []', 'second_factor_roles: [HR User]')
      .replace('edit_in_browser: false', 'edit_in_browser: true')
    assert.match(text, /\[HR User\][^]*edit_in_browser: true/)
    writeFileSync(settings, text)
    for (const words of [
      ['init', '-q'],
      ['add', '.'],
      [...author, 'commit', '-qm', 'the site'],
    ])
      execFileSync('git', ['-C', site, ...words])
    const daemon = await startDaemon(t, { site })
    const browser = await startChromium(t)
    const found: string[] = []
    const opened = async (email: string, path: string): Promise<Page> => {
      await daemon.cli(['users', 'passwd', email, '--password-stdin'], password)
      const page = await newPage(browser, found)
      await page.goto(daemon.url + path)
      await signIn(page, email, password)
      return page
    }
    const visit = async (page: Page, name: string): Promise<void> => {
      for (const look of looks) found.push(...(await faultsOf(page, name, look)))
    }
    const codeOf = (secret: string | null): string =>
      new TOTP({ secret: Secret.fromBase32(secret!) }).generate()

    const enrolling = await opened('hr@example.com', '/account')
    const secret = await enrolling.locator('code.address').textContent()
    await visit(enrolling, 'second-enrol')
    await enrolling.getByLabel('Code that the app shows').fill('000000')
    await enrolling.getByRole('button', { name: 'Go on' }).click()
    await enrolling.getByRole('alert').waitFor()
    await visit(enrolling, 'second-enrol-refused')
    await enrolling.getByLabel('Code that the app shows').fill(codeOf(secret))
    await enrolling.getByRole('button', { name: 'Go on' }).click()
    await enrolling.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
    await visit(enrolling, 'recovery-codes')
    await enrolling.goto(`${daemon.url}/account`)
    await visit(enrolling, 'account-second-factor')
    await endOn(enrolling, 'Make new recovery codes')
    await enrolling.getByText('Each signs you in once').waitFor()
    await visit(enrolling, 'account-codes')
    const again = await opened('hr@example.com', '/account')
    await again.getByRole('heading', { name: 'One more step' }).waitFor()
    await visit(again, 'second-step')

    const page = await opened(people.admin, '/account')
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    await page.getByRole('img', { name: 'The key as a picture' }).waitFor()
    await visit(page, 'account-authenticator')
    await page.goto(`${daemon.url}/account`)
    await page.getByRole('button', { name: 'Make a key' }).click()
    await visit(page, 'account-key')
    await page.goto(`${daemon.url}/admin/files?file=config/users.yaml&edit=1`)
    await visit(page, 'admin-edit')
    await page.getByLabel('Text of the file').fill('users: [')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    await visit(page, 'admin-edit-refused')
    await page.goto(`${daemon.url}/admin/settings`)
    await page.evaluate(unfold)
    await visit(page, 'settings-edit')
    await page.getByLabel('Colour').fill('gold')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    await visit(page, 'settings-refused')
    await page.goto(`${daemon.url}/admin`)
    await page.getByRole('button', { name: 'Ask the doctor' }).click()
    await page.getByRole('heading', { name: 'What the doctor says' }).waitFor()
    await visit(page, 'admin-doctor')
    await page.goto(`${daemon.url}/choose-password?link=used`)
    await visit(page, 'one-time-link-used')
    assert.deepEqual(found, [])
  })
})

const author = ['-c', 'user.name=Seed', '-c', 'user.email=seed@example.com']

/** The page of a prompt and its editor as they are after their forms. */
async function promptStates(
  page: Page,
  { url }: RunningDaemon,
  visit: (page: Page, name: string) => Promise<void>,
): Promise<void> {
  const press = async (name: string): Promise<void> => {
    await page.getByRole('button', { name }).click()
    await page.waitForLoadState()
  }
  await page.goto(`${url}/prompts/letter`)
  await press('Preview')
  await visit(page, 'prompt-refused')
  await page.getByLabel('Who').fill('Ada')
  await press('Preview')
  await visit(page, 'prompt-preview')
  await press('Run 2 tests')
  await visit(page, 'prompt-tests')
  await press('Publish')
  await visit(page, 'prompt-by-hand')
  await page.goto(`${url}/prompts/letter/edit`)
  await visit(page, 'prompt-edit')
  const text = await page.locator('textarea[name="text"]').inputValue()
  await page.getByRole('textbox', { name: 'The whole file' }).fill(`${text}{% if who %}{{ whom }}`)
  await press('Check')
  await visit(page, 'prompt-faults')
  await page.goto(`${url}/prompts/letter/edit`)
  await press('Check')
  await visit(page, 'prompt-checked')
}

/** A page of somebody else; what its policy had to stop is a finding. */
async function newPage(browser: Browser, found: string[]): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) found.push(`${page.url()}: ${message.text()}`)
  })
  return page
}

/** What axe-core finds wrong with a page as it looks, and whether it has to be pushed sideways to be read. */
async function faultsOf(
  page: Page,
  name: string,
  { colorScheme, width, height }: (typeof looks)[number],
): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize({ width, height })
  const where = `${name}-${colorScheme}-${width}`
  await picture(page, where)
  const told = await axeFaults(page, where)
  const wide = await page.evaluate<boolean>(
    'document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth',
  )
  const bytes = Buffer.byteLength(await page.content())
  if (bytes > mostBytes) told.push(`${where}: has ${bytes} bytes`)
  if (wide) told.push(`${where}: is wider than the window`)
  return width === looks[0].width ? [...told, ...(await unreached(page, where))] : told
}

// What a drawing leads to stands in the table beside it as well.
const focusable =
  'a[href]:not([tabindex="-1"]), button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]'

/** What Tab does not come to, or comes to and nobody sees it. */
async function unreached(page: Page, where: string): Promise<string[]> {
  const waiting = await page.evaluate<string[]>(
    `[...document.querySelectorAll(${JSON.stringify(focusable)})].filter((one) => one.checkVisibility())
      .map((one, index) => (one.dataset.stop = index, one.outerHTML.slice(0, 120)))`,
  )
  const unseen: string[] = []
  const left = new Set(waiting.keys())
  // A date has a stop for each of its parts.
  for (let presses = 0; left.size > 0 && presses < 4 * waiting.length + 4; presses++) {
    await page.keyboard.press('Tab')
    const [stop, seen] = await page.evaluate<[number, boolean]>(
      `(({ dataset }, style = getComputedStyle(document.activeElement)) =>
        [Number(dataset.stop ?? -1), style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2])(document.activeElement)`,
    )
    if (left.delete(stop) && !seen) unseen.push(`${where}: the focus cannot be seen on ${waiting[stop]}`)
  }
  await page.evaluate('document.activeElement.blur()')
  return [...unseen, ...[...left].map((stop) => `${where}: Tab does not reach ${waiting[stop]}`)]
}

async function signIn(page: Page, email: string, word: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(word)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
