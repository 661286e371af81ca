import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { readArguments } from '../../src/library/prompts/argument-rows.ts'
import {
  compileArguments,
  listedDescription,
  type CheckedArguments,
} from '../../src/library/prompts/arguments.ts'
import { Float } from '#jinja/values.ts'

/** Maps in Maps, as arguments arrive from MCP. */
function nested(depth: number): unknown {
  return depth === 0 ? 1 : new Map([['a', nested(depth - 1)]])
}

type Row = Parameters<typeof readArguments>[0][number]

const now = Date.parse('2026-11-26T10:00:00Z')

function compile(...rows: Row[]): {
  check: (args: Record<string, unknown>) => CheckedArguments
  faults: string[]
} {
  const faults: string[] = []
  const read = readArguments(rows, (path, message) => faults.push(`${path.join('.')}: ${message}`))
  const check = compileArguments(read, (row, property, message) =>
    faults.push(`${row}.${property}: ${message}`),
  )
  return { check: (args) => check(args, now), faults }
}

function value(row: Omit<Row, 'argument_name'>, supplied: unknown): unknown {
  const { check, faults } = compile({ argument_name: 'x', ...row })
  assert.deepEqual(faults, [])
  const { values, problems } = check({ x: supplied })
  return problems.length > 0 ? `problem: ${problems[0]!.problem}` : values['x']
}

