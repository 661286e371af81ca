import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { redact, redactText } from '#leaf/redact.ts'

describe('redacting', () => {
  it('removes values under secret-like keys at any depth, in lists too', () => {
    const clean = redact({
      user: 'jane',
      password: 'pw',
      deep: [
        {
          list: [
            { access_token: 'abc', clientSecret: 'def', 'x-api-key': 'ghi', nested: { code_verifier: 'v' } },
          ],
        },
      ],
      authorization: { scheme: 'Bearer', value: 'x' },
    })
    assert.deepEqual(clean, {
      user: 'jane',
      password: '[redacted]',
      deep: [
        {
          list: [
            {
              access_token: '[redacted]',
              clientSecret: '[redacted]',
              'x-api-key': '[redacted]',
              nested: { code_verifier: '[redacted]' },
            },
          ],
        },
      ],
      authorization: '[redacted]',
    })
  })

  it('keeps what only sounds like a secret', () => {
    const value = {
      input_tokens: 12,
      token_type: 'Bearer',
      author: 'x',
      tokens_used: 3,
      secretary: 'Sam',
      passwords: true,
    }
    assert.deepEqual(redact(value), value)
  })

  it('says whether there was a secret at all', () => {
    assert.deepEqual(redact({ token: null, secret: undefined, password: '' }), {
      token: null,
      secret: undefined,
      password: '[redacted]',
    })
  })

  it('removes tokens from any text', () => {
    assert.equal(
      redactText('Authorization: Bearer abcdefgh12345678 done'),
      'Authorization: Bearer [redacted] done',
    )
    assert.equal(redactText('Basic dXNlcjpwYXNzd29yZA=='), 'Basic [redacted]')
    assert.equal(redactText('token key1234567:secret1234'), 'token [redacted]')
    assert.equal(redactText('got ac_at_0123456789abcdefABCD.'), 'got [redacted].')
    assert.equal(redactText('id eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln end'), 'id [redacted] end')
    const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----'
    assert.equal(redactText(`a ${pem} b`), 'a [redacted] b')
    assert.equal(redactText('the token expired'), 'the token expired')
    const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln'
    assert.equal(redactText(`a.b.${jwt}, id=${jwt}; x-${jwt}`), 'a.b.[redacted], id=[redacted]; [redacted]')
    assert.equal(redactText('heyJude-is-a-song.part.txt'), 'heyJude-is-a-song.part.txt')
    assert.equal(redactText('-----BEGIN PRIVATE KEY-----\nMIIE, cut off here'), '[redacted]')
  })

  it('removes the paths that are named', () => {
    assert.deepEqual(redact({ data: { iban: 'DE1', name: 'x' }, iban: 'y' }, ['data.iban']), {
      data: { iban: '[redacted]', name: 'x' },
      iban: 'y',
    })
  })

  it('removes the values of named fields wherever they are written beside their name', () => {
    const names = new Set(['salary'])
    const removed = new Set<string>()
    const filters = [
      ['salary', '>', 98765],
      ['Employee', 'salary', 'like', 'x'],
      ['salary', 98765],
      ['status', '=', 'Open'],
    ]
    const given = {
      rows: [{ salary: 98765, name: 'a' }],
      filters,
      fields: ['name', 'salary', 'department', 'status', 'email'],
      metrics: [{ function: 'max', field: 'salary', value: 98765 }],
      sql: `SELECT name FROM e WHERE salary > 98765 AND "salary" < '99'`,
      other: 'SELECT 98765',
    }
    assert.deepEqual(redact(given, [], { names, removed }), {
      rows: [{ salary: '[redacted]', name: 'a' }],
      filters: [
        ['salary', '>', '[redacted]'],
        ['Employee', 'salary', 'like', '[redacted]'],
        ['salary', '[redacted]'],
        ['status', '=', 'Open'],
      ],
      fields: ['name', 'salary', 'department', 'status', 'email'],
      metrics: [{ function: 'max', field: 'salary', value: '[redacted]' }],
      sql: `SELECT name FROM e WHERE salary > [redacted] AND "salary" < [redacted]`,
      other: 'SELECT 98765',
    })
    assert.deepEqual([...removed], ['98765'])
  })

  it('goes through a text once, whatever its writer made it begin with again and again', () => {
    // Each took hours at this size when every beginning was followed to the end of the text.
    const beginnings = [
      'eyJaaaaaaaa-',
      '-----BEGIN PRIVATE KEY-----',
      '-----BEGIN A A',
      'eyJaaaaaaaa.',
      'Bearer ',
      'ac_at_a-',
    ]
    for (const beginning of beginnings) {
      const text = beginning.repeat(4_000_000 / beginning.length)
      assert.ok(redactText(text).length <= text.length, beginning)
    }
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, 'x']))
    const clean = redact({ many, after: { token: 'x' } }) as { many: object; after: object }
    assert.deepEqual([Object.keys(clean.many).length, clean.after], [2001, { token: '[redacted]' }])
  })

  it('keeps the beginning of a very long text, and no half of a secret where it is cut', () => {
    const token = `eyJ${'a'.repeat(500)}.${'b'.repeat(500)}.${'c'.repeat(500)}`
    for (const before of [261_000, 261_500, 262_000]) {
      const long = `${'word '.repeat(before / 5)}${token} ${'x'.repeat(3_000_000)}`
      const text = String(redact(long))
      assert.ok(text.length > 250_000 && text.length < 270_000, String(text.length))
      assert.doesNotMatch(text, /eyJ/)
      assert.match(text, /\.\.\.\d{7} more$/)
    }
  })

  it('answers the value itself when nothing had to go, but never what JSON would ask for another', () => {
    const clean = { name: 'ACME', list: [{ n: 1 }, null], nothing: undefined }
    assert.equal(redact(clean), clean)
    assert.notEqual(redact({ ...clean, more: [{ token: 'x' }] }), clean)
    class Sly {
      readonly shown = 'shown'
      toJSON(): unknown {
        return { password: 'pw' }
      }
    }
    assert.equal(JSON.stringify(redact({ a: new Sly() })), '{"a":{"shown":"shown"}}')
    assert.equal(JSON.stringify(redact({ toJSON: () => ({ password: 'pw' }) })), '{}')
    assert.deepEqual(redact({ a: 1, __proto__: null, b: [1, 2, 'Bearer abcdefgh12345678', 3], c: 2 }), {
      a: 1,
      b: [1, 2, 'Bearer [redacted]', 3],
      c: 2,
    })
  })

  it('changes nothing of its input, and ends on any depth', () => {
    const input = { password: 'pw', list: [{ token: 'x' }] }
    redact(input)
    assert.deepEqual(input, { password: 'pw', list: [{ token: 'x' }] })
    let deep: unknown = 'end'
    for (let level = 0; level < 10_000; level++) deep = { deep }
    assert.match(JSON.stringify(redact(deep)), /too deep/)
  })
})
