/** Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document), as the MCP revisions from 2025-11-25 on prefer them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDocumentUrl } from '../../src/oauth/client-documents.ts'
import type { GuardedFetch } from '../../src/oauth/guarded-fetch.ts'
import { authorize, authorizeUrl, callMcp, pkcePair, redeem, refresh } from '../oauth/browser.ts'
import { startServer } from '../oauth/server.ts'

const url = 'https://claude.example/oauth/claude-code-client-metadata'
const redirectUri = 'http://localhost:1234/callback'
const good = {
  client_id: url,
  client_name: 'Claude Code',
  redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

/** A site of documents that can be changed and counts what is fetched. */
function site(documents: Record<string, unknown>) {
  const fetched: string[] = []
  const fetch: GuardedFetch = async (asked) => {
    fetched.push(asked)
    await new Promise((resolve) => setTimeout(resolve, 5))
    const body = documents[asked]
    if (body === undefined) throw new Error('it answered 404')
    return { body }
  }
  return { fetch, fetched, documents }
}

describe('client ID metadata documents', () => {
  it('§3: the id is an https URL with a path and nothing odd', () => {
    assert.equal(isDocumentUrl(url), true)
    assert.equal(isDocumentUrl('https://chatgpt.com/oauth/abc/client.json'), true)
    const refused = [
      'http://claude.example/x',
      'https://claude.example',
      'https://claude.example/',
      'https://claude.example/x#y',
      'https://user@claude.example/x',
      'https://user:pw@claude.example/x',
      'https://claude.example/a/../x',
      'https://claude.example/./x',
      'https://claude.example/a/%2e%2e/x',
      'https://Claude.example/x',
      'https://claude.example:443/x',
      'https://claude.example\\x',
      `https://claude.example/${'x'.repeat(600)}`,
    ]
    for (const text of refused) assert.equal(isDocumentUrl(text), false, text)
  })

  it('connects a client that nobody registered, on whatever port it listens', async (t) => {
    const { fetch, fetched } = site({ [url]: good })
    const server = await startServer(t, { fetch })
    for (const port of [51_234, 40_000]) {
      const flow = await authorize(server, { client: url, redirectUri: `http://localhost:${port}/callback` })
      const reply = await redeem(server, { ...flow, client: url })
      assert.equal(reply.status, 200, JSON.stringify(reply.body))
      assert.equal((await callMcp(server, `Bearer ${reply.body.access_token}`)).status, 200)
      assert.equal((await refresh(server, url, reply.body.refresh_token)).status, 200)
    }
    assert.equal(fetched.length, 1, 'cached')
    for (const wrong of [
      'http://localhost:51234/other',
      'http://127.0.0.2:51234/callback',
      'https://evil.example/',
    ]) {
      assert.equal((await authorize(server, { client: url, redirectUri: wrong })).page.status, 400, wrong)
    }
  })

  it('shows whose document it is', async (t) => {
    const { fetch } = site({ [url]: good })
    const server = await startServer(t, { fetch })
    const { browser } = await authorize(server, { client: url, redirectUri, decision: 'deny' })
    const page = await browser.open(
      authorizeUrl(server, {
        response_type: 'code',
        client_id: url,
        redirect_uri: redirectUri,
        code_challenge: pkcePair().challenge,
        code_challenge_method: 'S256',
      }),
    )
    assert.match(page.body, /<dt>Described by<\/dt><dd><code>claude\.example<\/code>/)
    assert.doesNotMatch(page.body, /Unverified/)
    assert.match(page.body, /a program on this device/)
  })

  it('asks once for many at the same time, and not again soon when there is none', async (t) => {
    const { fetch, fetched, documents } = site({})
    const server = await startServer(t, { fetch })
    const found = await Promise.all(Array.from({ length: 20 }, () => server.clients.find(url)))
    assert.equal(
      found.every((client) => client === undefined),
      true,
    )
    assert.equal(fetched.length, 1)
    documents[url] = good
    assert.equal(await server.clients.find(url), undefined, 'remembered as missing')
    server.clock.pass(61)
    assert.equal((await server.clients.find(url))?.name, 'Claude Code')
    assert.equal(fetched.length, 2)
  })

  it('takes only documents that are right', async (t) => {
    const cases: Record<string, unknown>[] = [
      { ...good, client_id: 'https://evil.example/x' },
      { ...good, client_id: undefined },
      { ...good, client_id: [url] },
      { ...good, client_secret: 'x' },
      { ...good, token_endpoint_auth_method: 'client_secret_basic' },
      { ...good, token_endpoint_auth_method: 'private_key_jwt' },
      { ...good, redirect_uris: [] },
      { ...good, redirect_uris: ['http://evil.example/cb'] },
      { ...good, redirect_uris: ['javascript:alert(1)'] },
      { ...good, response_types: ['token'] },
    ]
    const { fetch, documents } = site({})
    const server = await startServer(t, { fetch })
    for (const body of [...cases, null, [], 'text'] as unknown[]) {
      documents[url] = body
      server.clock.pass(3 * 86_400)
      assert.equal(await server.clients.find(url), undefined, JSON.stringify(body))
    }
    documents[url] = good
    server.clock.pass(3 * 86_400)
    assert.ok(await server.clients.find(url))
    assert.match(server.logged.join(''), /client document refused/)
  })

  it('leaves out what is written for other servers', async (t) => {
    const body = {
      ...good,
      redirect_uris: ['other-app://cb/x', 'javascript:alert(1)', 'https://claude.example/cb'],
      logo_uri: 'data:,',
    }
    const { fetch } = site({ [url]: body })
    const server = await startServer(t, { fetch })
    assert.deepEqual((await server.clients.find(url))?.redirectUris, ['https://claude.example/cb'])
    for (const uri of ['other-app://cb/x', 'javascript:alert(1)']) {
      assert.equal((await authorize(server, { client: url, redirectUri: uri })).page.status, 400)
    }
  })

  it('follows changes of the document, and survives its absence once a user approved it', async (t) => {
    const { fetch, documents } = site({ [url]: good })
    const server = await startServer(t, { fetch })
    const flow = await authorize(server, { client: url, redirectUri: 'http://localhost:1/callback' })
    const { body } = await redeem(server, { ...flow, client: url })
    documents[url] = { ...good, client_name: 'Renamed', redirect_uris: ['http://localhost/new'] }
    server.clock.pass(3601)
    assert.equal((await server.clients.find(url))?.name, 'Renamed')
    assert.equal(
      (await authorize(server, { client: url, redirectUri: 'http://localhost:1/callback' })).page.status,
      400,
    )
    delete documents[url]
    server.clock.pass(86_400)
    assert.equal((await refresh(server, url, body.refresh_token)).status, 200)
  })

  it('can be switched off', async (t) => {
    const { fetch, fetched } = site({ [url]: good })
    const server = await startServer(t, {
      fetch,
      settings: { oauth: { client_id_metadata_documents: false } },
    })
    assert.equal(await server.clients.find(url), undefined)
    assert.equal(fetched.length, 0)
  })
})
