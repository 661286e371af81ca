/** Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document), as the MCP revisions from 2025-11-25 on prefer them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDocumentUrl } from '../../src/oauth/clients/client-documents.ts'
import { HostUnreachable, type GuardedFetch } from '#outside/guarded-fetch.ts'
import { knownDocuments } from '../../src/oauth/clients/known-documents.ts'
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

  describe('where documents cannot be fetched', () => {
    const claudeCode = 'https://claude.ai/oauth/claude-code-client-metadata'
    const codex = 'https://chatgpt.com/oauth/codex/4-bzS8rt42zJ/client.json'
    const noWayOut: GuardedFetch = (asked) =>
      Promise.reject(new HostUnreachable(`getaddrinfo ENOTFOUND ${new URL(asked).hostname}`))
    const always = { oauth: { client_id_metadata_documents: true } } as const

    it('known clients sign in by copies of their documents, and oauth trace says so', async (t) => {
      const server = await startServer(t, { fetch: noWayOut, settings: always })
      for (const [client, redirect] of [
        [claudeCode, 'http://localhost:51234/callback'],
        [codex, 'http://127.0.0.1:40000/callback/4-bzS8rt42zJ'],
      ] as const) {
        const flow = await authorize(server, { client, redirectUri: redirect })
        const reply = await redeem(server, { ...flow, client })
        assert.equal(reply.status, 200, JSON.stringify(reply.body))
        assert.equal((await callMcp(server, `Bearer ${reply.body.access_token}`)).status, 200)
        assert.equal((await refresh(server, client, reply.body.refresh_token)).status, 200)
      }
      assert.match(
        server.trace.last(1)[0]?.client_document ?? '',
        /^not fetched \(getaddrinfo ENOTFOUND chatgpt\.com\); instead: the copy of \d{4}-\d\d-\d\d that came/,
      )
    })

    it('a copy allows no more than the document did', async (t) => {
      const server = await startServer(t, { fetch: noWayOut, settings: always })
      for (const [client, redirect] of [
        [claudeCode, 'http://localhost:51234/other'],
        [claudeCode, 'https://evil.example/callback'],
        [codex, 'http://127.0.0.1:40000/callback/another'],
        ['https://chatgpt.com/oauth/codex/a/b/client.json', 'http://127.0.0.1:1/callback/a/b'],
        [`${claudeCode}?x`, 'http://localhost:1/callback'],
      ] as const) {
        const { page } = await authorize(server, { client, redirectUri: redirect })
        assert.equal(page.status, 400, client)
      }
      assert.deepEqual(await server.clients.list(), [])
    })

    it('every copy is a document that this server accepts', async (t) => {
      const server = await startServer(t, { fetch: noWayOut, settings: always })
      for (const { client_id: form, client_name: name, redirect_uris: uris } of knownDocuments) {
        const client = await server.clients.find(form.replace('{id}', 'a-1'))
        assert.equal(client?.name, name, form)
        assert.equal(client.redirectUris.length, uris.length, form)
      }
    })

    it('the site describes more clients, and its word goes before ours', async (t) => {
      const own = 'https://apps.example.com/reporter.json'
      const server = await startServer(t, {
        fetch: noWayOut,
        settings: {
          oauth: {
            client_documents: [
              { client_id: own, client_name: 'Reporter', redirect_uris: ['http://localhost/cb'] },
              { client_id: claudeCode, client_name: 'Ours', redirect_uris: ['http://localhost/ours'] },
            ],
          },
        },
      })
      assert.equal((await server.clients.find(own))?.name, 'Reporter')
      assert.deepEqual((await server.clients.find(claudeCode))?.redirectUris, ['http://localhost/ours'])
    })

    it('a stranger is told what an administrator can do, and the same whatever failed; oauth trace says what', async (t) => {
      const told = new Set<string>()
      const reasons: string[] = []
      const outcomes: GuardedFetch[] = [
        noWayOut,
        () => Promise.reject(new Error('it answered 302')),
        () => Promise.reject(new Error('it is not JSON')),
        () => Promise.reject(new HostUnreachable('it took too long')),
        () => Promise.resolve({ body: { ...good, client_id: 'https://evil.example/x' } }),
        () => Promise.resolve({ body: { ...good, redirect_uris: [] } }),
      ]
      for (const fetch of outcomes) {
        const server = await startServer(t, { fetch, settings: always })
        const { page } = await authorize(server, { client: url, redirectUri })
        assert.equal(page.status, 400)
        assert.match(page.body, /oauth trace.*oauth\.egress_proxy.*oauth\.client_documents/s)
        told.add(page.body.replace(/<code>[^<]*<\/code>/, ''))
        reasons.push(server.trace.last(1)[0]?.reason ?? '')
      }
      assert.equal(told.size, 1, [...told].join('\n'))
      for (const [at, why] of [
        /ENOTFOUND/,
        /302/,
        /not JSON/,
        /too long/,
        /not its URL/,
        /redirect_uri/,
      ].entries())
        assert.match(reasons[at]!, why)
    })

    it('a document that was fetched and is wrong has no copy; one that was approved goes before a copy', async (t) => {
      const { fetch, documents } = site({ [claudeCode]: { ...good, client_id: url } })
      const server = await startServer(t, { fetch, settings: always })
      assert.equal(await server.clients.find(claudeCode), undefined, 'it says that it is another')
      delete documents[claudeCode]
      server.clock.pass(61)
      const redirect = 'http://localhost:1/callback'
      const byCopy = await authorize(server, { client: claudeCode, redirectUri: redirect })
      assert.equal((await redeem(server, { ...byCopy, client: claudeCode })).status, 200)
      documents[claudeCode] = { ...good, client_id: claudeCode, redirect_uris: ['http://localhost/new'] }
      server.clock.pass(61)
      await authorize(server, { client: claudeCode, redirectUri: 'http://localhost:1/new' })
      delete documents[claudeCode]
      server.clock.pass(86_400)
      assert.deepEqual((await server.clients.find(claudeCode))?.redirectUris, ['http://localhost/new'])
    })

    it('are advertised only while one can be fetched, unless the settings know better', async (t) => {
      let reachable = false
      const fetch: GuardedFetch = (asked) => (reachable ? Promise.resolve({ body: {} }) : noWayOut(asked))
      const server = await startServer(t, { fetch })
      const advertised = async (): Promise<unknown> => {
        const response = await globalThis.fetch(`${server.url}/.well-known/oauth-authorization-server`)
        const body = (await response.json()) as Record<string, unknown>
        return body['client_id_metadata_document_supported']
      }
      assert.equal(await advertised(), false, 'before the first probe')
      await server.clientDocuments.probe()
      assert.equal(await advertised(), false)
      assert.match(
        server.clientDocuments.probed?.failed.join(' ') ?? '',
        /ENOTFOUND claude\.ai.*chatgpt\.com/,
      )
      reachable = true
      await server.clientDocuments.probe()
      assert.equal(await advertised(), true)
      reachable = false
      await server.clientDocuments.probe()
      assert.equal(await advertised(), false)
      server.change(always)
      assert.equal(await advertised(), true)
      server.change({ oauth: { client_id_metadata_documents: false } })
      assert.equal(await advertised(), false)
    })
  })
})
