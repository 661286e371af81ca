import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { authorize, callMcp, connect, redeem, refresh, register } from './browser.ts'
import { startServer } from './server.ts'

describe('a restart', () => {
  it('logs nobody out: tokens, refresh tokens, codes, sessions, secrets and keys go on', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'restart-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const options = { folder, publicUrl: 'https://assistant.example' }
    const before = await startServer(t, options)
    const { client, tokens, browser } = await connect(before, { scope: 'openid' })
    const { client_id, client_secret } = await register(before, {
      token_endpoint_auth_method: 'client_secret_post',
    })
    const flow = await authorize(before, { client: client_id })
    const key = await before.apiKeys.create({ user: 'sales@example.com' })
    const keys = await (await fetch(before.url + paths.jwks)).text()
    const ended = await connect(before)
    await before.tokens.revoke({ client: ended.client }, 'test')
    await before.close()

    const after = await startServer(t, options)
    assert.equal((await callMcp(after, `Bearer ${tokens.access_token}`)).status, 200)
    assert.equal(
      (await callMcp(after, `Bearer ${ended.tokens.access_token}`)).status,
      401,
      'what ended stays ended',
    )
    assert.equal((await refresh(after, client, tokens.refresh_token)).status, 200)
    assert.equal((await redeem(after, { ...flow, client: client_id }, { client_secret })).status, 200)
    assert.equal((await callMcp(after, `token ${key.key.id}:${key.secret}`)).status, 200)
    assert.equal(await (await fetch(after.url + paths.jwks)).text(), keys)
    const secret = [...browser.cookies].find(([name]) => name.endsWith('session'))?.[1]
    assert.equal((await after.sessions.find(secret))?.user.id, 'sales@example.com')
  })
})
