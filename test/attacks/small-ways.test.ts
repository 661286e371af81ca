/** Small ways in: each request here once got further than it should have. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { isPublicAddress } from '#leaf/public-address.ts'
import { Assertions } from '../../src/oauth/clients/assertions.ts'
import { isDocumentUrl } from '../../src/oauth/clients/client-documents.ts'
import { commandLineClient } from '../../src/oauth/clients/clients.ts'
import type { Client } from '../../src/oauth/records.ts'
import { paths } from '../../src/oauth/urls.ts'
import { silent } from '../documents/trading-company.ts'
import { startDaemon } from '../helpers/daemon.ts'
import {
  authorizeUrl,
  Browser,
  callback,
  connect,
  pkcePair,
  postForm,
  postJson,
  refresh,
  register,
} from '../oauth/browser.ts'
import { password, startServer } from '../oauth/server.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

describe('a token that may only be used from some addresses', () => {
  it('opens neither MCP nor userinfo from elsewhere, and is not active to introspection', async (t) => {
    const server = await startServer(t)
    const resource = server.url + paths.mcp
    const request = {
      user: 'sales@example.com',
      client: 'assistant-core-cli',
      clientName: 'cli',
      scopes: ['all'],
    }
    const elsewhere = await server.tokens.issue({ ...request, resource, addresses: ['203.0.113.9/32'] })
    const here = await server.tokens.issue({ ...request, resource, addresses: ['127.0.0.0/8'] })
    const checker = await server.clients.register(
      { name: 'checker', redirectUris: [callback], authMethod: 'client_secret_post', metadata: {} },
      'operator',
      async () => {},
    )
    const answers = async (token: string): Promise<unknown[]> => {
      const headers = { Authorization: `Bearer ${token}` }
      const told = await postForm(server, paths.introspect, {
        token,
        client_id: checker.client.id,
        client_secret: checker.secret,
      })
      return [
        (await fetch(resource, { method: 'POST', headers })).status,
        (await fetch(server.url + paths.userinfo, { headers })).status,
        told.body.active,
      ]
    }
    assert.deepEqual(await answers(elsewhere.accessToken), [401, 401, false])
    assert.deepEqual(await answers(here.accessToken), [200, 200, true])
  })
})

describe('a request with two credential headers', () => {
  it('is refused, whichever would have counted', async (t) => {
    const daemon = await startDaemon(t)
    const token = await tokenOf(daemon, 'sales@example.com')
    const { port } = new URL(daemon.url)
    const status = (name: string, values: string[]): Promise<number> =>
      new Promise((resolve, reject) => {
        const raw = values.flatMap((value) => [name, value])
        const headers = ['Host', `localhost:${port}`, ...raw]
        const outgoing = request({ host: '127.0.0.1', port, path: paths.userinfo, headers }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        outgoing.on('error', reject).end()
      })
    assert.equal(await status('Authorization', [`Bearer ${token}`]), 200)
    assert.equal(await status('Authorization', [`Bearer ${token}`, 'Bearer other']), 400)
    assert.equal(await status('Authorization', ['Bearer other', `Bearer ${token}`]), 400)
    assert.equal(await status('Cookie', ['a=b', 'c=d']), 400)
  })
})

describe('a redirect URI', () => {
  for (const name of ['code', 'state', 'iss']) {
    it(`with ${name} in its query is not registered, since answers bring that`, async (t) => {
      const server = await startServer(t)
      const uri = `https://app.example/cb?x=1&${name}=evil`
      const reply = await postJson(server, { redirect_uris: [uri] })
      assert.equal(reply.status, 400)
      const { error, error_description: why } = (await reply.json()) as Record<string, string>
      assert.equal(error, 'invalid_redirect_uri')
      assert.match(why!, new RegExp(`must not have ${name} in its query`))
      assert.deepEqual(await server.clients.list(), [])
    })
  }
})

describe('a client id that is a URL', () => {
  it('has a name for its host, and not the address of a cloud host agent', () => {
    assert.ok(isDocumentUrl('https://app.example/client.json'))
    for (const host of ['93.184.216.34', '[2606:2800:220:1::1]', '169.254.169.254', '2822734096'])
      assert.ok(!isDocumentUrl(`https://${host}/client.json`), host)
    assert.ok(!isPublicAddress('168.63.129.16'))
    assert.ok(isPublicAddress('168.63.129.17'))
  })
})

describe('the consent form', () => {
  it('gives one code: sent again, it gives none', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const browser = new Browser(server)
    const query = {
      response_type: 'code',
      client_id: client,
      redirect_uri: callback,
      code_challenge: pkcePair().challenge,
      code_challenge_method: 'S256',
    }
    let page = await browser.open(authorizeUrl(server, query))
    page = await browser.submit(page, { username: 'sales@example.com', password })
    const first = await browser.submit(page, { decision: 'approve' })
    assert.match(first.location ?? '', /[?&]code=/)
    const second = await browser.submit(page, { decision: 'approve' })
    assert.equal(second.status, 403)
    assert.match(second.body, /already sent/)
    assert.equal((await server.auditEvents('grant.approve')).length, 1)
  })

  it('marks a name that mixes alphabets', async (t) => {
    const server = await startServer(t)
    const shown = async (name: string): Promise<boolean> => {
      const { client_id: client } = await register(server, { client_name: name })
      const browser = new Browser(server)
      const query = { response_type: 'code', client_id: client, redirect_uri: callback }
      const pkce = { code_challenge: pkcePair().challenge, code_challenge_method: 'S256' }
      const page = await browser.open(authorizeUrl(server, { ...query, ...pkce }))
      return (await browser.submit(page, { username: 'sales@example.com', password })).body.includes(
        'Look twice',
      )
    }
    assert.equal(await shown('Cl\u0430ude'), true, 'a Cyrillic а among Latin letters')
    assert.equal(await shown('Claude'), false)
    assert.equal(await shown('Клод by Acme'), false)
  })
})

describe('the jti of a client assertion', () => {
  for (const jti of [{}, 7, '']) {
    it(`is refused when it is ${JSON.stringify(jti)}`, async (t) => {
      const server = await startServer(t)
      const { privateKey, publicKey } = await generateKeyPair('ES256')
      const { client } = await server.clients.register(
        {
          name: 'signer',
          redirectUris: [callback],
          authMethod: 'private_key_jwt',
          metadata: { jwks: { keys: [await exportJWK(publicKey)] } },
        },
        'operator',
        async () => {},
      )
      const now = Math.floor(server.clock.now() / 1000)
      const sign = (id: unknown): Promise<string> =>
        new SignJWT({
          iss: client.id,
          sub: client.id,
          aud: server.url,
          iat: now,
          exp: now + 60,
          jti: id as string,
        })
          .setProtectedHeader({ alg: 'ES256' })
          .sign(privateKey)
      assert.match((await server.assertions.faultOf(client, await sign(jti))) ?? '', /jti/)
      assert.equal(await server.assertions.faultOf(client, await sign('one')), undefined)
    })
  }
})

describe('the address of the keys of a client', () => {
  it('is asked once, whoever sends how many assertions, and not again at once where it has none', async (t) => {
    const asked: string[] = []
    const server = await startServer(t)
    const keys = await generateKeyPair('ES256')
    const jwk = await exportJWK(keys.publicKey)
    let answer = (): Promise<{ body: unknown }> => Promise.reject(new Error('it answered 404'))
    const fetch = (url: string) => (asked.push(url), answer())
    const assertions = new Assertions({ ...server, publicUrl: () => server.url, fetch, log: silent })
    const uri = 'https://victim.example/keys'
    const client: Client = {
      ...commandLineClient,
      id: 'signer',
      authMethod: 'private_key_jwt',
      metadata: { jwks_uri: uri },
    }
    const tried = async (jti: string): Promise<string | undefined> => {
      const exp = Math.floor(server.clock.now() / 1000) + 60
      const claims = { iss: 'signer', sub: 'signer', aud: server.url, exp, jti }
      const assertion = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(keys.privateKey)
      return assertions.faultOf(client, assertion)
    }
    const many = (name: string) => Promise.all(Array.from({ length: 20 }, (_, n) => tried(`${name}${n}`)))
    assert.deepEqual(new Set(await many('a')), new Set(["the client's keys cannot be had"]))
    await many('b')
    assert.deepEqual(asked, [uri])
    server.clock.pass(10)
    answer = () => Promise.resolve({ body: { keys: [jwk] } })
    assert.deepEqual(new Set(await many('c')), new Set([undefined]))
    assert.deepEqual(asked, [uri, uri])
  })
})

describe('a password', () => {
  it('has at least twelve characters and is none of those that everybody tries', async (t) => {
    const server = await startServer(t)
    for (const [text, why] of [
      ['elevenchars', /at least 12 characters/],
      ['playstation1'.slice(0, 11) + 'x', undefined],
      ['Qwerty123456', /tried first/],
      ['1qaz2wsx3edc4rfv', /tried first/],
      ['CounterStrike', /tried first/],
      ['ghbdtnrfrltkf', /tried first/],
      ['password1234'.slice(0, 8) + '    ', undefined],
      ['123456789123', /tried first/],
    ] as const) {
      const setting = server.passwords.set('sales@example.com', text)
      if (why) await assert.rejects(setting, why)
      else await setting
    }
  })
})

describe('registration', () => {
  it('takes application/json only: any other type a browser sends for any page without asking', async (t) => {
    const server = await startServer(t)
    const body = JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' })
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const reply = await fetch(server.url + paths.register, {
        method: 'POST',
        headers: { 'Content-Type': type },
        body,
      })
      assert.equal(reply.status, 415, type)
      assert.match(await reply.text(), /application\/json/)
    }
    assert.deepEqual(await server.clients.list(), [])
    const { tokens, client } = await connect(server)
    assert.equal((await refresh(server, client, tokens.refresh_token)).status, 200)
  })
})
