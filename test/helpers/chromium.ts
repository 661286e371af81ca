/** The real browser of the tests. */
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)

/** Why a test that needs the browser cannot run here. */
export const noChromium =
  executablePath === undefined && 'needs Chromium, such as the Debian package chromium'

/** Starts the browser, which asks nobody else anything. */
export function launchChromium(): Promise<Browser> {
  if (noChromium !== false) throw new Error(noChromium)
  return chromium.launch({
    executablePath: executablePath!,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Starts it until the test ends. */
export async function startChromium(t: TestContext): Promise<Browser> {
  const browser = await launchChromium()
  t.after(() => browser.close())
  return browser
}

/** Ends something on a page by the keyboard: opens what says what ends, and says that it is wanted. */
export async function endOn(page: Page, name: string | RegExp): Promise<void> {
  const place = page.locator('.ending > summary')
  await place
    .and(page.getByLabel(name))
    .or(place.filter({ hasText: name }))
    .first()
    .press('Enter')
  await page
    .locator('.ending[open]')
    .getByRole('button', { name: /^Yes, end it/ })
    .press('Enter')
}

/** What axe-core finds wrong with a page as it stands, a line each. */
export async function axeFaults(page: Page, where: string): Promise<string[]> {
  const violations = await page.evaluate<{ id: string; nodes: { html: string; failureSummary: string }[] }[]>(
    `${axe.source}; axe.run().then(({ violations }) => violations)`,
  )
  return violations.map(
    ({ id, nodes }) =>
      `${where}: ${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`,
  )
}

/**
 * Writes another text in place of the one in the editor, as somebody does who types: what fills it in at once has the browser
 * put styles of its own into it now and then, which the page forbids.
 */
export async function writeWhole(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}
