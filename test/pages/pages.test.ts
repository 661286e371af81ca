import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import { Browser } from '../oauth/browser.ts'
import { password, startServer } from '../oauth/server.ts'

describe('the pages', () => {
  it('put a person who mistyped the password into the password field, not back to the address', async (t) => {
    const browser = new Browser(await startServer(t))
    const empty = await browser.open(pages.signIn.path)
    assert.match(empty.body, /id="username"[^>]* autofocus/)
    const refused = await browser.submit(empty, { username: 'sales@example.com', password: 'mistyped' })
    assert.equal(refused.status, 403)
    assert.match(refused.body, /id="password"[^>]* autofocus[^>]* aria-describedby="fault"/)
    assert.doesNotMatch(refused.body, /id="username"[^>]* autofocus/)
  })

  it('tell everybody which address to give an app, and how to go back from signing out', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    assert.match(
      (await browser.open(pages.home.path)).body,
      new RegExp(`<code class="address">[^<]*${paths.mcp}</code>`),
    )
    await browser.submit(await browser.open(pages.signIn.path), { username: 'sales@example.com', password })
    assert.match((await browser.open(pages.home.path)).body, new RegExp(`<a href="${pages.connect.path}">`))
    assert.match(
      (await browser.open(pages.signOut.path)).body,
      new RegExp(`<a href="${pages.home.path}">Start page</a>`),
    )
  })
})
