import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pages } from '../../src/pages/pages.ts'
import { Browser } from '../oauth/browser.ts'
import { password, startServer } from '../oauth/server.ts'

describe('browser sessions', () => {
  it('get a cookie that scripts, other sites and plain http do not see', async (t) => {
    const server = await startServer(t, { publicUrl: 'https://assistant.example' })
    const page = await fetch(server.url + pages.signIn.path)
    const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())![1]!
    const [visitor] = page.headers.getSetCookie()
    assert.match(
      visitor!,
      /^__Host-assistant_core_visitor=ac_vs_[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    )
    const reply = await fetch(server.url + pages.signIn.path, {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: visitor!.split(';')[0]!, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf, next: '/', username: 'sales@example.com', password }).toString(),
    })
    assert.equal(reply.status, 303)
    assert.match(
      reply.headers.getSetCookie()[0]!,
      /^__Host-assistant_core_session=ac_ss_[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    )
  })

  it('cannot be planted beforehand: signing in gives a new one and ends the old', async (t) => {
    const server = await startServer(t)
    const planted = await server.sessions.open({
      user: 'hr@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    const browser = new Browser(server)
    browser.cookies.set('assistant_core_session', planted)
    const form = await browser.open(pages.signIn.path)
    await browser.submit(form, { username: 'sales@example.com', password })
    const secret = browser.cookies.get('assistant_core_session')
    assert.notEqual(secret, planted)
    assert.equal((await server.sessions.find(secret))?.user.id, 'sales@example.com')
    assert.equal(await server.sessions.find(planted), undefined)
  })

  it('are not found by a cookie whose name only looks like theirs, as another host of the domain may set', async (t) => {
    const server = await startServer(t, { publicUrl: 'https://assistant.example' })
    const planted = await server.sessions.open({
      user: 'hr@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    const answered = async (cookie: string): Promise<number> => {
      const headers = { Cookie: cookie }
      return (await fetch(server.url + pages.account.path, { redirect: 'manual', headers })).status
    }
    const own = `__Host-assistant_core_session=${planted}`
    assert.equal(await answered(`other=1;  ${own}`), 200)
    // Browsers keep the prefix `__Host-` for cookies of one host, but not after a space of another kind.
    for (const before of ['\u00a0', 'other=1; \u00a0', 'other=1;\u00a0 ', 'other=1; \t'])
      assert.equal(await answered(before + own), 303, JSON.stringify(before))
  })

  it('are not opened by guessing, also when rate limits are off', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { enabled: false } } })
    const origin = { request_id: 'r', address: '192.0.2.1' }
    const tried = async (text: string): Promise<string> =>
      (await server.signIn.attempt({ username: 'sales@example.com', password: text }, origin)).kind
    for (let n = 0; n < 5; n++) assert.equal(await tried('not the password'), 'refused')
    assert.equal(await tried(password), 'wait')
  })
})
