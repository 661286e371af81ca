/** RFC 7591, dynamic client registration, with the rules of specification §4.4. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sha256 } from '#leaf/secrets.ts'
import { callback, connect, postJson, register } from '../oauth/browser.ts'
import { startServer } from '../oauth/server.ts'

async function refusal(
  response: Response,
): Promise<{ status: number; error: string; error_description: string }> {
  return {
    status: response.status,
    ...((await response.json()) as { error: string; error_description: string }),
  }
}

describe('RFC 7591', () => {
  it('§3.2.1 answers 201 with what was registered, and no secret for a public client', async (t) => {
    const server = await startServer(t)
    const reply = await postJson(server, {
      client_name: 'An App',
      redirect_uris: ['https://app.example/cb', 'http://localhost/cb'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'openid all',
      client_uri: 'https://app.example',
      logo_uri: 'https://app.example/logo.png',
      contacts: ['a@app.example'],
      software_id: 'x',
      application_type: 'native',
      future_extension: { any: 'thing' },
    })
    assert.equal(reply.status, 201)
    assert.equal(reply.headers.get('cache-control'), 'no-store')
    const { client_id: id, ...rest } = (await reply.json()) as Record<string, unknown>
    assert.equal(typeof id, 'string')
    assert.deepEqual(rest, {
      scope: 'openid all',
      client_uri: 'https://app.example',
      logo_uri: 'https://app.example/logo.png',
      contacts: ['a@app.example'],
      software_id: 'x',
      application_type: 'native',
      client_id_issued_at: Math.floor(server.clock.now() / 1000),
      client_name: 'An App',
      redirect_uris: ['https://app.example/cb', 'http://localhost/cb'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    })
  })

  it('§2 takes an absent method as client_secret_basic, and gives a secret that is stored as a hash', async (t) => {
    const server = await startServer(t)
    const made = await register(server, {
      token_endpoint_auth_method: undefined,
      grant_types: ['authorization_code'],
    })
    assert.equal(made['token_endpoint_auth_method'], 'client_secret_basic')
    assert.match(made.client_secret ?? '', /^ac_cs_[\w-]{43}$/)
    assert.equal(made['client_secret_expires_at'], 0)
    assert.deepEqual(made['grant_types'], ['authorization_code', 'refresh_token'])
    assert.equal((await server.clients.find(made.client_id))?.secretDigest, sha256(made.client_secret ?? ''))
  })

  it('rule 1: refuses when it is switched off', async (t) => {
    const server = await startServer(t, {
      settings: { oauth: { enable_dynamic_client_registration: false } },
    })
    const reply = await refusal(await postJson(server, { redirect_uris: [callback] }))
    assert.equal(reply.status, 403)
    assert.equal(reply.error_description, 'dynamic client registration is not enabled')
    assert.equal((await server.clients.list()).length, 0)
  })

  it('rule 2: refuses other redirect URIs, naming them, and takes http anywhere in developer mode', async (t) => {
    const server = await startServer(t)
    const redirect_uris = ['https://app.example/cb', 'http://app.example/cb']
    const reply = await refusal(await postJson(server, { redirect_uris }))
    assert.equal(reply.status, 400)
    assert.equal(reply.error, 'invalid_redirect_uri')
    assert.match(reply.error_description, /^redirect_uris must be https.*http:\/\/app\.example\/cb/)
    assert.equal((await server.clients.list()).length, 0)
    server.change({ oauth: { developer_mode: true } })
    assert.equal((await postJson(server, { redirect_uris })).status, 201)
    for (const uri of ['javascript:alert(1)', 'http://user@app.example/', 'ftp://app.example/']) {
      assert.equal((await postJson(server, { redirect_uris: [uri] })).status, 400, uri)
    }
  })

  it('rule 3: refuses other authentication methods', async (t) => {
    const server = await startServer(t)
    for (const method of ['private_key_jwt', 'client_secret_jwt', 'tls_client_auth', '', 7]) {
      const reply = await refusal(
        await postJson(server, { redirect_uris: [callback], token_endpoint_auth_method: method }),
      )
      assert.equal(reply.status, 400, String(method))
      assert.equal(reply.error, 'invalid_client_metadata')
      assert.match(reply.error_description, /none, client_secret_basic, client_secret_post/)
    }
  })

  it('§3.2.2 names every fault of the metadata at once', async (t) => {
    const server = await startServer(t)
    const reply = await refusal(
      await postJson(server, {
        redirect_uris: [callback],
        grant_types: ['client_credentials'],
        response_types: ['token'],
        client_name: 7,
        contacts: 'me',
        logo_uri: 'javascript:alert(1)',
      }),
    )
    assert.equal(reply.error, 'invalid_client_metadata')
    for (const word of ['grant_types', 'response_types', 'client_name', 'contacts', 'logo_uri']) {
      assert.match(reply.error_description, new RegExp(word))
    }
  })

  it('§3.2.2 refuses bodies that are none, and what is missing or too much', async (t) => {
    const server = await startServer(t)
    const cases: [unknown, string, number][] = [
      ['', 'invalid_client_metadata', 400],
      ['not json', 'invalid_client_metadata', 400],
      ['[]', 'invalid_client_metadata', 400],
      ['null', 'invalid_client_metadata', 400],
      [{ client_name: 'x' }, 'invalid_redirect_uri', 400],
      [{ redirect_uris: [] }, 'invalid_redirect_uri', 400],
      [{ redirect_uris: callback }, 'invalid_redirect_uri', 400],
      [{ redirect_uris: [7] }, 'invalid_redirect_uri', 400],
      [
        { redirect_uris: Array.from({ length: 21 }, (_, n) => `https://a.example/${n}`) },
        'invalid_redirect_uri',
        400,
      ],
      [{ redirect_uris: [`https://a.example/${'x'.repeat(2000)}`] }, 'invalid_redirect_uri', 400],
      [{ redirect_uris: [callback], client_name: 'x'.repeat(9000) }, 'invalid_request', 413],
      [`{"redirect_uris":["${callback}"],"__proto__":{"name":"x"}}`, 'invalid_client_metadata', 400],
    ]
    for (const [body, error, status] of cases) {
      const reply = await refusal(await postJson(server, body))
      assert.equal(reply.error, error, JSON.stringify(body).slice(0, 80))
      assert.equal(reply.status, status)
    }
    assert.equal((await server.clients.list()).length, 0)
  })

  it('takes what the known clients send, private-use schemes included', async (t) => {
    const server = await startServer(t)
    const known = [
      [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'http://localhost:8787/callback',
        'https://www.cursor.com/cb',
      ],
      ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      ['https://chatgpt.com/connector/oauth/abc_123-XYZ'],
      [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      ['vscode://ms-vscode.mcp/callback', 'vscode-insiders://ms-vscode.mcp/callback'],
      ['http://127.0.0.1:19876/mcp/oauth/callback'],
      ['http://localhost:6274/oauth/callback/debug', 'http://[::1]:6274/oauth/callback'],
    ]
    for (const redirect_uris of known) {
      const reply = await postJson(server, {
        client_name: 'x',
        redirect_uris,
        token_endpoint_auth_method: 'none',
      })
      assert.equal(reply.status, 201, redirect_uris.join(' '))
    }
    server.change({ oauth: { native_redirect_schemes: 'myapp\n' } })
    assert.equal((await postJson(server, { redirect_uris: ['myapp://cb/x'] })).status, 201)
    const refused = await refusal(
      await postJson(server, { redirect_uris: ['cursor://anysphere.cursor-mcp/cb'] }),
    )
    assert.match(refused.error_description, /redirect_uris must be https/)
  })

  it('tells the audit log who registered what', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    await server.audit.settled()
    const [event] = await server.auditEvents('client.register')
    assert.equal(event?.target, client)
    assert.equal(event?.address, '127.0.0.1')
    assert.deepEqual(event?.data?.['redirect_uris'], [callback])
  })

  it('forgets a client that nobody uses after an hour, and keeps one that somebody approved', async (t) => {
    const server = await startServer(t)
    const { client_id: unused } = await register(server)
    const { client: used } = await connect(server)
    server.clock.pass(3601)
    assert.equal(await server.clients.find(unused), undefined)
    assert.ok(await server.clients.find(used))
  })

  it('prunes clients that are idle, never one with a live grant, and says so before', async (t) => {
    const server = await startServer(t, {
      settings: { oauth: { refresh_token_days: 200, idle_client_days: 90 } },
    })
    const idle = await connect(server)
    const live = await connect(server)
    await server.tokens.revoke({ client: idle.client }, 'test')
    // A clock that jumps is not believed; one that goes on day by day is.
    for (let days = 0; days < 91; days++) {
      server.clock.pass(86_400)
      await server.clients.prune({ dryRun: true })
    }
    const plan = await server.clients.prune({ dryRun: true })
    assert.deepEqual(plan, [{ id: idle.client, name: 'Test App', why: 'idle for 90 days' }])
    assert.ok(await server.clients.find(idle.client))
    await server.clients.prune()
    assert.equal(await server.clients.find(idle.client), undefined)
    assert.ok(await server.clients.find(live.client))
  })
})
