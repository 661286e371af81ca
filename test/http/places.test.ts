import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Places } from '../../src/http/places.ts'
import { MovableClock } from '../oauth/server.ts'

function open(t: TestContext, most = 100): { places: Places; clock: MovableClock } {
  const clock = new MovableClock()
  const places = new Places({ clock, most: () => most })
  t.after(() => places.close())
  return { places, clock }
}

/** How many places there are for these requests, which all stay. */
function count(places: Places, network: string, known: boolean): number {
  let taken = 0
  while (places.take(network, known, 0)) taken++
  return taken
}

describe('the places of requests', () => {
  it('are shared: a quarter for one network, four fifths for all whom nobody knows, the rest in reserve', (t) => {
    const { places } = open(t)
    assert.equal(count(places, 'a', false), 25)
    assert.deepEqual(
      ['b', 'c', 'd', 'e'].map((network) => count(places, network, false)),
      [25, 25, 5, 0],
    )
    assert.equal(count(places, 'a', true), 20)
    assert.equal(places.take('f', true, 0), undefined)
    assert.ok(places.take('f', true, 1), 'streams do not count')
  })

  it('come back when the request ends, once', (t) => {
    const { places } = open(t, 8)
    const taken = Array.from({ length: 7 }, () => places.take('a', false, 0))
    assert.equal(places.take('a', false, 0), undefined)
    taken[0]!.leave()
    taken[0]!.leave()
    assert.ok(places.take('a', false, 0))
    assert.equal(places.take('a', false, 0), undefined)
  })

  it('of a caller who turns out to be known are no longer of the share of their network', (t) => {
    const { places } = open(t)
    const taken = Array.from({ length: 25 }, () => places.take('office', false, 0)!)
    assert.equal(places.take('office', false, 0), undefined)
    for (const place of taken) place.isKnown()
    assert.equal(count(places, 'office', false), 25)
    for (const place of taken) place.leave()
    assert.equal(count(places, 'x', true), 75)
  })
})

describe('a body that is still to come', () => {
  it('has ten seconds, or as long as it comes at a kilobyte a second', (t) => {
    const { places, clock } = open(t)
    const turned: string[] = []
    const arrive = (name: string, received: () => number): void =>
      places.arrive({}, { received, turnAway: (status) => turned.push(`${name} ${status}`) })
    arrive('silent', () => 1)
    arrive('steady', () => 25_000)
    clock.pass(10)
    places.sweep()
    assert.deepEqual(turned, [])
    clock.pass(1)
    places.sweep()
    assert.deepEqual(turned, ['silent 408'])
    clock.pass(12)
    places.sweep()
    assert.deepEqual(turned, ['silent 408'])
    clock.pass(3)
    places.sweep()
    assert.deepEqual(turned, ['silent 408', 'steady 408'])
  })
})
