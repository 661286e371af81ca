/** RFC 9207, the issuer in authorization responses. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { authorize, register } from '../oauth/browser.ts'
import { startServer } from '../oauth/server.ts'

describe('RFC 9207', () => {
  it('§2 sends the issuer with every answer, as the metadata has it', async (t) => {
    const server = await startServer(t)
    const metadata = (await (await fetch(server.url + paths.authorizationServer)).json()) as Record<
      string,
      unknown
    >
    assert.equal(metadata['authorization_response_iss_parameter_supported'], true)
    assert.equal(metadata['issuer'], server.url)
    const { client_id: client } = await register(server)
    const approved = await authorize(server, { client })
    const denied = await authorize(server, { client, decision: 'deny' })
    const failed = await authorize(server, { client, params: { response_type: 'token' } })
    assert.deepEqual(
      [approved, denied, failed].map(({ answer }) => [answer.get('error'), answer.get('iss')]),
      [
        [null, server.url],
        ['access_denied', server.url],
        ['unsupported_response_type', server.url],
      ],
    )
  })
})
