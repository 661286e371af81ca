import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import {
  bounded,
  dropUnreadablePatterns,
  schemaPatterns,
  unreadablePatterns,
  wholePattern,
} from '#leaf/pattern.ts'
import { compileSchema, pathText, schemaProblems } from '#leaf/schema.ts'

const characters = fc.constantFrom(
  ...Array.from('ab_1A- \n\r\t\0[]^:/.é'),
  '\u00a0',
  '\u1680',
  '\u200a',
  '\u200b',
  '\u2028',
  '\ufeff',
  '😀',
)
const atoms = fc.constantFrom(
  ...String.raw`a b _ 1 \s \S \w \W \d \D . \. \/ \n \t \u00a0 \u{1F600} \ud83d\ude00 \cJ \0 \x20 \b ^ $ [ab] [^ab] [\s\S]
    [^\s] [^\S] [\w.-] [\u0000-\u00ff] [[:alpha:] [\b] [a[^b] [(?<a>] [(?=] [-a] [^-_] \p{L} \P{L} [\p{Lu}\d] 😀 [😀-😂]
    [\S\n] [\D] [.] [$^] / [/] \- \] \{`.split(/\s+/),
)
const { pattern } = fc.letrec((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small' },
    atoms,
    fc.array(tie('pattern'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map((either) => either.join('|')),
    fc
      .tuple(
        fc.constantFrom('(', '(?:', '(?<n>'),
        tie('pattern'),
        fc.constantFrom(')', ')*', ')+', ')?', '){2}', '){1,3}', ')*?'),
      )
      .map((parts) => parts.join('')),
  ),
}))

describe('a pattern of a schema', () => {
  it('means what it means in ECMAScript', () => {
    const texts = fc.array(
      fc.array(characters, { maxLength: 6 }).map((text) => text.join('')),
      { minLength: 5, maxLength: 12 },
    )
    fc.assert(
      fc.property(pattern, texts, (source, all) => {
        let native: RegExp
        try {
          native = new RegExp(source, 'u')
        } catch {
          return
        }
        const mine = schemaPatterns(source)
        for (const text of all)
          assert.equal(mine.test(text), native.test(text), JSON.stringify([source, text]))
      }),
      { numRuns: 1000 },
    )
  })

  it('cannot look around or back, be made of nothing, or be too large', () => {
    const fault = (source: string) => unreadablePatterns({ pattern: source })[0]?.message ?? ''
    for (const source of ['(?=a)', '(?!a)', '(?<=a)', '(?<!a)', '(a)\\1', '(?<n>a)\\k<n>'])
      assert.match(fault(source), /^is not a usable pattern: .* takes more than linear time/, source)
    assert.match(fault('[]'), /cannot be read/)
    assert.match(fault('a[^]b'), /cannot be read/)
    assert.match(fault('(a'), /Unterminated group/)
    assert.match(fault('(?i)a'), /Invalid group/)
    assert.match(fault('a{1001}'), /invalid repeat count/)
    assert.match(fault('(a?b){1000}'.repeat(10)), /it is too large/)
    assert.match(fault('((([a-z]x?){10}){10}){9}'.repeat(20)), /it is too large/)
    assert.equal(fault('[()]{3}\\({1000}(?:a|b{2}){400}'), '')
  })

  it('is found wherever it stands in a schema, and nothing else is taken for one', () => {
    const bad = '(?!a)'
    const schema = {
      type: 'object',
      default: { pattern: bad },
      enum: [{ pattern: bad }],
      properties: {
        pattern: { type: 'string' },
        default: { type: 'string', pattern: bad },
        list: { type: 'array', items: { anyOf: [{ type: 'string', pattern: bad }, true] } },
        map: { type: 'object', patternProperties: { [bad]: true, '^x': { type: 'string', pattern: bad } } },
        named: { type: 'object', propertyNames: { pattern: bad } },
      },
      $defs: { pattern: { pattern: bad } },
    }
    const places = schemaProblems(schema).map(({ path }) => pathText(path))
    assert.deepEqual(places.sort(), [
      '$defs.pattern.pattern',
      'properties.default.pattern',
      'properties.list.items.anyOf[0].pattern',
      'properties.map.patternProperties.(?!a)',
      'properties.map.patternProperties.^x.pattern',
      'properties.named.propertyNames.pattern',
    ])
  })

  it('is dropped where the schema then refuses nothing that it allowed, and only there', () => {
    const bad = '(?!a)'
    const kept = { type: 'string', not: { pattern: bad } }
    const schema = {
      type: 'object',
      properties: {
        not: { type: 'string', pattern: bad },
        map: { type: 'object', patternProperties: { [bad]: false }, additionalProperties: false },
        kept,
      },
    }
    assert.deepEqual(
      dropUnreadablePatterns(schema).map(({ path }) => pathText(path)),
      ['properties.not.pattern', 'properties.map.patternProperties.(?!a)'],
    )
    assert.deepEqual(schema.properties, {
      not: { type: 'string' },
      map: { type: 'object', patternProperties: {} },
      kept,
    })
  })

  it('is matched with so much of a call as takes a fifth of a second, and with all of what is ours', () => {
    const check = compileSchema({ type: 'array', items: { type: 'string', pattern: '^[a-z]{1,500}$' } })
    const texts = Array.from({ length: 100 }, () => 'a'.repeat(500))
    assert.deepEqual(check(texts), [])
    assert.deepEqual(
      bounded(() => check(texts)),
      [{ path: [], message: 'matching so much with ^[a-z]{1,500}$ takes too long' }],
    )
    assert.deepEqual(
      bounded(() => check(texts.slice(0, 10))),
      [],
    )
  })
})

describe('a pattern of a prompt', () => {
  it('matches the whole text, in the syntax of RE2', () => {
    const matches = wholePattern('(?i)so-\\d+')
    assert.deepEqual(['SO-1', 'so-22', 'so-', 'xso-1', 'SO-1\n'].map(matches), [
      true,
      true,
      false,
      false,
      false,
    ])
    assert.throws(() => wholePattern('(a?b){1000}'.repeat(10)), /too large/)
  })
})

describe('the format url', () => {
  it('is that of ajv-formats', () => {
    const check = compileSchema({ type: 'string', format: 'url' })
    const isUrl = (text: string) => check(text).length === 0
    for (const text of [
      'http://a.example',
      'https://u:p@a.example:81/x?y#z',
      'ftp://1.2.3.4/',
      'http://ü.example',
    ])
      assert.ok(isUrl(text), text)
    for (const text of [
      'a.example',
      'mailto:a@b.example',
      'http://localhost',
      'http://10.0.0.1/',
      'http://a.example/ b',
      'http://',
    ])
      assert.ok(!isUrl(text), text)
  })
})
