import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Float } from '#jinja/values.ts'
import { suppliedArguments } from '../../src/library/prompts/supplied-arguments.ts'

describe('the arguments inside a request', () => {
  it('keep what JavaScript loses: 1.0, big integers, the order of keys', () => {
    const body = '{"params":{"arguments":{"a":1.0,"b":12345678901234567890,"c":{"10":1,"9":2},"d":1.5}}}'
    const { a, b, c, d } = suppliedArguments(body, ['params', 'arguments'])
    assert.deepEqual(a, new Float(1))
    assert.equal(b, 12345678901234567890n)
    assert.deepEqual([...(c as Map<string, unknown>).keys()], ['10', '9'])
    assert.equal(d, 1.5)
  })

  it('are empty when there are none', () => {
    assert.deepEqual(suppliedArguments('{"params":{}}', ['params', 'arguments']), {})
    assert.deepEqual(suppliedArguments('[]', ['params', 'arguments']), {})
  })
})
