import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { networksOf } from '#leaf/address.ts'
import { HeldConnections } from '#front/held-connections.ts'
import { MovableClock } from '../../../test/oauth/server.ts'

/** Room for ten connections for each of so many places, and what was said of those that were closed. */
function open(places: number, proxies: readonly string[] = []) {
  const clock = new MovableClock()
  const told: string[] = []
  const state = { utilization: 0 }
  const trusted = networksOf(proxies)
  const connections = new HeldConnections({
    clock,
    places: () => places,
    utilization: () => ({ idle: 0, active: 0, ...state }),
    trusted: () => trusted,
    tell: ({ address }) => told.push(address),
  })
  const connect = (remoteAddress: string): Socket => {
    const socket = new EventEmitter() as Socket
    const destroy = (): Socket => {
      Object.assign(socket, { destroyed: true })
      socket.emit('close')
      return socket
    }
    return Object.assign(socket, { remoteAddress, destroyed: false, destroy })
  }
  /** A connection that was let in. */
  const come = (address: string, user?: string): Socket => {
    const socket = connect(address)
    assert.ok(connections.admit(socket), address)
    if (user !== undefined) connections.know(socket, user)
    return socket
  }
  /** How many of that many are let in. */
  const flood = (address: string, count: number): number =>
    Array.from({ length: count }, () => connections.admit(connect(address))).filter(Boolean).length
  return { clock, told, state, come, flood }
}

describe('room for connections', () => {
  it('is for whoever comes; then the oldest gives way on which nobody has signed in', () => {
    const { come, told } = open(1)
    const ann = come('192.0.2.1', 'ann')
    const strangers = Array.from({ length: 9 }, (_, n) => come(`198.51.100.${n}`))
    assert.deepEqual(told, [])
    const late = come('203.0.113.1')
    assert.deepEqual(told, ['198.51.100.0'])
    assert.deepEqual([strangers[0]!.destroyed, strangers[1]!.destroyed], [true, false])
    assert.deepEqual([ann.destroyed, late.destroyed], [false, false])
  })

  it('is given up by the user who holds most, where users hold it', () => {
    const { come } = open(1)
    const ann = come('192.0.2.1', 'ann')
    const greedy = Array.from({ length: 9 }, () => come('192.0.2.2', 'greedy'))
    come('192.0.2.3')
    assert.equal(ann.destroyed, false)
    assert.deepEqual(
      greedy.map(({ destroyed }) => destroyed),
      [true, ...greedy.slice(1).map(() => false)],
    )
  })

  it('comes back when a connection ends', () => {
    const { come, told } = open(1)
    for (let n = 0; n < 50; n++) come('192.0.2.1', 'ann').destroy()
    assert.deepEqual(told, [])
  })

  it('is not for a network that opens thousands a second while hardly any time is left', () => {
    const { flood, state, clock, told } = open(1000)
    assert.equal(flood('192.0.2.1', 1600), 1600)
    clock.pass(1)
    state.utilization = 1
    assert.equal(flood('192.0.2.1', 1600), 1000)
    assert.deepEqual([told.length, new Set(told)], [600, new Set(['192.0.2.1'])])
    assert.equal(flood('192.0.2.2', 10), 10)
    assert.equal(flood('2001:db8::1', 600) + flood('2001:db8::2', 600), 1000)
    clock.pass(1)
    assert.equal(flood('192.0.2.1', 10), 10)
  })

  it("of a trusted proxy is the proxy's to bound", () => {
    const { flood, state, come, told } = open(1, ['10.0.0.0/8'])
    state.utilization = 1
    assert.equal(flood('10.1.1.1', 1000), 1000)
    come('192.0.2.1')
    assert.deepEqual(told, [])
  })
})
