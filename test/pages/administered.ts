/** A service with somebody of each role of the administration, and what they do with its pages. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { stream } from '../../src/cli/control.ts'
import { systemClock } from '#leaf/clock.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { Browser, type Page } from '../helpers/browser.ts'

export const password = 'correct horse battery staple'
export const [manager, assistantAdmin, sales] = [
  'admin@example.com',
  'helper@example.com',
  'sales@example.com',
]

interface Administered {
  /** Whether System Managers may edit the configuration. */
  readonly edits?: boolean
  /** Whether prompts are committed. */
  readonly commits?: boolean
  /** Whether charts are drawn. */
  readonly analysis?: boolean
  /** Files that the site has besides. */
  readonly files?: Readonly<Record<string, string>>
}

/** A service whose clock can be moved, with somebody of each role. */
export async function administered(
  t: TestContext,
  { edits = false, commits = false, analysis = false, files = {} }: Administered = {},
): Promise<RunningService & { pass(seconds: number): void }> {
  let ahead = 0
  const own = folders(t, [
    ...(edits ? ([['edit_in_browser: false', 'edit_in_browser: true']] as const) : []),
    ...(commits ? ([['  commit: false', '  commit: true']] as const) : []),
  ])
  const where = { ...own, analysis }
  const users = join(where.site, 'config/users.yaml')
  writeFileSync(
    users,
    `${readFileSync(users, 'utf8').trimEnd()}\n  - { email: ${assistantAdmin}, full_name: Hal Helper, roles: [Assistant Admin], assistant_enabled: 0 }\n`,
  )
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(where.site, file)), { recursive: true })
    writeFileSync(join(where.site, file), text)
  }
  if (edits || commits) {
    git(where.site, 'init', '-q')
    git(where.site, 'add', '.')
    git(where.site, '-c', 'user.name=Seed', '-c', 'user.email=seed@example.com', 'commit', '-qm', 'x')
  }
  const clock = { now: () => systemClock.now() + ahead }
  const service = await runService(t, where, undefined, clock)
  for (const user of [manager, assistantAdmin, sales])
    await service.daemon.services.passwords.set(user, password)
  return { ...service, pass: (seconds) => void (ahead += seconds * 1000) }
}

export function git(site: string, ...words: string[]): string {
  return execFileSync('git', ['-C', site, ...words], { encoding: 'utf8' })
}

export async function signIn({ url }: RunningService, username: string): Promise<Browser> {
  const browser = new Browser()
  await browser.submit(page(await browser.open(`${url}/sign-in`)), { username, password })
  return browser
}

export function page(found: Page | { readonly away: string }): Page {
  assert.ok('html' in found, JSON.stringify(found))
  return found
}

/** Sends a form of the page at an address, with the token that the page has. */
export async function send(
  { url }: RunningService,
  browser: Browser,
  path: string,
  action: string,
  fields: Record<string, string>,
): Promise<Page> {
  const csrf = /name="csrf" value="([^"]+)"/.exec(page(await browser.open(url + path)).html)?.[1] ?? ''
  const body = new URLSearchParams({ csrf, ...fields })
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: url }
  return page(await browser.open(url + action, { method: 'POST', headers, body }))
}

export async function audited({ options }: RunningService, type: string): Promise<string[]> {
  const found: string[] = []
  for await (const line of stream(options, 'audit.search', { type }))
    found.push([line.user, line.target, line.status].join(' '))
  return found
}
