/** The real browser of the tests. */
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)

/** Why a test that needs the browser cannot run here. */
export const noChromium =
  executablePath === undefined && 'needs Chromium, such as the Debian package chromium'

/** Starts the browser until the test ends; it asks nobody else anything. */
export async function startChromium(t: TestContext): Promise<Browser> {
  const browser = await chromium.launch({
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
