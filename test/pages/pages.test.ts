import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { Browser } from '../oauth/browser.ts'
import { password, startServer } from '../oauth/server.ts'

describe('the pages', () => {
  it('put a person who mistyped the password into the password field, not back to the address', async (t) => {
    const browser = new Browser(await startServer(t))
    const empty = await browser.open(paths.signIn)
    assert.match(empty.body, /id="username"[^>]* autofocus/)
    const refused = await browser.submit(empty, { username: 'sales@example.com', password: 'mistyped' })
    assert.equal(refused.status, 403)
    assert.match(refused.body, /id="password"[^>]* autofocus[^>]* aria-describedby="fault"/)
    assert.doesNotMatch(refused.body, /id="username"[^>]* autofocus/)
  })

  it('tell somebody who is signed in which address to give an app, and how to go back from signing out', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    await browser.submit(await browser.open(paths.signIn), { username: 'sales@example.com', password })
    assert.match(
      (await browser.open(paths.home)).body,
      new RegExp(`<code class="address">[^<]*${paths.mcp}</code>`),
    )
    assert.match(
      (await browser.open(paths.signOut)).body,
      new RegExp(`<a href="${paths.home}">Start page</a>`),
    )
  })
})
