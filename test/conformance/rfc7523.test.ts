/** RFC 7523, client authentication by signed assertion (`private_key_jwt`). */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from 'jose'
import { paths } from '../../src/oauth/urls.ts'
import { authorize, postForm } from '../oauth/browser.ts'
import { startServer, type TestServer } from '../oauth/server.ts'

const url = 'https://agent.example/client.json'
const redirectUri = 'https://agent.example/cb'
const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

interface Agent {
  readonly server: TestServer
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

async function start(t: TestContext, noKeys?: { why: string }): Promise<Agent> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const publicJwk = { ...(await exportJWK(publicKey)), kid: 'k1' }
  const fetch = async (asked: string): Promise<{ body: unknown }> => {
    if (asked === 'https://agent.example/jwks.json') {
      if (noKeys) throw new Error(noKeys.why)
      return { body: { keys: [{ kty: 'FUTURE', kid: 'k0' }, publicJwk] } }
    }
    return {
      body: {
        client_id: url,
        client_name: 'Agent',
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: 'https://agent.example/jwks.json',
      },
    }
  }
  return { server: await startServer(t, { fetch }), privateKey, publicJwk }
}

function claims(server: TestServer, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Math.floor(server.clock.now() / 1000)
  const jti = `jti-${Math.random()}`
  return { iss: url, sub: url, aud: server.url + paths.token, jti, iat: now, exp: now + 60, ...changes }
}

async function sign(agent: Agent, payload: Record<string, unknown>, header = {}): Promise<string> {
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', ...header })
    .sign(agent.privateKey)
}

/** How an assertion fares, without spending anything: the refresh token is wrong on purpose. */
async function attempt(agent: Agent, assertion: string, more: Record<string, string> = {}) {
  const fields = {
    grant_type: 'refresh_token',
    refresh_token: 'x',
    client_assertion: assertion,
    client_assertion_type: type,
  }
  return postForm(agent.server, paths.token, { ...fields, ...more })
}

describe('RFC 7523', () => {
  it('§2.2 authenticates a client by its key, through the whole code flow', async (t) => {
    const agent = await start(t)
    const flow = await authorize(agent.server, { client: url, redirectUri })
    const reply = await postForm(agent.server, paths.token, {
      grant_type: 'authorization_code',
      code: flow.code,
      redirect_uri: redirectUri,
      code_verifier: flow.verifier,
      client_id: url,
      client_assertion: await sign(agent, claims(agent.server)),
      client_assertion_type: type,
    })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
  })

  it('tells a client that its keys cannot be had, and nothing of what is where it says they are', async (t) => {
    const noKeys = { why: '' }
    const agent = await start(t, noKeys)
    for (noKeys.why of ['it answered 302', 'it took too long', 'connect ECONNREFUSED 10.1.2.3:443']) {
      const { status, body } = await attempt(agent, await sign(agent, claims(agent.server)), {
        client_id: url,
      })
      assert.deepEqual([status, body.error_description], [401, "the client's keys cannot be had"])
      assert.ok(agent.server.logged.join('').includes(noKeys.why), 'the operator learns it')
      // For so long the same place is not asked again.
      agent.server.clock.pass(10)
    }
  })

  it('§3 takes the issuer as audience as well, alone in a list or not', async (t) => {
    const agent = await start(t)
    for (const aud of [agent.server.url, [agent.server.url], [agent.server.url + paths.token]]) {
      const reply = await attempt(agent, await sign(agent, claims(agent.server, { aud })))
      assert.equal(reply.body.error, 'invalid_grant', 'past the client authentication')
    }
  })

  it('§3 refuses an assertion that is used twice', async (t) => {
    const agent = await start(t)
    const assertion = await sign(agent, claims(agent.server))
    assert.equal((await attempt(agent, assertion)).body.error, 'invalid_grant')
    const again = await attempt(agent, assertion)
    assert.equal(again.status, 401)
    assert.match(again.body.error_description, /already used/)
    const parallel = await sign(agent, claims(agent.server))
    const replies = await Promise.all(Array.from({ length: 10 }, () => attempt(agent, parallel)))
    assert.equal(replies.filter((reply) => reply.body.error === 'invalid_grant').length, 1)
  })

  it('§3 refuses every assertion that proves nothing', async (t) => {
    const agent = await start(t)
    const { server } = agent
    const other = await generateKeyPair('ES256')
    const now = Math.floor(server.clock.now() / 1000)
    const forged: [string, string][] = [
      [
        'another key',
        await new SignJWT(claims(server))
          .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
          .sign(other.privateKey),
      ],
      ['no signature', new UnsecuredJWT(claims(server)).encode()],
      [
        'the public key as a secret',
        await new SignJWT(claims(server))
          .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
          .sign(new TextEncoder().encode(JSON.stringify(agent.publicJwk))),
      ],
      ['an unknown crit', await sign(agent, claims(server), { crit: ['x'], x: 1 }).catch(() => 'a.b.c')],
      ['another issuer', await sign(agent, claims(server, { iss: 'https://evil.example/x' }))],
      ['another subject', await sign(agent, claims(server, { sub: 'https://evil.example/x' }))],
      ['another audience', await sign(agent, claims(server, { aud: 'https://evil.example/' }))],
      [
        'several audiences',
        await sign(agent, claims(server, { aud: [server.url, 'https://evil.example/'] })),
      ],
      ['no audience', await sign(agent, claims(server, { aud: undefined }))],
      ['no end', await sign(agent, claims(server, { exp: undefined }))],
      ['no jti', await sign(agent, claims(server, { jti: undefined }))],
      ['the past', await sign(agent, claims(server, { exp: now - 60 }))],
      ['a far future', await sign(agent, claims(server, { exp: now + 86_400 }))],
      ['not yet', await sign(agent, claims(server, { nbf: now + 600 }))],
      ['no JWT', 'nonsense'],
      ['an empty part', 'eyJ..x'],
      ['much', `${'a'.repeat(9000)}.b.c`],
    ]
    for (const [what, assertion] of forged) {
      const reply = await attempt(agent, assertion, { client_id: url })
      assert.equal(reply.status, 401, what)
      assert.equal(reply.body.error, 'invalid_client', what)
    }
    const plain = await postForm(server, paths.token, {
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_id: url,
    })
    assert.equal(plain.status, 401, 'the method is the one registered')
    const untyped = await attempt(agent, await sign(agent, claims(server)), { client_assertion_type: 'x' })
    assert.equal(untyped.body.error, 'invalid_request')
  })
})
