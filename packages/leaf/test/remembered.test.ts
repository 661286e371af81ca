import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Remembered } from '../src/remembered.ts'

it('makes a value once for an owner and a text, also one that is false', () => {
  const known = new Remembered<object, boolean>()
  const [one, other] = [{}, {}]
  let made = 0
  const make = (): boolean => ++made > 100
  assert.deepEqual([known.of(one, 'a', make), known.of(one, 'a', make), made], [false, false, 1])
  known.of(one, 'b', make)
  known.of(other, 'a', make)
  assert.equal(made, 3)
})
