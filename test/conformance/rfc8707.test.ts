/** RFC 8707, resource indicators: tolerant in spelling, strict in meaning. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { meansResource, paths, resourceOf } from '../../src/oauth/urls.ts'
import { authorize, callMcp, redeem, refresh, register } from '../oauth/browser.ts'
import { startServer } from '../oauth/server.ts'

const own = 'https://host.example/api/method/assistant_core.api.mcp_endpoint.handle_mcp'

describe('RFC 8707', () => {
  it('§2 takes the spellings that clients use for our resource', () => {
    const same = [
      own,
      `${own}/`,
      own.replace('https://host.example', 'HTTPS://HOST.Example'),
      own.replace('host.example', 'host.example:443'),
      'https://host.example',
      'https://host.example/',
      `${own}?tools=get_*&read_only=true`,
      `${own}/?exclude_tools=fetch`,
    ]
    for (const value of same) assert.equal(meansResource(value, own), true, value)
  })

  it('§2 refuses everything else', () => {
    const other = [
      'https://evil.example/',
      'http://host.example/',
      'https://host.example:8443/',
      'https://host.example/other',
      `${own}/deeper`,
      `${own}?x=1`,
      `${own}?tools=fetch&x=1`,
      'https://host.example/?tools=fetch',
      `${own}#fragment`,
      `${own}//`,
      own.toUpperCase(),
      'https://user@host.example/',
      'https://host.example@evil.example/',
      'https://host.example.evil.example/',
      'host.example',
      'urn:x',
      'nonsense',
    ]
    for (const value of other) assert.equal(meansResource(value, own), false, value)
    fc.assert(fc.property(fc.webUrl(), (url) => assert.equal(meansResource(url, own), false)))
  })

  it('§2.1 binds the token to the MCP endpoint, named or not, and sends invalid_target back otherwise', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    for (const resource of [undefined, resourceOf(server.url), `${server.url}/`, server.url.toUpperCase()]) {
      const flow = await authorize(server, { client, params: resource === undefined ? {} : { resource } })
      const reply = await redeem(server, { ...flow, client }, resource === undefined ? {} : { resource })
      assert.equal(reply.status, 200, resource)
      assert.equal((await callMcp(server, `Bearer ${reply.body.access_token}`)).status, 200)
      assert.equal((await server.tokens.list())[0]?.resource, server.url + paths.mcp)
    }
    const foreign = await authorize(server, { client, params: { resource: 'https://evil.example/mcp' } })
    assert.equal(foreign.answer.get('error'), 'invalid_target')
    assert.equal(foreign.answer.get('state'), 'a state')
  })

  it('§2.2 refuses another resource at the token endpoint', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const flow = await authorize(server, { client })
    const wrong = await redeem(server, { ...flow, client }, { resource: 'https://evil.example/' })
    assert.equal(wrong.status, 400)
    const good = await authorize(server, { client })
    const { body } = await redeem(server, { ...good, client })
    const refreshed = await refresh(server, client, body.refresh_token, { resource: 'https://evil.example/' })
    assert.equal(refreshed.body.error, 'invalid_target')
    assert.equal(
      (await refresh(server, client, body.refresh_token)).status,
      200,
      'the refusal changed nothing',
    )
  })
})
