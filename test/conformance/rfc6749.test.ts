/** RFC 6749, the OAuth 2.0 framework. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import {
  authorize,
  authorizeUrl,
  Browser,
  callback,
  callMcp,
  connect,
  pkcePair,
  postForm,
  redeem,
  refresh,
  register,
} from '../oauth/browser.ts'
import { startServer, type TestServer } from '../oauth/server.ts'

const confidential = { token_endpoint_auth_method: 'client_secret_basic' }

function basic(id: string, secret: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}

async function authorizeWith(server: TestServer, params: Record<string, string | undefined>) {
  const page = await new Browser(server).open(
    authorizeUrl(server, {
      response_type: 'code',
      redirect_uri: callback,
      state: 'st',
      code_challenge: pkcePair().challenge,
      code_challenge_method: 'S256',
      ...params,
    }),
  )
  return { page, answer: new URLSearchParams(page.location?.split('?')[1] ?? '') }
}

describe('RFC 6749', () => {
  it('§2.3.1 takes the client secret by Basic, form-encoded, or in the body', async (t) => {
    const server = await startServer(t)
    const { client_id: client, client_secret: secret } = await register(server, confidential)
    const one = await authorize(server, { client })
    const byHeader = await postForm(
      server,
      paths.token,
      {
        grant_type: 'authorization_code',
        code: one.code,
        redirect_uri: callback,
        code_verifier: one.verifier,
      },
      basic(encodeURIComponent(client), encodeURIComponent(secret!)),
    )
    assert.equal(byHeader.status, 200, JSON.stringify(byHeader.body))
    const byBody = await refresh(server, client, byHeader.body.refresh_token, { client_secret: secret })
    assert.equal(byBody.status, 200)
  })

  it('§2.3.1 refuses a wrong or missing secret with 401, and says Basic when Basic was used', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server, confidential)
    const wrong = await postForm(
      server,
      paths.token,
      { grant_type: 'refresh_token', refresh_token: 'x' },
      basic(client, 'wrong'),
    )
    assert.equal(wrong.status, 401)
    assert.equal(wrong.body.error, 'invalid_client')
    assert.match(wrong.headers.get('www-authenticate') ?? '', /^Basic /)
    const missing = await refresh(server, client, 'x')
    assert.equal(missing.status, 401)
    assert.equal(missing.headers.get('www-authenticate'), null)
  })

  it('§2.3 refuses two ways of authentication in one request', async (t) => {
    const server = await startServer(t)
    const { client_id: client, client_secret: secret } = await register(server, confidential)
    const fields = {
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_id: client,
      client_secret: secret,
    }
    const reply = await postForm(server, paths.token, fields, basic(client, secret!))
    assert.equal(reply.body.error, 'invalid_request')
  })

  it('§2.3.1 decodes Basic strictly', async (t) => {
    const server = await startServer(t)
    const { client_id: client, client_secret: secret } = await register(server, confidential)
    const good = Buffer.from(`${client}:${secret}`).toString('base64')
    const headers = [
      `Basic ${good.slice(0, -2)}`,
      `Basic ${good.replace(/.$/, '!')}`,
      `Basic ${Buffer.from(client).toString('base64')}`,
      `Basic ${Buffer.from(`:${secret}`).toString('base64')}`,
      `Basic ${Buffer.from(`${client}:%zz`).toString('base64')}`,
      `Basic ${Buffer.from(`${client}:a\u0000b`).toString('base64')}`,
      'Basic',
      'Basic  ',
      `Bearer ${good}`,
    ]
    for (const header of headers) {
      const reply = await postForm(
        server,
        paths.token,
        { grant_type: 'refresh_token', refresh_token: 'x' },
        { Authorization: header },
      )
      assert.equal(reply.status, 401, header)
      assert.equal(reply.body.error, 'invalid_client', header)
    }
  })

  it('§3.1 refuses a parameter that comes twice, and treats an empty one as absent', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const url = authorizeUrl(server, {
      response_type: 'code',
      client_id: client,
      redirect_uri: callback,
      state: 'st',
    })
    const twice = await new Browser(server).open(`${url}&scope=all&scope=openid`)
    assert.match(twice.location ?? '', /error=invalid_request.*sent%20more%20than%20once%3A%20scope/)
    const twiceUri = await new Browser(server).open(`${url}&redirect_uri=${encodeURIComponent(callback)}`)
    assert.equal(twiceUri.status, 400)
    assert.equal(twiceUri.location, undefined)
    const { answer } = await authorizeWith(server, { client_id: client, response_type: '' })
    assert.equal(answer.get('error_description'), 'response_type is required')
  })

  it('§3.1.1 refuses other response types by a redirect', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    for (const type of ['token', 'code token', 'id_token', 'none']) {
      const { answer } = await authorizeWith(server, { client_id: client, response_type: type })
      assert.equal(answer.get('error'), 'unsupported_response_type', type)
      assert.equal(answer.get('state'), 'st')
    }
  })

  it('§3.1.2.4 shows faults of client and redirect URI and redirects nowhere', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const cases = [
      { client_id: undefined },
      { client_id: 'nobody' },
      { client_id: client, redirect_uri: undefined },
      { client_id: client, redirect_uri: 'https://evil.example/' },
      { client_id: client, redirect_uri: `${callback}/more` },
      { client_id: client, redirect_uri: `${callback}?more=1` },
    ]
    for (const params of cases) {
      const { page } = await authorizeWith(server, params)
      assert.equal(page.status, 400, JSON.stringify(params))
      assert.equal(page.location, undefined)
      assert.match(page.headers.get('content-type') ?? '', /text\/html/)
      assert.match(
        page.headers.get('content-security-policy') ?? '',
        /default-src 'none'.*frame-ancestors 'none'/,
      )
    }
  })

  it('§3.2 takes only form bodies, of a bounded size', async (t) => {
    const server = await startServer(t)
    const json = await fetch(server.url + paths.token, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token' }),
    })
    assert.equal(json.status, 400)
    const large = await postForm(server, paths.token, { grant_type: 'x'.repeat(70_000) })
    assert.equal(large.status, 413)
    assert.equal((await fetch(server.url + paths.token)).status, 405)
  })

  it('§3.3 narrows unknown scopes and says what was granted', async (t) => {
    const server = await startServer(t)
    const some = await connect(server, { scope: 'claudeai openid nonsense' })
    assert.equal(some.tokens.scope, 'openid')
    const none = await connect(server, { scope: 'claudeai' })
    assert.equal(none.tokens.scope, 'all')
  })

  it('§4.1.2 sends code and state unchanged, and keeps the query of the redirect URI', async (t) => {
    const server = await startServer(t)
    const uri = 'https://app.example/cb?tenant=a%20b&x=1'
    const { client_id: client } = await register(server, { redirect_uris: [uri] })
    const state = 'ä +&=#%00"<script>\n/?'
    const { page, answer } = await authorize(server, { client, redirectUri: uri, params: { state } })
    assert.ok(page.location?.startsWith(`${uri}&code=`), page.location)
    assert.equal(answer.get('state'), state)
    assert.equal(answer.get('tenant'), 'a b')
  })

  it('§4.1.2 ends a code after its time', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const flow = await authorize(server, { client })
    server.clock.pass(61)
    const late = await redeem(server, { ...flow, client })
    assert.equal(late.body.error, 'invalid_grant')
    assert.equal((await server.tokens.list()).length, 0)
  })

  it('§4.1.2 refuses a second use of a code and revokes what the first produced', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const flow = await authorize(server, { client })
    const first = await redeem(server, { ...flow, client })
    assert.equal(first.status, 200)
    const second = await redeem(server, { ...flow, client })
    assert.equal(second.status, 400)
    assert.equal(second.body.error, 'invalid_grant')
    assert.equal((await callMcp(server, `Bearer ${first.body.access_token}`)).status, 401)
    assert.equal((await refresh(server, client, first.body.refresh_token)).body.error, 'invalid_grant')
    assert.equal((await server.auditEvents('code.reuse'))[0]?.client, client)
  })

  it('§4.1.3 binds the code to client and redirect URI', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server, {
      redirect_uris: [callback, 'https://app.example/cb'],
    })
    const other = await register(server)
    const flow = await authorize(server, { client })
    const swapped = await redeem(server, { ...flow, client: other.client_id })
    assert.equal(swapped.body.error, 'invalid_grant')
    const elsewhere = await redeem(server, { ...flow, client }, { redirect_uri: 'https://app.example/cb' })
    assert.equal(elsewhere.body.error, 'invalid_grant')
    const another = await authorize(server, { client })
    const absent = await redeem(server, { ...another, client }, { redirect_uri: undefined })
    assert.equal(absent.body.error, 'invalid_request')
  })

  it('§4.2, §4.3, §4.4 offers neither implicit, password nor client credentials', async (t) => {
    const server = await startServer(t)
    const { client_id: client, client_secret: secret } = await register(server, confidential)
    for (const grant of [
      'client_credentials',
      'password',
      'implicit',
      'urn:ietf:params:oauth:grant-type:device_code',
    ]) {
      const reply = await postForm(server, paths.token, {
        grant_type: grant,
        client_id: client,
        client_secret: secret,
      })
      assert.equal(reply.status, 400)
      assert.equal(reply.body.error, 'unsupported_grant_type', grant)
    }
  })

  it('§5.1 answers JSON that is never stored', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const flow = await authorize(server, { client })
    const { headers, body } = await redeem(server, { ...flow, client })
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('pragma'), 'no-cache')
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assert.deepEqual(Object.keys(body).sort(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'scope',
      'token_type',
    ])
    assert.match(body.access_token, /^ac_at_[\w-]{43}$/)
  })

  it('§5.2 tells a client that is gone 401 invalid_client, so that it registers again', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    await server.clients.remove(client)
    const reply = await refresh(server, client, tokens.refresh_token)
    assert.equal(reply.status, 401)
    assert.equal(reply.body.error, 'invalid_client')
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
  })

  it('§5.2 keeps error_description to the characters that it may have', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const reply = await postForm(server, paths.token, { grant_type: 'ä"\\', client_id: client })
    assert.match(reply.body.error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  })

  it('§6 gives no more scopes at a refresh than were granted', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server, { scope: 'openid email' })
    const fewer = await refresh(server, client, tokens.refresh_token, { scope: 'email all' })
    assert.equal(fewer.body.scope, 'email')
    const none = await refresh(server, client, fewer.body.refresh_token, { scope: 'all' })
    assert.equal(none.body.error, 'invalid_scope')
    assert.equal((await refresh(server, client, fewer.body.refresh_token)).body.scope, 'openid email')
  })

  it('§6 binds refresh tokens to their client', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const other = await register(server)
    assert.equal((await refresh(server, other.client_id, tokens.refresh_token)).body.error, 'invalid_grant')
    assert.equal((await refresh(server, client, tokens.refresh_token)).status, 200)
  })

  it('§10.3 lets tokens end: access after an hour, refresh after 30 days unused', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    server.clock.pass(3601)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    server.clock.pass(29 * 86_400)
    const next = await refresh(server, client, tokens.refresh_token)
    assert.equal(next.status, 200)
    server.clock.pass(30 * 86_400 + 1)
    assert.equal((await refresh(server, client, next.body.refresh_token)).body.error, 'invalid_grant')
  })
})
