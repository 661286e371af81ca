import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bounded } from '#leaf/pattern.ts'
import { nearest } from '#leaf/names.ts'
import { compileSchema, pathText, problemsText } from '#leaf/schema.ts'

const check = compileSchema({
  type: 'object',
  additionalProperties: false,
  required: ['name', 'roles'],
  properties: {
    name: { type: 'string', minLength: 2 },
    roles: { type: 'array', items: { type: 'string', enum: ['User', 'Admin'] } },
    email: { type: 'string', format: 'email' },
    code: { type: 'string', pattern: '^[a-z]+$' },
    'a/b~c': { type: 'object', additionalProperties: { type: 'integer' } },
  },
})

describe('checking against a schema', () => {
  it('has no problem with what fits', () => {
    assert.deepEqual(check({ name: 'Jo', roles: ['User'], email: 'jo@example.com' }), [])
  })

  it('reports every problem at once, each with its path and in words', () => {
    const problems = check({ name: 1, roles: ['Use', 2], email: 'jo', code: 'A1', nmae: 'x', zzzzzz: 1 })
    assert.deepEqual(problems.map(({ path, message }) => `${pathText(path)}: ${message}`).sort(), [
      'code: "A1" does not match ^[a-z]+$',
      'email: "jo" is not a valid email',
      'name: must be string, not number',
      'nmae: unknown key; did you mean "name"?',
      'roles[0]: must be one of "User" or "Admin", not "Use"',
      'roles[1]: must be one of "User" or "Admin", not 2',
      'zzzzzz: unknown key; there are name, roles, email, code, a/b~c',
    ])
  })

  it('places what is missing at the object around it', () => {
    assert.deepEqual(check({ name: 'Jo' }), [{ path: [], message: '"roles" is required' }])
  })

  it('writes the keys of a path as they are, however odd', () => {
    assert.deepEqual(check({ name: 'Jo', roles: [], 'a/b~c': { 'x/y': 'no' } }), [
      { path: ['a/b~c', 'x/y'], message: 'must be integer, not string' },
    ])
  })

  it('fills in defaults only when asked to', () => {
    const schema = { type: 'object', properties: { port: { type: 'integer', default: 80 } } } as const
    const plain = {}
    const filled = {}
    compileSchema(schema)(plain)
    compileSchema(schema, { defaults: true })(filled)
    assert.deepEqual([plain, filled], [{}, { port: 80 }])
  })

  it('does not repeat a long value', () => {
    const [problem] = check({ name: 'Jo', roles: [], code: 'X'.repeat(1000) })
    assert.ok(problem && problem.message.length < 100)
  })

  it('tells items that are the same from others, and of a hundred thousand at once (it took minutes)', () => {
    const isUnique = compileSchema({ type: 'array', uniqueItems: true })
    const items = Array.from({ length: 100_000 }, (_, index) => [index])
    assert.deepEqual(isUnique(items), [])
    const twice = 'must NOT have duplicate items (items ## 0 and 2 are identical)'
    for (const same of [
      ['a', 'b', 'a'],
      [{ a: 1, b: [null] }, [], { b: [null], a: 1 }],
    ])
      assert.deepEqual(isUnique(same), [{ path: [], message: twice }])
    assert.deepEqual(isUnique([1, '1', true, [1], { 1: 1 }, null, 'null', [], {}, ['1']]), [])
    assert.deepEqual(compileSchema({ type: 'array', uniqueItems: false })([1, 1]), [])
  })

  it('gives up alternatives that refer to themselves, which doubled with each level of what one call brings', () => {
    const branch = (required: string) => ({
      properties: { x: { $ref: '#/$defs/node' } },
      required: [required],
    })
    const schema = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', anyOf: ['x', 'y'].map(branch) } },
    }
    const nested = (levels: number, end: unknown): unknown =>
      Array.from({ length: levels }).reduce<unknown>((inner) => ({ x: inner }), end)
    const problemsOf = (value: unknown) => bounded(() => compileSchema(schema)(value))
    assert.deepEqual(problemsOf(nested(6, { y: 1 })), [])
    assert.match(problemsText(problemsOf(nested(3, 7))), /must be object, not number/)
    assert.deepEqual(problemsOf(nested(90, 7)), [
      { path: [], message: 'matching so much with a schema that refers to itself takes too long' },
    ])
  })

  it('refuses a schema that is itself wrong, when it is first used', () => {
    assert.throws(() => compileSchema({ type: 'object', requird: ['a'] })({}), /unknown keyword/)
  })

  it('tells all problems in one line', () => {
    assert.equal(
      problemsText([
        { path: ['users', 0, 'roles'], message: 'must be array' },
        { path: [], message: '"a" is required' },
      ]),
      'users[0].roles: must be array; "a" is required',
    )
  })
})

describe('the nearest word', () => {
  const words = ['System Manager', 'Assistant Admin', 'Assistant User', 'port', 'host']
  it('is what a typo was meant to be', () => {
    assert.equal(nearest('Assitant User', words), 'Assistant User')
    assert.equal(nearest('assistant user', words), 'Assistant User')
    assert.equal(nearest('prot', words), 'port')
    assert.equal(nearest('hosts', words), 'host')
  })
  it('is nothing when no word is near', () => {
    assert.equal(nearest('Purchasing', words), undefined)
    assert.equal(nearest('xy', words), undefined)
    assert.equal(nearest('', words), undefined)
  })
})
