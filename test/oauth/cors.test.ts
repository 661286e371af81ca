import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import { startServer } from './server.ts'

const origin = 'https://inspector.example'
const restricted = [paths.register, paths.pushed, paths.token, paths.revoke, paths.userinfo, paths.mcp]
const preflight = {
  method: 'OPTIONS',
  headers: {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'authorization, mcp-param-region, x-evil',
  },
}

describe('calls from browser pages of other origins', () => {
  it('may read discovery from anywhere', async (t) => {
    const server = await startServer(t)
    const open = [
      paths.openidConfiguration,
      paths.authorizationServer,
      paths.protectedResource,
      paths.jwks,
      '/.well-known/x',
    ]
    for (const path of open) {
      const reply = await fetch(server.url + path, { headers: { Origin: origin } })
      assert.equal(reply.headers.get('access-control-allow-origin'), '*', path)
      const asked = await fetch(server.url + path, preflight)
      assert.equal(asked.status, 204)
      assert.equal(asked.headers.get('access-control-allow-origin'), '*')
    }
  })

  it('may not do anything else while the setting is empty', async (t) => {
    const server = await startServer(t)
    for (const path of restricted) {
      const asked = await fetch(server.url + path, preflight)
      assert.equal(asked.headers.get('access-control-allow-origin'), null, path)
      const reply = await fetch(server.url + path, { method: 'POST', headers: { Origin: origin } })
      assert.equal(reply.headers.get('access-control-allow-origin'), null)
      assert.match(reply.headers.get('vary') ?? '', /origin/i)
    }
  })

  it('are told of once, with the line that would allow them, and in oauth trace', async (t) => {
    const server = await startServer(t)
    for (const path of [paths.register, paths.mcp, paths.mcp]) await fetch(server.url + path, preflight)
    await fetch(server.url + paths.mcp, { method: 'POST', headers: { Origin: server.url } })
    const told = server.logged.filter((line) => line.includes('a web page of another origin'))
    assert.equal(told.length, 1)
    assert.match(told[0]!, /allowed_public_client_origins: \[\\"https:\/\/inspector\.example\\"\]/)
    const traced = server.trace.last(10)
    assert.deepEqual(
      traced.map(({ client, died_at }) => [client, died_at]),
      [[origin, 'web page']],
    )
    assert.match(traced[0]?.reason ?? '', /allowed_public_client_origins/)
    for (let n = 0; n < 100; n++)
      await fetch(server.url + paths.mcp, {
        ...preflight,
        headers: { ...preflight.headers, Origin: `https://x${n}.example` },
      })
    assert.equal(server.trace.last(200).length, 50, 'strangers crowd out nothing else')
  })

  it('may when their origin is listed, and only then', async (t) => {
    const listed = `https://other.example\n${origin}/\n`
    const server = await startServer(t, { settings: { oauth: { allowed_public_client_origins: listed } } })
    for (const path of restricted) {
      const asked = await fetch(server.url + path, preflight)
      assert.equal(asked.status, 204)
      assert.equal(asked.headers.get('access-control-allow-origin'), origin)
      assert.match(asked.headers.get('access-control-allow-methods') ?? '', /POST/)
      const headers = asked.headers.get('access-control-allow-headers') ?? ''
      for (const name of [
        'authorization',
        'content-type',
        'mcp-session-id',
        'mcp-protocol-version',
        'mcp-param-region',
      ]) {
        assert.match(headers, new RegExp(name))
      }
      assert.doesNotMatch(headers, /x-evil/)
      assert.equal(asked.headers.get('access-control-allow-credentials'), null)
    }
    for (const foreign of [
      'https://evil.example',
      'null',
      `${origin}.evil.example`,
      'http://inspector.example',
    ]) {
      const reply = await fetch(server.url + paths.token, { method: 'POST', headers: { Origin: foreign } })
      assert.equal(reply.headers.get('access-control-allow-origin'), null, foreign)
    }
  })

  it('reads the challenge of a 401 and the session id', async (t) => {
    const server = await startServer(t, { settings: { oauth: { allowed_public_client_origins: ['*'] } } })
    const reply = await fetch(server.url + paths.mcp, { method: 'POST', headers: { Origin: origin } })
    assert.equal(reply.status, 401)
    assert.equal(reply.headers.get('access-control-allow-origin'), '*')
    const exposed = reply.headers.get('access-control-expose-headers') ?? ''
    for (const name of ['WWW-Authenticate', 'Mcp-Session-Id', 'MCP-Protocol-Version'])
      assert.match(exposed, new RegExp(name))
    const asked = await fetch(server.url + paths.mcp, preflight)
    assert.equal(asked.status, 204, 'before authentication')
  })

  it('never reach the pages', async (t) => {
    const server = await startServer(t, { settings: { oauth: { allowed_public_client_origins: ['*'] } } })
    for (const path of [paths.authorize, pages.signIn.path, pages.connectedApps.path, paths.introspect]) {
      const reply = await fetch(server.url + path, { headers: { Origin: origin }, redirect: 'manual' })
      assert.equal(reply.headers.get('access-control-allow-origin'), null, path)
    }
  })
})
