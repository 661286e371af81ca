/** Pictures of every page for the documentation, made when they are asked for; and that no page is wider than its window, whatever names are in it. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { copyOfShippedSite, projectRoot, startDaemon } from '../helpers/daemon.ts'
import { furnish, pagesOf, people } from '../helpers/every-page.ts'

const password = 'correct horse battery staple'
const folder = join(projectRoot, 'docs/pictures/pages')
const looks = [
  { name: 'en-light-1440', locale: 'en', colorScheme: 'light', width: 1440, height: 900 },
  { name: 'de-dark-390', locale: 'de', colorScheme: 'dark', width: 390, height: 844 },
  { name: 'en-light-768', locale: 'en', colorScheme: 'light', width: 768, height: 1024 },
] as const
/** What is further down is not shown. */
const mostHeight = 1800
const long = `${'Donaudampfschifffahrtsgesellschaftskapitän '.repeat(4)}${'x'.repeat(28)}`

describe('every page', { skip }, () => {
  it('fits its window with names of 200 characters, in English and German, on a desk, a tablet and a phone', async (t) => {
    const site = copyOfShippedSite(t)
    furnish(site)
    const daemon = await startDaemon(t, { site })
    await daemon.cli(['users', 'passwd', people.admin, '--password-stdin'], password)
    assert.equal(long.length, 200)
    const everyPage = await pagesOf(daemon)
    const browser = await startChromium(t)
    const wide: string[] = []
    for (const { name, locale, colorScheme, width, height } of looks) {
      const context = await browser.newContext({ locale, colorScheme, viewport: { width, height } })
      const page = await context.newPage()
      await page.goto(`${daemon.url}/sign-in`)
      const keep = async (what: string): Promise<void> => {
        const box = await page.evaluate<{ wide: boolean; height: number }>(
          `(({ scrollWidth, clientWidth, scrollHeight }) => ({ wide: scrollWidth > clientWidth, height: scrollHeight }))(document.scrollingElement)`,
        )
        if (box.wide) wide.push(`${what} ${name}`)
        await kept(page, `${what}-${name}`, { width, height: Math.min(mostHeight, box.height) })
      }
      await keep('sign-in')
      await page.locator('[name=username]').fill(people.admin)
      await page.locator('[name=password]').fill(password)
      await page.locator('main button').first().click()
      await page.waitForURL(`${daemon.url}/`)
      await keep('home')
      for (const [what, path] of Object.entries(everyPage)) {
        await page.goto(daemon.url + path)
        await keep(what)
      }
      await page.goto(`${daemon.url}/new-document/Task`)
      await page.locator('[name="f.subject"]').fill(long)
      await page.locator('main form.typed > .choices button').click()
      // The site of these pictures has people confirm what is made.
      await page.locator('button[name=confirmed]').click()
      await page.waitForURL(/\?saved/)
      await keep('long-name')
      for (const [what, path] of [
        ['long-name-list', '/documents/Task'],
        ['long-name-home', '/'],
        ['long-name-search', '/search?words=Donaudampfschifffahrtsgesellschaftskapit%C3%A4n'],
      ] as const) {
        await page.goto(daemon.url + path)
        await keep(what)
      }
      await context.close()
    }
    assert.deepEqual(wide, [])
    if (isAsked) tell()
  })
})

const isAsked = process.env['PICTURES'] !== undefined

/** Keeps a picture; those of a tablet, and of long names, are only looked at. */
async function kept(
  page: Page,
  name: string,
  { width, height }: { width: number; height: number },
): Promise<void> {
  if (!isAsked) return
  const isShown = !/^long|-768$/.test(name)
  const place = isShown ? folder : join(projectRoot, process.env['PICTURES']!)
  mkdirSync(place, { recursive: true })
  await page.evaluate(`Promise.all([...document.images].map(async (image) => {
    image.loading = 'eager'
    await image.decode().catch(() => undefined)
  }))`)
  const session = await page.context().newCDPSession(page)
  const clip = { x: 0, y: 0, width, height, scale: 1 }
  const asked = { format: 'webp', quality: 50, clip, captureBeyondViewport: true } as const
  const { data } = await session.send('Page.captureScreenshot', asked)
  writeFileSync(join(place, `${name}.webp`), Buffer.from(data, 'base64'))
  await session.detach()
}

/** Writes the page that shows the pictures. */
function tell(): void {
  const made = readdirSync(folder).filter((file) => file.endsWith('.webp'))
  const names = [
    ...new Set(made.map((file) => file.replace(/-(en-light-1440|de-dark-390)\.webp$/, ''))),
  ].sort()
  const rows = names.map((name) => {
    const cell = (look: string, width: number): string =>
      `<img src="${name}-${look}.webp" width="${width}" alt="${name}, ${look.replaceAll('-', ' ')}">`
    return `| ${name} | ${cell('en-light-1440', 560)} | ${cell('de-dark-390', 190)} |`
  })
  const head =
    '# Every page\n\nAs an administrator of the shipped site sees it; `npm run pictures` makes these.\n'
  writeFileSync(
    join(folder, 'README.md'),
    `${head}\n| page | English, by day, on a desk | German, by night, on a phone |\n|---|---|---|\n${rows.join('\n')}\n`,
  )
}
