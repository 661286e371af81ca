import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { authenticateClient } from '../../src/oauth/clients/client-authentication.ts'
import { plainText } from '../../src/oauth/clients/client-metadata.ts'
import { descriptionText, OAuthError } from '../../src/oauth/protocol.ts'
import { readParams } from '#ui/requests.ts'
import {
  firstRefreshToken,
  isGenuine,
  readRefreshToken,
  successorOf,
} from '../../src/oauth/tokens/refresh-tokens.ts'
import { narrowScopes, supportedScopes } from '../../src/oauth/scopes.ts'
import { register } from './browser.ts'
import { makeSettings, startServer } from './server.ts'

const none = readParams(new URLSearchParams())

describe('what holds for every input', () => {
  it('a Basic header that is no proof is refused as invalid_client and never as a bug', async (t) => {
    const server = await startServer(t)
    const junk = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.base64String().map((text) => `Basic ${text}`),
      fc.string({ unit: 'binary' }).map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
      fc
        .tuple(fc.string(), fc.string())
        .map(([id, secret]) => `basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`),
    )
    await fc.assert(
      fc.asyncProperty(junk, async (header) => {
        await assert.rejects(
          authenticateClient(header, none, server),
          (error) => error instanceof OAuthError && error.code === 'invalid_client' && error.status === 401,
        )
      }),
      { numRuns: 300 },
    )
  })

  it('a client proves itself however its id and secret are form-encoded', async (t) => {
    const server = await startServer(t)
    const { client_id: id, client_secret: secret } = await register(server, {
      token_endpoint_auth_method: 'client_secret_basic',
    })
    const encode = (text: string, which: boolean[]): string =>
      text
        .split('')
        .map((letter, at) =>
          which[at % which.length] ? `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}` : letter,
        )
        .join('')
    const choice = fc.array(fc.boolean(), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(choice, choice, async (forId, forSecret) => {
        const text = `${encode(id, forId)}:${encode(secret!, forSecret)}`
        const client = await authenticateClient(`Basic ${Buffer.from(text).toString('base64')}`, none, server)
        assert.equal(client.id, id)
      }),
      { numRuns: 50 },
    )
  })

  it('parameters come out as they went in, and those that came twice are known', () => {
    const name = fc.constantFrom('state', 'scope', 'nonce', 'resource', 'x')
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string({ minLength: 1 }))), (pairs) => {
        const params = readParams(new URLSearchParams(new URLSearchParams(pairs).toString()))
        for (const one of ['state', 'scope', 'nonce', 'x']) {
          const values = pairs.filter(([key]) => key === one).map(([, value]) => wellFormed(value))
          assert.equal(params.get(one), values[0])
          assert.equal(params.repeated.includes(one), values.length > 1)
        }
        const resources = pairs.filter(([key]) => key === 'resource').map(([, value]) => wellFormed(value))
        assert.deepEqual(params.resources, resources)
      }),
    )
  })

  it('a refresh token is genuine only in its own family and only as it is', () => {
    const family = { id: 'A'.repeat(22), markKey: 'key' }
    const first = firstRefreshToken(family)
    const read = readRefreshToken(first)!
    assert.equal(isGenuine(read, family), true)
    assert.equal(isGenuine(read, { markKey: 'another key' }), false)
    const next = readRefreshToken(successorOf(read, family, 'salt'))!
    assert.equal(isGenuine(next, family), true)
    assert.equal(next.generation, 2)
    assert.equal(successorOf(read, family, 'salt'), next.text)
    assert.notEqual(successorOf(read, family, 'pepper'), next.text)
    fc.assert(
      fc.property(fc.nat(first.length - 1), fc.constantFrom(...'abcXYZ019-_ .'.split('')), (at, letter) => {
        const changed = first.slice(0, at) + letter + first.slice(at + 1)
        if (changed === first) return
        const other = readRefreshToken(changed)
        // Another family id names another family, which has another key.
        assert.equal(other !== undefined && other.family === family.id && isGenuine(other, family), false)
      }),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (junk) => assert.equal(readRefreshToken(junk), undefined)),
    )
  })

  it('granted scopes are among the supported ones, and never none', () => {
    const settings = makeSettings({ oauth: { supported_scopes: 'all\nopenid\nreports:read' } })
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom('all', 'openid', 'reports:read'))),
        (asked) => {
          const scopes = narrowScopes(asked.join(' '), settings)
          assert.ok(scopes.length > 0)
          for (const scope of scopes) assert.ok(supportedScopes(settings).includes(scope))
        },
      ),
    )
    assert.deepEqual(narrowScopes(undefined, makeSettings({ oauth: { supported_scopes: ['a', 'b'] } })), [
      'a',
      'b',
    ])
  })

  it('sections of specifications are told in letters that an error_description may have', () => {
    assert.equal(descriptionText('RFC 7636 §4.1'), 'RFC 7636 section 4.1')
  })

  it('texts for headers and pages have only what may be in them', () => {
    const any = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(any, (text) => assert.match(descriptionText(text), /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/)),
    )
    fc.assert(
      fc.property(any, (text) => {
        assert.doesNotMatch(plainText(text), /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u)
        assert.equal(plainText(plainText(text)), plainText(text))
      }),
    )
  })
})

/** A lone half of a character does not survive the wire. */
function wellFormed(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text))
}
