import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pages } from '../../src/pages/pages.ts'
import { Browser } from '../oauth/browser.ts'
import { makeUser, password, startServer } from '../oauth/server.ts'

describe('browser sessions', () => {
  it('end after their hours, with the user, and when they are closed', async (t) => {
    const server = await startServer(t)
    const secret = await server.sessions.open({
      user: 'sales@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    assert.equal((await server.sessions.find(secret))?.user.id, 'sales@example.com')
    server.setUsers([makeUser('sales@example.com', { enabled: false })])
    assert.equal(await server.sessions.find(secret), undefined)
    server.setUsers([makeUser('sales@example.com')])
    server.clock.pass(12 * 3600 + 1)
    assert.equal(await server.sessions.find(secret), undefined)
    const other = await server.sessions.open({
      user: 'sales@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    const third = await server.sessions.open({
      user: 'sales@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    await server.sessions.close(other)
    assert.equal(await server.sessions.find(other), undefined)
    assert.equal(await server.sessions.closeAll('sales@example.com'), 1)
    assert.equal(await server.sessions.find(third), undefined)
    assert.equal(await server.sessions.find(''), undefined)
    assert.equal(await server.sessions.find('ac_ss_made_up'), undefined)
  })

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
})
