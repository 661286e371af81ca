/** Pictures of the pages, for whoever wants to look: `npm run pictures` makes all of them, and those that the README shows. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Page } from 'playwright-core'
import { projectRoot } from './daemon.ts'

/** A folder for pictures of every page, and which pages are visited at all, when not all of them. */
const { PICTURES: folder, PAGES: only } = process.env

/** Those of the README. */
const shown = new Set([
  'approval-update-light-1280',
  'prompt-preview-light-1280',
  'record-dark-1280',
  'dashboard-light-1280',
  'admin-person-light-1280',
  'consent-sales-dark-390',
])

/** Whether somebody who asked for a few pages wants this one. */
export function isWanted(name: string): boolean {
  return only === undefined || new RegExp(only).test(name)
}

/** Keeps how the page looks under this name, where pictures are asked for. */
export async function picture(page: Page, name: string): Promise<void> {
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  // Those further down are loaded when somebody scrolls there; in another look it is another picture, which may come meanwhile.
  await page.evaluate(`Promise.all([...document.images].map(async (image) => {
    image.loading = 'eager'
    while (!image.complete || image.naturalWidth === 0) await new Promise((done) => setTimeout(done, 50))
  }))`)
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
  if (!shown.has(name)) return
  const place = join(projectRoot, 'docs/pictures')
  mkdirSync(place, { recursive: true })
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 75 })
  writeFileSync(join(place, `${name}.webp`), Buffer.from(data, 'base64'))
}
