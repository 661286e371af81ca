/** The grant types, one row a condition: each alone must refuse, change nothing else, and be audited. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { authorize, callMcp, connect, postForm, redeem, refresh, register } from './browser.ts'
import { startServer, type TestServer } from './server.ts'

const user = 'sales@example.com'

type Flow = Awaited<ReturnType<typeof authorize>> & { readonly client: string }
type Fields = Record<string, string | undefined>

interface Refusal {
  readonly why: string
  /** What happens before the request; answers what the request says differently. */
  readonly given: (server: TestServer, flow: Flow) => Fields | Promise<Fields>
  readonly says: RegExp
  readonly error?: string
  /** Whether the audit event can say whose code it was. */
  readonly nameless?: true
}

async function startFlow(server: TestServer, params: Record<string, string> = {}): Promise<Flow> {
  const { client_id: client } = await register(server)
  return { ...(await authorize(server, { client, params })), client }
}

function withUser(server: TestServer, id: string, change: 'disabled' | 'gone'): void {
  const users = server.users()
  if (change === 'gone') server.setUsers(users.filter((one) => one.id !== id))
  else server.setUsers(users.map((one) => (one.id === id ? { ...one, enabled: false } : one)))
}

const codeRefusals: readonly Refusal[] = [
  {
    why: 'is unknown',
    given: () => ({ code: 'ac_cd_unknown' }),
    says: /unknown or has expired/,
    nameless: true,
  },
  {
    why: 'belongs to another client',
    given: async (server) => ({ client_id: (await register(server)).client_id }),
    says: /issued to another client/,
    nameless: true,
  },
  {
    why: 'has ended',
    given: (server) => {
      server.clock.pass(60)
      return {}
    },
    says: /unknown or has expired/,
  },
  {
    why: 'was sent to another redirect_uri',
    given: () => ({ redirect_uri: 'http://127.0.0.1:5555/other' }),
    says: /not the one that the code was sent to/,
  },
  {
    why: 'comes without its verifier',
    given: () => ({ code_verifier: undefined }),
    says: /code_verifier is required/,
  },
  {
    why: 'comes with another verifier',
    given: () => ({ code_verifier: 'v'.repeat(43) }),
    says: /does not match/,
  },
  {
    why: 'is for another resource',
    given: () => ({ resource: 'https://other.example/mcp' }),
    says: /not the one that was authorized/,
    error: 'invalid_target',
  },
  {
    why: 'belongs to a user who was disabled meanwhile',
    given: (server) => {
      withUser(server, user, 'disabled')
      return {}
    },
    says: /the user is disabled/,
  },
  {
    why: 'belongs to a user who is gone',
    given: (server) => {
      withUser(server, user, 'gone')
      return {}
    },
    says: /the user is disabled/,
  },
  {
    why: 'stands for an approval that was revoked meanwhile',
    given: async (server) => {
      const [grant] = await server.grants.list({ user })
      await server.tokens.revoke({ grant: grant!.id }, 'test')
      return {}
    },
    says: /the approval was revoked/,
  },
]

