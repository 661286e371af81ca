import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import { requireNoSecrets } from '../helpers/leaks.ts'
import { authorize, callMcp, connect, postForm, redeem, refresh, register } from './browser.ts'
import { password, startServer } from './server.ts'

describe('secrets', () => {
  it('stand neither in the state nor in the log nor in the audit after everything was done with them', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'leaks-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const server = await startServer(t, { folder })
    const secrets = new Set<string>([password])
    const keep = (...texts: (string | undefined)[]): void =>
      texts.forEach((text) => text && secrets.add(text))

    // A public client: connected, refreshed, repeated, reused, revoked.
    const { client, tokens, code, verifier, browser } = await connect(server, { scope: 'openid email' })
    keep(
      tokens.access_token,
      tokens.refresh_token,
      tokens.id_token,
      code,
      verifier,
      ...browser.cookies.values(),
    )
    const next = await refresh(server, client, tokens.refresh_token)
    const again = await refresh(server, client, tokens.refresh_token)
    keep(next.body.access_token, next.body.refresh_token, again.body.access_token, next.body.id_token)
    await callMcp(server, `Bearer ${next.body.access_token}`)
    await callMcp(server, `Bearer ${next.body.access_token}broken`)
    server.clock.pass(120)
    await refresh(server, client, tokens.refresh_token)
    await postForm(server, paths.revoke, { token: next.body.refresh_token, client_id: client })

    // A confidential client, right and wrong; a code used twice; a code that failed.
    const made = await register(server, { token_endpoint_auth_method: 'client_secret_post' })
    const secret = made.client_secret
    const flow = await authorize(server, { client: made.client_id })
    const issued = await redeem(server, { ...flow, client: made.client_id }, { client_secret: secret })
    await redeem(server, { ...flow, client: made.client_id }, { client_secret: secret })
    await redeem(server, { ...flow, client: made.client_id }, { client_secret: `${secret}x` })
    const failed = await authorize(server, { client: made.client_id })
    await redeem(
      server,
      { ...failed, client: made.client_id },
      { client_secret: secret, code_verifier: 'y'.repeat(50) },
    )
    keep(secret, flow.code, failed.code, flow.verifier, issued.body.access_token, issued.body.refresh_token)
    await postForm(server, paths.introspect, {
      token: issued.body.access_token,
      client_id: made.client_id,
      client_secret: secret,
    })
    const rotated = await server.clients.rotateSecret(made.client_id)
    keep(rotated.secret)

    // API keys, wrong passwords, keys.
    const key = await server.apiKeys.create({ user: 'sales@example.com' })
    await callMcp(server, `token ${key.key.id}:${key.secret}`)
    await callMcp(server, `token ${key.key.id}:${key.secret}x`)
    const typo = 'a pasword for tests'
    const page = await browser.open(pages.signIn.path)
    await browser.submit(page, { username: 'sales@example.com', password: typo })
    keep(key.secret, typo, ...browser.cookies.values())
    await server.usage.flush()
    await server.close()

    assert.ok(secrets.size >= 20, `only ${secrets.size} secrets were seen`)
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    )
    assert.ok(files.length >= 2, 'there must be something to look at')
    const places: [string, string][] = [['the log', server.logged.join('')]]
    for (const file of files)
      places.push([file.name, await readFile(join(file.parentPath, file.name), 'latin1')])
    assert.ok(
      places.some(([, text]) => text.includes('token.issue')),
      'the audit must be among them',
    )
    assert.ok(
      places.some(([, text]) => text.includes('oauth.family')),
      'the state must be among them',
    )
    for (const [place, text] of places) {
      for (const found of secrets)
        assert.equal(text.includes(found), false, `${found.slice(0, 12)}… in ${place}`)
    }
  })

  it('are looked for after every test with a server or a daemon, by a search that finds them', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'leaks-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    requireNoSecrets(folder)
    const server = await startServer(t)
    const { tokens, code, browser } = await connect(server)
    for (const secret of [tokens.access_token, tokens.refresh_token, code, ...browser.cookies.values()]) {
      assert.throws(() => requireNoSecrets(folder, `{"x":"${secret}"}`), /ac_.* in the log/)
      await writeFile(join(folder, 'one.jsonl'), `{"x":"${secret}"}`)
      assert.throws(() => requireNoSecrets(folder), /one\.jsonl/)
      await rm(join(folder, 'one.jsonl'))
    }
  })
})
