import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { authorize, Browser, redeem, register } from './browser.ts'
import { startServer } from './server.ts'

describe('oauth trace', () => {
  it('tells how far each attempt came and why it died, without a secret', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const good = await authorize(server, { client })
    await redeem(server, { ...good, client })
    await authorize(server, { client, decision: 'deny', params: { state: '2' } })
    await authorize(server, { client, redirectUri: 'https://evil.example/', params: { state: '3' } })
    const bad = await authorize(server, { client, params: { state: '4' } })
    await redeem(server, { ...bad, client }, { code_verifier: 'x'.repeat(43) })
    await new Browser(server).open(paths.authorize)
    const attempts = server.trace.last(10)
    assert.deepEqual(
      attempts.map(({ steps, died_at, reason, user }) => [steps, died_at, reason, user]),
      [
        [[], 'client and redirect_uri', 'client_id is required', undefined],
        [
          [
            'request accepted',
            'sign-in page',
            'request accepted',
            'consent page',
            'request accepted',
            'code sent',
          ],
          'token request',
          'code_verifier does not match the code_challenge',
          'sales@example.com',
        ],
        [[], 'client and redirect_uri', 'redirect_uri is not one that the app has registered', undefined],
        [
          ['request accepted', 'sign-in page', 'request accepted', 'consent page', 'request accepted'],
          'authorization',
          'access_denied: the user denied the request',
          'sales@example.com',
        ],
        [
          [
            'request accepted',
            'sign-in page',
            'request accepted',
            'consent page',
            'request accepted',
            'code sent',
            'tokens issued',
          ],
          undefined,
          undefined,
          'sales@example.com',
        ],
      ],
    )
    assert.doesNotMatch(JSON.stringify(attempts), /ac_cd_|ac_at_|a state/)
    assert.equal(attempts[1]?.client_name, 'Test App')
    assert.equal(attempts[1]?.redirect_host, '127.0.0.1')
  })

  it('keeps the last 200', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { enabled: false } } })
    const browser = new Browser(server)
    for (let n = 0; n < 210; n++) await browser.open(`${paths.authorize}?client_id=${n}`)
    const attempts = server.trace.last(1000)
    assert.equal(attempts.length, 200)
    assert.equal(attempts[0]?.client, '209')
    assert.equal(server.trace.last(3).length, 3)
  })
})