describe('a code', () => {
  for (const { why, given, says, error, nameless } of codeRefusals) {
    it(`that ${why} gives no tokens`, async (t) => {
      const server = await startServer(t)
      const flow = await startFlow(server)
      const fields = await given(server, flow)
      const reply = await redeem(server, flow, fields)
      assert.equal(reply.status, 400)
      assert.equal(reply.body.error, error ?? 'invalid_grant')
      assert.match(reply.body.error_description, says)
      assert.deepEqual([await server.tokens.families(), await server.tokens.list()], [[], []])
      assert.equal((await server.auditEvents('token.issue')).length, 0)
      const [event, ...more] = await server.auditEvents('token.refuse')
      assert.deepEqual(more, [])
      assert.match(String(event?.error), says)
      assert.equal(event?.status, 'denied')
      assert.equal(event?.user, nameless ? undefined : user)
      assert.equal(event?.client, fields['client_id'] ?? flow.client)
      const [attempt] = server.trace.last(1)
      if (!nameless) {
        assert.equal(attempt?.died_at, 'token request')
        assert.match(attempt?.reason ?? '', says)
      }
    })
  }

  it('is spent by a wrong guess at its verifier, so that there is one guess', async (t) => {
    const server = await startServer(t)
    const flow = await startFlow(server)
    await redeem(server, flow, { code_verifier: 'v'.repeat(43) })
    const reply = await redeem(server, flow)
    assert.match(reply.body.error_description, /already used/)
    assert.deepEqual(await server.tokens.families(), [])
  })

  it('that another client presents is left to its own', async (t) => {
    const server = await startServer(t)
    const flow = await startFlow(server)
    await redeem(server, flow, { client_id: (await register(server)).client_id })
    assert.equal((await redeem(server, flow)).status, 200)
  })

  it('that comes twice ends what it gave, in the audit as code.reuse', async (t) => {
    const server = await startServer(t)
    const flow = await startFlow(server)
    const { body } = await redeem(server, flow)
    const reply = await redeem(server, flow)
    assert.equal(reply.body.error, 'invalid_grant')
    assert.match(reply.body.error_description, /already used/)
    assert.equal((await callMcp(server, `Bearer ${body.access_token}`)).status, 401)
    assert.equal((await refresh(server, flow.client, body.refresh_token)).status, 400)
    const [family] = await server.tokens.families()
    assert.equal(family?.revokedWhy, 'its code was used twice')
    const [event] = await server.auditEvents('code.reuse')
    assert.deepEqual([event?.status, event?.user, event?.client], ['denied', user, flow.client])
  })

  it('without a challenge takes no verifier', async (t) => {
    const server = await startServer(t, {
      settings: { oauth: { require_pkce_for_confidential_clients: false } },
    })
    const { client_id: client, client_secret: secret } = await register(server, {
      token_endpoint_auth_method: 'client_secret_post',
    })
    const start = async (): Promise<Flow> => {
      const params = { code_challenge: '', code_challenge_method: '' }
      return { ...(await authorize(server, { client, params })), client }
    }
    const refused = await redeem(server, await start(), { client_secret: secret })
    assert.equal(refused.body.error, 'invalid_grant')
    assert.match(refused.body.error_description, /no code_challenge before/)
    const without = { client_secret: secret, code_verifier: undefined }
    assert.equal((await redeem(server, await start(), without)).status, 200)
  })

  it('gives a token for its resource, with what was issued in the audit', async (t) => {
    const server = await startServer(t)
    const flow = await startFlow(server, { scope: 'all openid', nonce: 'n' })
    const reply = await redeem(server, flow, { resource: server.url + paths.mcp })
    assert.equal(reply.status, 200)
    assert.equal(reply.body.scope, 'all openid')
    const claims = JSON.parse(Buffer.from(reply.body.id_token.split('.')[1], 'base64url').toString())
    assert.equal(claims.nonce, 'n')
    const [family] = await server.tokens.families()
    const [grant] = await server.grants.list({ user })
    const [event] = await server.auditEvents('token.issue')
    assert.deepEqual(
      [event?.status, event?.user, event?.client, event?.target, event?.data],
      [
        'ok',
        user,
        flow.client,
        family?.id,
        { grant_type: 'authorization_code', scope: 'all openid', grant: grant?.id },
      ],
    )
    assert.deepEqual(server.trace.last(1)[0]?.steps.at(-1), 'tokens issued')
    assert.equal(family?.clientName, 'Test App')
    assert.equal(family?.authTime, server.clock.now())
  })

  for (const name of ['code', 'redirect_uri']) {
    it(`is not looked at without ${name}`, async (t) => {
      const server = await startServer(t)
      const flow = await startFlow(server)
      const reply = await redeem(server, flow, { [name]: undefined })
      assert.equal(reply.body.error, 'invalid_request')
      assert.match(reply.body.error_description, new RegExp(`^${name} is required`))
      assert.equal((await redeem(server, flow)).status, 200, 'the code was not spent')
    })
  }
})

const refreshRefusals: readonly (Refusal & { readonly silent?: true; readonly type?: string })[] = [
  {
    why: 'is unknown',
    given: () => ({ refresh_token: 'ac_rt_unknown' }),
    says: /unknown refresh token/,
    nameless: true,
  },
  {
    why: 'belongs to another client',
    given: async (server) => ({ client_id: (await register(server)).client_id }),
    says: /issued to another client/,
  },
  {
    why: 'was revoked',
    given: async (server, { client }) => {
      await server.tokens.revoke({ client }, 'test')
      return {}
    },
    says: /was revoked/,
  },
  {
    why: 'has ended',
    given: (server) => {
      server.clock.pass(30 * 86_400)
      return {}
    },
    says: /has expired/,
  },
  {
    why: 'belongs to a user who was disabled meanwhile',
    given: (server) => {
      withUser(server, user, 'disabled')
      return {}
    },
    says: /the user is disabled/,
    silent: true,
  },
  {
    why: 'belongs to a user who is gone',
    given: (server) => {
      withUser(server, user, 'gone')
      return {}
    },
    says: /the user is disabled/,
    silent: true,
  },
  {
    why: 'is for another resource',
    given: () => ({ resource: 'https://other.example/mcp' }),
    says: /not the one that was authorized/,
    error: 'invalid_target',
    silent: true,
  },
  {
    why: 'was granted none of the scopes asked for',
    given: () => ({ scope: 'email' }),
    says: /none of the scopes was granted/,
    error: 'invalid_scope',
    silent: true,
  },
]

