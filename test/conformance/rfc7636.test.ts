/** RFC 7636, PKCE. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { isChallenge, isVerifier, verifierMatches } from '../../src/oauth/tokens/pkce.ts'
import { authorize, authorizeUrl, Browser, callback, pkcePair, redeem, register } from '../oauth/browser.ts'
import { startServer } from '../oauth/server.ts'

describe('RFC 7636', () => {
  it('§4.1 takes verifiers of 43 to 128 unreserved characters', () => {
    const characters = 'ABCXYZabcxyz0189-._~'
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...characters.split('')), { minLength: 0, maxLength: 200 }),
        (letters) => {
          assert.equal(isVerifier(letters.join('')), letters.length >= 43 && letters.length <= 128)
        },
      ),
    )
    for (const bad of [' ', '+', '/', '=', 'ä', '\n', '%'])
      assert.equal(isVerifier('a'.repeat(50) + bad), false)
  })

  it('§4.6 and Appendix B: the example of the RFC matches, and nothing else does', () => {
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    assert.equal(verifierMatches('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk', challenge), true)
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9._~-]{43,128}$/), (verifier) => {
        assert.equal(verifierMatches(verifier, challenge), false)
        assert.equal(verifierMatches(challenge, challenge), false)
      }),
    )
    assert.equal(isChallenge(challenge), true)
  })

  it('§4.1 says how long a verifier must be to one that is not', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    for (const length of [42, 129]) {
      const flow = await authorize(server, { client })
      const { status, body } = await redeem(
        server,
        { ...flow, client },
        { code_verifier: 'v'.repeat(length) },
      )
      assert.equal(status, 400)
      assert.match(
        body.error_description ?? '',
        new RegExp(`must have 43 to 128 letters.*has ${length} characters`),
      )
    }
  })

  it('§4.3 refuses plain, an absent method and a challenge that cannot be one', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const { challenge } = pkcePair()
    const cases: Record<string, string | undefined>[] = [
      { code_challenge: challenge, code_challenge_method: 'plain' },
      { code_challenge: challenge },
      { code_challenge: challenge, code_challenge_method: 's256' },
      { code_challenge: `${challenge}=`, code_challenge_method: 'S256' },
      { code_challenge: 'short', code_challenge_method: 'S256' },
      { code_challenge_method: 'S256' },
      {},
    ]
    for (const pkce of cases) {
      const url = authorizeUrl(server, {
        response_type: 'code',
        client_id: client,
        redirect_uri: callback,
        state: 's',
        ...pkce,
      })
      const page = await new Browser(server).open(url)
      const answer = new URLSearchParams(page.location?.split('?')[1])
      assert.equal(answer.get('error'), 'invalid_request', JSON.stringify(pkce))
      assert.equal(answer.get('state'), 's')
    }
  })

  it('§4.4.1 requires a challenge of confidential clients too, unless the setting says otherwise', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server, { token_endpoint_auth_method: 'client_secret_post' })
    const params = { code_challenge: '', code_challenge_method: '' }
    assert.equal((await authorize(server, { client, params })).answer.get('error'), 'invalid_request')
    server.change({ oauth: { require_pkce_for_confidential_clients: false } })
    assert.notEqual((await authorize(server, { client, params })).code, '')
  })

  it('§4.6 refuses a wrong, missing or malformed verifier, and spends the code', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    for (const verifier of [pkcePair().verifier, undefined, 'x', 'a'.repeat(129)]) {
      const flow = await authorize(server, { client })
      const wrong = await redeem(server, { ...flow, client }, { code_verifier: verifier })
      assert.equal(wrong.status, 400)
      assert.equal(wrong.body.error, 'invalid_grant')
      assert.equal((await redeem(server, { ...flow, client })).body.error, 'invalid_grant')
      assert.equal((await server.tokens.list()).length, 0)
    }
  })
})
