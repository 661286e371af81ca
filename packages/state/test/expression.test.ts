import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../../../test/helpers/random.ts'
import { parseExpression } from '#state/questions.ts'

const scope = {
  doc: {
    a: 2,
    b: 3,
    name_: 'Acme',
    none: null,
    on: true,
    day: '2026-01-31',
    rows: [{ q: 1.1 }, { q: 2.2 }, { q: null }],
  },
  user: { id: 'me@example.com', fullName: 'Me', roles: new Set(['Clerk']) },
  now: Date.parse('2026-07-01T12:00:00Z'),
}

describe('expressions', () => {
  const table: [string, unknown][] = [
    ['1 + 2 * 3 - 4 / 2', 5],
    ['-(a + b) % 4', -1],
    ['doc.a = 2 and not b = 2', true],
    ['a in [1, 2] and "x" not in ["y"]', true],
    ['none + 1', null],
    ['none < 1', false],
    ['a / 0', null],
    ['"a" + "b" = "ab"', true],
    ['on = 1', true],
    ['round(sum(rows.q), 2)', 3.3],
    ['count(rows)', 3],
    ['max(rows.q, a)', 2.2],
    ['round(2.675, 2)', 2.68],
    ['if(a > b, "more", "less")', 'less'],
    ['coalesce(none, 7)', 7],
    ['days_between(day, today())', 151],
    ['add_days(day, 1)', '2026-02-01'],
    ['user.id = "me@example.com" and has_role("Clerk")', true],
    ['"Clerk" in user.roles', true],
    ['contains(name_, "CM")', true],
    ['missing', null],
    ['constructor', null],
    ['doc.__proto__', null],
    ['rows.constructor', null],
  ]
  for (const [text, value] of table)
    it(text, () => {
      const result = parseExpression(text).evaluate(scope)
      assert.deepEqual(
        Array.isArray(result) ? (result.every((item) => item === null) ? null : result) : result,
        value,
      )
    })

  it('say where they are wrong', () => {
    for (const [text, message] of [
      ['1 +', /unexpected "the end" at character 4/],
      ['a ? b', /cannot read "\? b" at character 2/],
      ['alert(1)', /unknown function "alert" at character 1/],
      ['round()', /round\(\) takes 1 to 2 values/],
      ['user.password', /a user has id, full_name and roles/],
      ['a.b.c', /"a.b.c" is not a field/],
      ['`x`', /cannot read/],
      ['('.repeat(50) + '1' + ')'.repeat(50), /nested deeper than 40/],
      ['1+'.repeat(600) + '1', /more than 500 words/],
      ['x'.repeat(3000), /at most 2000 characters/],
    ] as const)
      assert.throws(() => parseExpression(text), { code: 'invalid', message })
  })

  it('never throw while they are evaluated, whatever stands in the document', () => {
    const parts = fc.constantFrom(
      'a',
      'b',
      'rows.q',
      '1',
      '"x"',
      'null',
      'today()',
      'user.roles',
      'sum(rows.q)',
    )
    const expressions = fc
      .tuple(parts, fc.constantFrom('+', '-', '*', '/', '%', '=', '<', '>=', 'and', 'or', 'in'), parts)
      .map((words) => words.join(' '))
    fc.assert(
      fc.property(
        expressions,
        fc.record({ a: fc.jsonValue(), b: fc.jsonValue(), rows: fc.jsonValue() }),
        (text, doc) => {
          parseExpression(text).evaluate({ ...scope, doc })
        },
      ),
    )
  })

  it('take linear time in the length of what they search', () => {
    const long = 'a'.repeat(100_000)
    assert.equal(parseExpression('contains(name_, "ab")').evaluate({ ...scope, doc: { name_: long } }), false)
  })
})