describe('a refresh token', () => {
  for (const { why, given, says, error, nameless, silent } of refreshRefusals) {
    it(`that ${why} gives no tokens`, async (t) => {
      const server = await startServer(t)
      const flow = await connect(server)
      const fields = await given(server, flow)
      const reply = await refresh(server, flow.client, flow.tokens.refresh_token, fields)
      assert.equal(reply.status, 400)
      assert.equal(reply.body.error, error ?? 'invalid_grant')
      assert.match(reply.body.error_description, says)
      assert.equal((await server.tokens.families()).length, 1)
      assert.equal((await server.tokens.list()).length <= 1, true)
      assert.equal((await server.auditEvents('token.refresh')).length, 0)
      const refusals = await server.auditEvents('token.refuse')
      if (silent) return assert.deepEqual(refusals, [])
      const [event] = refusals
      assert.match(String(event?.error), says)
      assert.equal(event?.user, nameless ? undefined : user)
      assert.equal(event?.client, fields['client_id'] ?? flow.client)
      assert.equal(event?.status, 'denied')
    })
  }

  it('is not looked at when it is not there', async (t) => {
    const server = await startServer(t)
    const flow = await connect(server)
    const reply = await refresh(server, flow.client, '', { refresh_token: undefined })
    assert.equal(reply.body.error, 'invalid_request')
    assert.match(reply.body.error_description, /^refresh_token is required/)
  })

  it('may ask for fewer scopes, for its resource, and is in the audit', async (t) => {
    const server = await startServer(t)
    const flow = await connect(server, { scope: 'all openid email' })
    const fields = { scope: 'email openid nonsense', resource: server.url + paths.mcp }
    const reply = await refresh(server, flow.client, flow.tokens.refresh_token, fields)
    assert.equal(reply.body.scope, 'openid email')
    const [event, ...more] = await server.auditEvents('token.refresh')
    assert.deepEqual(more, [])
    const [family] = await server.tokens.families()
    assert.deepEqual(
      [event?.status, event?.user, event?.client, event?.target, event?.error],
      ['ok', user, flow.client, family?.id, undefined],
    )
    const again = await refresh(server, flow.client, reply.body.refresh_token)
    assert.equal(again.body.scope, 'all openid email', 'what was granted is not lost by asking for less')
  })

  it('that comes again within the grace period gets the same successor, once in the audit', async (t) => {
    const server = await startServer(t)
    const flow = await connect(server)
    const first = await refresh(server, flow.client, flow.tokens.refresh_token)
    const second = await refresh(server, flow.client, flow.tokens.refresh_token)
    assert.deepEqual(
      [second.body.access_token, second.body.refresh_token],
      [first.body.access_token, first.body.refresh_token],
    )
    assert.equal((await server.auditEvents('token.refresh')).length, 1)
    assert.equal((await server.auditEvents('token.reuse')).length, 0)
  })

  it('that comes again later ends its family, in the audit as token.reuse and nothing else', async (t) => {
    const server = await startServer(t)
    const flow = await connect(server)
    const first = await refresh(server, flow.client, flow.tokens.refresh_token)
    server.clock.pass(61)
    const reply = await refresh(server, flow.client, flow.tokens.refresh_token)
    assert.equal(reply.body.error, 'invalid_grant')
    assert.match(reply.body.error_description, /already used/)
    assert.equal((await callMcp(server, `Bearer ${first.body.access_token}`)).status, 401)
    const [event, ...more] = await server.auditEvents('token.reuse')
    assert.deepEqual(more, [])
    const [family] = await server.tokens.families()
    assert.deepEqual(
      [event?.status, event?.user, event?.client, event?.target],
      ['denied', user, flow.client, family?.id],
    )
    assert.match(String(event?.error), /already used/)
    assert.equal((await server.auditEvents('token.refuse')).length, 0)
  })
})

describe('a grant type', () => {
  it('that there is not is refused with the names of those there are', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const reply = await postForm(server, paths.token, { grant_type: 'password', client_id: client })
    assert.equal(reply.body.error, 'unsupported_grant_type')
    assert.equal(reply.body.error_description, 'grant_type must be authorization_code or refresh_token')
  })
})
