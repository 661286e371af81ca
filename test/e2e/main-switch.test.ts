/** The main switch as an administrator meets it: everything that a person can open stays open. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Browser } from '../helpers/browser.ts'
import { copyOfShippedSite, startDaemon } from '../helpers/daemon.ts'
import { furnish, pagesOf, people } from '../helpers/every-page.ts'

const password = 'correct horse battery staple'

describe('the main switch (server.enabled: false)', () => {
  it('leaves every page open, with what it loads: sign-in, the account, prompts and all others answered 503', async (t) => {
    const site = copyOfShippedSite(t)
    furnish(site)
    const daemon = await startDaemon(t, { site })
    await daemon.cli(['users', 'passwd', people.admin, '--password-stdin'], password)
    const pages = await pagesOf(daemon)
    const settings = join(site, 'config/settings.yaml')
    writeFileSync(
      settings,
      readFileSync(settings, 'utf8').replace(/(^server:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false'),
    )
    assert.equal((await daemon.cli(['reload'])).code, 0)
    assert.equal((await fetch(`${daemon.url}/token`, { method: 'POST' })).status, 503)

    const browser = new Browser()
    const open = async (path: string): Promise<string> => {
      const page = await browser.open(daemon.url + path, { headers: { accept: 'text/html' } })
      assert.ok('html' in page, path)
      assert.deepEqual([page.status, new URL(page.url).pathname], [200, path.split('?')[0]], path)
      return page.html
    }
    const signIn = await browser.open(`${daemon.url}/sign-in`)
    assert.ok('html' in signIn)
    await browser.submit(signIn, { username: people.admin, password })
    const loaded = new Set<string>()
    for (const path of ['/', ...Object.values(pages)]) {
      for (const [, source] of (await open(path)).matchAll(
        /(?:src|href)="(\/(?:assets|desk\/charts)\/[^"]+)"/g,
      ))
        loaded.add(source!)
    }
    assert.ok(loaded.size > 2, [...loaded].join())
    for (const source of loaded) {
      const answer = await fetch(daemon.url + source, { headers: { cookie: browser.cookiesFor(daemon.url) } })
      await answer.arrayBuffer()
      assert.equal(answer.status, 200, source)
    }
  })
})
