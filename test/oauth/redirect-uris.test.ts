import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import {
  isLoopback,
  matchesRedirectUri,
  redirectHost,
  redirectUriFault,
  withParams,
  type RedirectRules,
} from '../../src/oauth/clients/redirect-uris.ts'
import { paths } from '../../src/oauth/urls.ts'
import { Browser, postJson, pkcePair, authorizeUrl } from './browser.ts'
import { honestRedirects, hostileRedirects } from './hostile-redirects.ts'
import { password, startServer } from './server.ts'

const rules: RedirectRules = { developerMode: false, nativeSchemes: ['cursor', 'vscode'] }

describe('redirect URIs', () => {
  it('has a table of at least 60 hostile ones', () => {
    assert.ok(new Set(hostileRedirects).size >= 60)
  })

  it('refuses every hostile one and takes every honest one', () => {
    for (const uri of hostileRedirects)
      assert.notEqual(redirectUriFault(uri, rules), undefined, JSON.stringify(uri))
    for (const uri of honestRedirects) assert.equal(redirectUriFault(uri, rules), undefined, uri)
  })

  it('refuses dangerous schemes even when the settings name them', () => {
    for (const scheme of ['javascript', 'data', 'file', 'vbscript', 'blob', 'about', 'view-source']) {
      const careless = { developerMode: true, nativeSchemes: [scheme, `${scheme}:`, `${scheme}://`] }
      assert.match(redirectUriFault(`${scheme}://x/y`, careless) ?? '', /never allowed/, scheme)
    }
  })

  it('refuses hostile ones at registration', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { enabled: false } } })
    for (const uri of hostileRedirects) {
      const reply = await postJson(server, { redirect_uris: [uri], token_endpoint_auth_method: 'none' })
      assert.equal(reply.status, 400, JSON.stringify(uri))
      assert.equal(((await reply.json()) as { error: string }).error, 'invalid_redirect_uri')
    }
    assert.equal((await server.clients.list()).length, 0)
  })

  it('shows a fault and redirects nowhere at authorization, even when such a client got in', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { enabled: false } } })
    const description = {
      name: 'Hostile',
      redirectUris: hostileRedirects.filter((uri) => !uri.startsWith('http://evil.example/')),
      authMethod: 'none',
      grantTypes: ['authorization_code'],
      responseTypes: ['code'],
      metadata: {},
    } as const
    const { client } = await server.clients.register(description, 'operator', async () => {})
    const { challenge } = pkcePair()
    const browser = new Browser(server)
    for (const uri of hostileRedirects) {
      const asked = {
        response_type: 'code',
        client_id: client.id,
        redirect_uri: uri,
        code_challenge: challenge,
      }
      const page = await browser.open(
        authorizeUrl(server, { ...asked, code_challenge_method: 'S256', state: 's' }),
      )
      // Other machines' http URIs are what developer mode allows; they were not registered by a rule we test here.
      if (/^http:\/\/(localhost\.|127\.0\.0\.1\.|0\.0\.0\.0|192\.|169\.|\[::|LOCALHOST\.)/.test(uri)) continue
      if (/^(unknown-app|com\.evil\.app):/.test(uri)) continue
      assert.equal(page.status, 400, JSON.stringify(uri))
      assert.equal(page.location, undefined, JSON.stringify(uri))
      assert.doesNotMatch(page.body, /<script>alert|href="(javascript|data)/i)
    }
  })

  it('shows the consent page of a client with a hostile name without any markup of its', async (t) => {
    const server = await startServer(t)
    const name = '\u202e<img src=x onerror=alert(1)>"\'&\u200b{{ 7*7 }}\u0000'
    const reply = await postJson(server, {
      client_name: name,
      redirect_uris: ['https://app.example/cb?"'.slice(0, -1)],
      token_endpoint_auth_method: 'none',
    })
    const { client_id, client_name } = (await reply.json()) as { client_id: string; client_name: string }
    assert.doesNotMatch(client_name, /[\u202e\u200b\u0000]/)
    const browser = new Browser(server)
    const params = {
      response_type: 'code',
      client_id,
      redirect_uri: 'https://app.example/cb?',
      code_challenge: pkcePair().challenge,
      code_challenge_method: 'S256',
      state: '"><script>alert(1)</script>',
    }
    const form = await browser.open(authorizeUrl(server, params))
    const page = await browser.submit(form, { username: 'sales@example.com', password })
    assert.match(page.body, /name="decision"/)
    assert.match(page.body, /&lt;img src=x onerror=alert\(1\)&gt;/)
    assert.match(page.body, /\{\{ 7\*7 \}\}/)
    assert.match(page.body, /<code><strong>app\.example<\/strong><\/code>/)
    assert.match(page.body, /Unverified/)
    assert.doesNotMatch(page.body + form.body, /<script|<img|onerror=alert\(1\)>|javascript:/i)
    assert.equal(page.url.startsWith(server.url + paths.authorize), true)
  })

  it('ignores only the port, and only of loopback addresses (RFC 8252 §7.3)', () => {
    const cases: [string, string, boolean][] = [
      ['http://localhost/callback', 'http://localhost:51234/callback', true],
      ['http://localhost:1/callback', 'http://localhost:2/callback', true],
      ['http://127.0.0.1/', 'http://127.0.0.1:33418/', true],
      ['http://127.0.0.1/', 'http://127.0.0.1:33418', true],
      ['http://[::1]/cb', 'http://[::1]:5/cb', true],
      ['http://localhost/cb?a=1', 'http://localhost:7/cb?a=1', true],
      ['http://localhost/callback', 'http://127.0.0.1:51234/callback', false],
      ['http://localhost/callback', 'http://localhost:51234/other', false],
      ['http://localhost/callback', 'http://localhost:51234/callback/', false],
      ['http://localhost/callback', 'http://localhost:51234/callback?x=1', false],
      ['http://localhost/callback', 'https://localhost:51234/callback', false],
      ['http://localhost/callback', 'http://localhost:0/callback', false],
      ['http://localhost/callback', 'http://localhost:70000/callback', false],
      ['http://localhost/callback', 'http://localhost:1@evil.example/callback', false],
      ['http://localhost/callback', 'http://localhost.evil.example/callback', false],
      ['https://app.example/cb', 'https://app.example:8443/cb', false],
      ['https://app.example/cb', 'https://APP.example/cb', false],
      ['https://app.example/cb', 'https://app.example/cb/', false],
      ['cursor://host/cb', 'cursor://host:1/cb', false],
    ]
    for (const [own, asked, expected] of cases)
      assert.equal(matchesRedirectUri([own], asked), expected, asked)
  })

  it('matches nothing but the text itself, whatever is put together (property)', () => {
    const web = fc.webUrl({ withQueryParameters: true, withFragments: true })
    fc.assert(
      fc.property(fc.array(web, { maxLength: 5 }), web, (own, asked) => {
        assert.equal(matchesRedirectUri(own, asked), own.includes(asked))
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (junk) => {
        assert.equal(matchesRedirectUri(['http://localhost/cb'], `http://localhost${junk}/cb`), isPort(junk))
      }),
      { numRuns: 500 },
    )
    function isPort(text: string): boolean {
      return (
        text === '' ||
        (/^:\d{1,5}$/.test(text) && Number(text.slice(1)) > 0 && Number(text.slice(1)) < 65_536)
      )
    }
  })

  it('never takes what a browser would read as another host (property)', () => {
    const mess = fc.array(
      fc.constantFrom(...'abc.:/\\@#?%*[]0127xX-_ \t'.split(''), 'localhost', '127.0.0.1', '.example'),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(mess, (parts) => {
        const uri = `http://${parts.join('')}`
        if (redirectUriFault(uri, rules) !== undefined) return
        assert.match(new URL(uri).hostname, /^(localhost|127\.0\.0\.1|\[::1\])$/)
        assert.ok(isLoopback(uri))
      }),
      { numRuns: 3000 },
    )
    fc.assert(
      fc.property(mess, (parts) => {
        const uri = `https://${parts.join('')}`
        if (redirectUriFault(uri, rules) !== undefined) return
        assert.equal(new URL(uri).hostname, /^https:\/\/([^/?:]+|\[[^\]]+\])/i.exec(uri)?.[1]?.toLowerCase())
      }),
      { numRuns: 3000 },
    )
  })

  it('adds parameters that come out again as they went in (property)', () => {
    const value = fc.string({ unit: 'grapheme', maxLength: 30 })
    fc.assert(
      fc.property(value, value, fc.constantFrom(...honestRedirects), (code, state, uri) => {
        const read = new URLSearchParams(withParams(uri, { code, state, none: undefined }).split('?')[1])
        assert.equal(read.get('code'), code)
        assert.equal(read.get('state'), state)
        assert.equal(read.has('none'), false)
      }),
    )
  })

  it('says where a redirect leads in words that cannot mislead', () => {
    assert.equal(redirectHost('https://claude.ai/api/cb'), 'claude.ai')
    assert.equal(redirectHost('https://app.example:8443/cb'), 'app.example:8443')
    assert.equal(redirectHost('http://localhost:51234/cb'), 'localhost')
    assert.equal(redirectHost('http://[::1]:51234/cb'), '[::1]')
    assert.equal(redirectHost('cursor://anysphere.cursor-mcp/cb'), 'cursor:')
  })
})
