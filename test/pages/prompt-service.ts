/** A service whose site is in git and may be written to, and people who use its pages of prompts. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AuditLine } from '#audit/audit.ts'
import { stream } from '../../src/cli/control.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { Browser, type Page } from '../helpers/browser.ts'
import { gitIn, writeFiles } from '../../packages/site/test/site-folder.ts'

const password = 'correct horse battery staple'

export const [admin, sales, hr] = ['admin@example.com', 'sales@example.com', 'hr@example.com'] as const

export interface PromptService extends RunningService {
  /** Everything that was committed so far, newest first: who and what. */
  readonly commits: () => string[]
  readonly text: (file: string) => string
  readonly audited: (type: string) => Promise<AuditLine[]>
}

export async function promptService(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  settings: readonly [string, string][] = [],
): Promise<PromptService> {
  const where = folders(t, [['commit: false', 'commit: true'], ...settings])
  writeFiles(where.site, files)
  gitIn(where.site, 'init', '--quiet', '--initial-branch=main')
  gitIn(where.site, 'add', '--all')
  gitIn(where.site, 'commit', '--quiet', '--message', 'first')
  const service = await runService(t, where)
  for (const user of [admin, sales, hr]) await service.daemon.services.passwords.set(user, password)
  return {
    ...service,
    commits: () => gitIn(where.site, 'log', '--format=%ae %s').split('\n'),
    text: (file) => readFileSync(join(where.site, file), 'utf8'),
    audited: async (type) => {
      const lines: AuditLine[] = []
      for await (const line of stream(service.options, 'audit.search', { type })) lines.push(line)
      return lines
    },
  }
}

/** Somebody at the pages. */
export interface Visitor {
  open(path: string): Promise<Page>
  /** Sends one of the forms of the page at the path. */
  send(path: string, action: string, fields: Readonly<Record<string, string>>): Promise<Page>
}

export async function visitor({ url }: Pick<PromptService, 'url'>, username: string): Promise<Visitor> {
  const browser = new Browser()
  const open = async (path: string, init: RequestInit = {}): Promise<Page> => {
    const found = await browser.open(url + path, init)
    assert.ok('html' in found, JSON.stringify(found))
    return found
  }
  await browser.submit(await open('/sign-in'), { username, password })
  return {
    open: (path) => open(path, { headers: { accept: 'text/html' } }),
    send: async (path, action, fields) => {
      const { html } = await open(path)
      const hidden = (name: string): string =>
        new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? ''
      const body = new URLSearchParams({
        csrf: hidden('csrf'),
        began: hidden('began'),
        line: hidden('line'),
        ...fields,
      })
      const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: url }
      return open(`${path}/${action}`, { method: 'POST', headers, body })
    },
  }
}