describe('§4.6 argument types', () => {
  it('makes real booleans of every spelling, so that the text false is false', () => {
    for (const yes of [true, 'true', 'True', ' TRUE ', '1', 1]) {
      assert.equal(value({ argument_type: 'boolean' }, yes), true)
    }
    for (const no of [false, 'false', 'False', '0', 0]) {
      assert.equal(value({ argument_type: 'boolean' }, no), false)
    }
    assert.equal(value({ argument_type: 'boolean' }, 'maybe'), 'problem: must be true or false, not "maybe"')
    assert.match(String(value({ argument_type: 'boolean' }, [])), /not \[\]/)
  })

  it('reads days in words, as filters do, also in a default', () => {
    const row = { argument_type: 'date' } as const
    assert.equal(value(row, 'today-30'), '2026-10-27')
    assert.equal(value(row, 'start of last quarter'), '2026-07-01')
    assert.equal(value({ argument_type: 'datetime' }, 'yesterday'), '2026-11-25T00:00')
    assert.match(String(value(row, 'last quarter')), /is a period, 2026-07-01 to 2026-09-30.*"start of"/)
    assert.match(String(value(row, 'soon')), /must be a date such as 2026-03-31, or today, today-30/)
    const { check, faults } = compile({ argument_name: 'x', ...row, default_value: 'end of this month' })
    assert.deepEqual([check({}).values['x'], faults], ['2026-11-30', []])
  })

  it('makes real numbers, and keeps what JSON and JavaScript would lose', () => {
    assert.equal(value({ argument_type: 'number' }, '42'), 42)
    assert.equal(value({ argument_type: 'number' }, ' -3.5e2 ') instanceof Float, true)
    assert.equal(value({ argument_type: 'number' }, 7), 7)
    assert.equal(value({ argument_type: 'number' }, '12345678901234567890'), 12345678901234567890n)
    assert.deepEqual(value({ argument_type: 'number' }, '1.0'), new Float(1))
    for (const wrong of ['', ' ', 'abc', '1,5', '0x10', 'Infinity', 'NaN', Number.NaN, '1e999', true, {}]) {
      if (wrong !== '')
        assert.match(String(value({ argument_type: 'number' }, wrong)), /^problem: must be a number/)
    }
  })

  it('tells at once that a long text is no number, and takes numbers in all their forms', () => {
    // This took hours when the digits were divided in every possible way.
    const text = `${'1'.repeat(1_000_000)}x`
    assert.match(String(value({ argument_type: 'number' }, text)), /must be a number, not "1{56}…/)
    for (const whole of ['1.', '+1.5e3'])
      assert.ok(value({ argument_type: 'number' }, whole) instanceof Float)
    assert.equal(value({ argument_type: 'number' }, '.5'), 0.5)
    assert.equal(value({ argument_type: 'number' }, '2E-2'), 0.02)
    for (const none of ['.', 'e3', '1.5.', '1e', ''])
      assert.match(String(value({ argument_type: 'number', is_required: 1 }, none)), /problem/, none)
  })

  it('takes text for a string, and no lists or objects', () => {
    assert.equal(value({}, 'x'), 'x')
    assert.equal(value({}, 7), '7')
    assert.equal(value({}, ['a']), 'problem: must be a text, not ["a"]')
    assert.equal(value({}, { a: 1 }), 'problem: must be a text, not {"a":1}')
    assert.match(String(value({}, 'x'.repeat(100_001))), /at most 100000 characters/)
  })

  it('takes one of the allowed values for select, in their exact spelling', () => {
    const row: Omit<Row, 'argument_name'> = { argument_type: 'select', allowed_values: 'low, high' }
    assert.equal(value(row, 'high'), 'high')
    assert.equal(value(row, 'High'), 'problem: must be one of low, high, not "High"; did you mean "high"?')
    assert.equal(value({ argument_type: 'select', allowed_values: [1, 2] }, 2), '2')
  })

  it('takes several for multiselect: a list, text with commas, or JSON', () => {
    const row: Omit<Row, 'argument_name'> = { argument_type: 'multiselect', allowed_values: ['a', 'b', 'c'] }
    assert.deepEqual(value(row, ['c', 'a']), ['c', 'a'])
    assert.deepEqual(value(row, 'a, b,a'), ['a', 'b'])
    assert.deepEqual(value(row, '["b"]'), ['b'])
    assert.equal(value(row, ['a', 'x', 'y']), 'problem: must be some of a, b, c, not "x", "y"')
    assert.deepEqual(value(row, []), [])
    assert.equal(value({ ...row, is_required: 1 }, []), 'problem: is required')
    assert.equal(value({ ...row, is_required: 1 }, ', ,'), 'problem: is required')
    assert.match(String(value(row, { a: true })), /must be a list or text with commas/)
  })

  it('takes real dates and times only', () => {
    assert.equal(value({ argument_type: 'date' }, '2028-02-29'), '2028-02-29')
    for (const wrong of ['2026-02-29', '2026-13-01', '26-01-01', '2026-1-1', 'soon', 20260101]) {
      assert.match(String(value({ argument_type: 'date' }, wrong)), /must be a date such as/)
    }
    assert.equal(value({ argument_type: 'datetime' }, '2026-01-31 09:30'), '2026-01-31T09:30')
    assert.equal(
      value({ argument_type: 'datetime' }, '2026-01-31T09:30:00.5+02:00'),
      '2026-01-31T09:30:00.5+02:00',
    )
    assert.equal(value({ argument_type: 'datetime' }, '2026-01-31'), '2026-01-31T00:00')
    for (const wrong of ['2026-01', '2026-01-31T24:00', '2026-02-30T10:00', '2026-01-31T10:61']) {
      assert.match(String(value({ argument_type: 'datetime' }, wrong)), /must be a date and time/)
    }
  })

  it('takes JSON as text or as it is, to a bounded depth', () => {
    assert.deepEqual(
      value({ argument_type: 'json' }, '{"b": [1, 2.0], "a": 1}'),
      new Map<string, unknown>([
        ['b', [1, new Float(2)]],
        ['a', 1],
      ]),
    )
    assert.match(String(value({ argument_type: 'json' }, nested(80))), /deeper than 64/)
    assert.deepEqual(value({ argument_type: 'json' }, { a: 1 }), { a: 1 })
    assert.equal(value({ argument_type: 'json' }, '{'), 'problem: must be JSON')
    assert.match(String(value({ argument_type: 'json' }, '['.repeat(80) + ']'.repeat(80))), /deeper than 64/)
  })
})

describe('§2.7 argument rules', () => {
  it('tells every problem of a call at once', () => {
    const { check } = compile(
      { argument_name: 'focus', argument_type: 'select', allowed_values: 'a,b', is_required: 1 },
      { argument_name: 'count', argument_type: 'number' },
      { argument_name: 'code', validation_regex: '[A-Z]{3}', min_length: 3, max_length: 3 },
    )
    assert.deepEqual(check({ count: 'many', code: 'abcd', colour: 'red', cont: 1 }).problems, [
      { argument: 'focus', problem: 'is required' },
      { argument: 'count', problem: 'must be a number, not "many"' },
      { argument: 'code', problem: 'must have at most 3 characters, has 4' },
      { argument: 'colour', problem: 'is not an argument of this prompt' },
      { argument: 'cont', problem: 'is not an argument of this prompt; did you mean "count"?' },
    ])
  })

  it('lets a default satisfy required, and counts null and an empty text as not supplied', () => {
    const { check } = compile(
      { argument_name: 'a', is_required: 1, default_value: 'x' },
      { argument_name: 'b', is_required: 1 },
      { argument_name: 'c' },
    )
    for (const missing of [undefined, null, '']) {
      const { values, problems } = check({ a: missing, b: missing, c: missing })
      assert.deepEqual({ ...values }, { a: 'x' })
      assert.deepEqual(problems, [{ argument: 'b', problem: 'is required' }])
    }
  })

  it('matches the whole value with the pattern, not its beginning', () => {
    const { check } = compile({ argument_name: 'x', validation_regex: '[a-z]+' })
    assert.deepEqual(check({ x: 'abc' }).problems, [])
    assert.deepEqual(check({ x: 'abc1' }).problems, [{ argument: 'x', problem: 'does not match [a-z]+' }])
    assert.equal(check({ x: '\nabc' }).problems.length, 1)
  })

  it('runs patterns in linear time', () => {
    const { check } = compile({ argument_name: 'x', validation_regex: '(a+)+$', max_length: 50000 })
    const begun = process.hrtime.bigint()
    assert.equal(check({ x: `${'a'.repeat(49_999)}b` }).problems.length, 1)
    assert.ok(process.hrtime.bigint() - begun < 5_000_000_000n)
  })

  it('asks patterns about so many characters in one call as take a fifth of a second, whatever they are', () => {
    const many = (count: number) => 'a'.repeat(count)
    const simple = compile({ argument_name: 'x', validation_regex: '[a-z]+' })
    assert.deepEqual(simple.check({ x: many(100_000) }).problems, [])
    const rows = ['x', 'y'].map((argument_name) => ({ argument_name, validation_regex: '([a-z]*.){1000}' }))
    const costly = compile(...rows)
    assert.deepEqual(costly.check({ x: many(1500) }).problems, [])
    assert.deepEqual(costly.check({ x: many(1500), y: many(1500) }).problems, [
      { argument: 'y', problem: 'matching so much with ([a-z]*.){1000} takes too long' },
    ])
    assert.deepEqual(costly.check({ y: many(1500) }).problems, [])
  })

  it('counts characters, not UTF-16 units', () => {
    const { check } = compile({ argument_name: 'x', min_length: 2, max_length: 2 })
    assert.deepEqual(check({ x: '🦊🦊' }).problems, [])
    assert.equal(check({ x: '🦊' }).problems[0]?.problem, 'must have at least 2 characters, has 1')
  })

  it('refuses rows that cannot work, each at its property', () => {
    const { faults } = compile(
      { argument_name: 'a', argument_type: 'select' },
      { argument_name: 'b', argument_type: 'number', validation_regex: 'x', min_length: 1 },
      { argument_name: 'c', validation_regex: '(?=x)' },
      { argument_name: 'd', min_length: 5, max_length: 2 },
      { argument_name: 'e', argument_type: 'boolean', default_value: 'perhaps' },
      { argument_name: 'f', argument_type: 'select', allowed_values: 'x,y', default_value: 'z' },
      { argument_name: 'g', argument_type: 'link' },
      { argument_name: 'a' },
      { argument_name: 'loop' },
      { argument_name: '__proto__' },
    )
    assert.deepEqual(faults, [
      '7.argument_name: "a" is declared twice',
      '8.argument_name: "loop" is a word of the template language; choose another name',
      '9.argument_name: "__proto__" is a word of the template language; choose another name',
      '0.allowed_values: a select needs allowed values',
      '1.validation_regex: only string arguments have a pattern, not number',
      '1.min_length: only string arguments have length bounds, not number',
      '2.validation_regex: is not a usable pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
      '3.min_length: is above max_length (2)',
      '4.default_value: must be true or false, not "perhaps"',
      '5.default_value: must be one of x, y, not "z"; did you mean "x"?',
      '6.doctype: a link needs the doctype that it links to',
    ])
  })

  it('never throws, whatever is supplied', () => {
    const { check } = compile(
      { argument_name: 'a', argument_type: 'number' },
      { argument_name: 'b', argument_type: 'boolean' },
      { argument_name: 'c', argument_type: 'multiselect', allowed_values: 'x,y' },
      { argument_name: 'd', argument_type: 'date' },
      { argument_name: 'e', argument_type: 'json' },
      { argument_name: 'constructor', validation_regex: '.*' },
    )
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'constructor', 'toString'), fc.anything()),
        (args) => {
          const { values, problems } = check(args)
          assert.ok(Object.keys(values).length + problems.length <= 7)
        },
      ),
    )
  })
})

describe('§4.5 prompts rule 2, the description of a listed argument', () => {
  const listed = (row: Row): string => listedDescription(readArguments([row], () => undefined)[0]!)

  it('is the description, then the options, then the default', () => {
    assert.equal(
      listed({
        argument_name: 'x',
        argument_type: 'select',
        description: 'What to see.',
        allowed_values: 'a, b',
        default_value: 'a',
      }),
      'What to see. Options: a, b. Default: a',
    )
    assert.equal(listed({ argument_name: 'x', description: 'Plain' }), 'Plain')
    assert.equal(listed({ argument_name: 'x', display_label: 'The label' }), 'The label')
    assert.equal(
      listed({ argument_name: 'x', description: 'D', argument_type: 'boolean', default_value: 'false' }),
      'D. Default: false',
    )
  })
})
