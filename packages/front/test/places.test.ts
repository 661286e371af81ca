import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { networksOf } from '#leaf/address.ts'
import type { Exchange } from '#front/exchange.ts'
import { readBody } from '#front/request-body.ts'
import { Leaving } from '#front/leaving.ts'
import { Metrics } from '../../../src/http/metrics.ts'
import { Places } from '#front/places.ts'
import { WholeAnswers } from '#front/whole-answer.ts'
import { answerBare } from '../../../src/http/program-calls.ts'
import { requests } from '../../../src/http/requests-middleware.ts'
import { silent } from '../../../test/documents/trading-company.ts'
import { MovableClock } from '../../../test/oauth/server.ts'
import { until } from '../../state/test/state-folder.ts'

function open(t: TestContext, most = 100): { places: Places; clock: MovableClock } {
  const clock = new MovableClock()
  const places = new Places({ clock, most: () => most })
  t.after(() => places.close())
  return { places, clock }
}

/** How many places there are for these requests, which all stay. */
function count(places: Places, network: string, user?: string): number {
  let taken = 0
  while (places.take(network, user, 0)) taken++
  return taken
}

describe('the places of requests', () => {
  it('are shared: a quarter for one network, four fifths for all whom nobody knows, the rest in reserve', (t) => {
    const { places } = open(t)
    assert.equal(count(places, 'a'), 25)
    assert.deepEqual(
      ['b', 'c', 'd', 'e'].map((network) => count(places, network)),
      [25, 25, 5, 0],
    )
    assert.equal(count(places, 'a', 'ann'), 20)
    assert.equal(places.take('f', 'bob', 0), undefined)
    assert.ok(places.take('f', 'bob', 1), 'streams do not count')
  })

  it('of one user are four fifths at most, those included with which it was not known yet whose they are', (t) => {
    const { places } = open(t)
    const first = places.take('a', undefined, 0)!
    first.isKnown('ann')
    assert.equal(count(places, 'b', 'ann'), 79)
    assert.equal(count(places, 'b', 'bob'), 20)
    first.leave()
    assert.equal(count(places, 'c', 'ann'), 1)
  })

  it('come back when the request ends, once', (t) => {
    const { places } = open(t, 8)
    const taken = Array.from({ length: 7 }, () => places.take('a', undefined, 0))
    assert.equal(places.take('a', undefined, 0), undefined)
    taken[0]!.leave()
    taken[0]!.leave()
    assert.ok(places.take('a', undefined, 0))
    assert.equal(places.take('a', undefined, 0), undefined)
  })

  it('of a caller who turns out to be known are no longer of the share of their network', (t) => {
    const { places } = open(t)
    const taken = Array.from({ length: 25 }, () => places.take('office', undefined, 0)!)
    assert.equal(places.take('office', undefined, 0), undefined)
    for (const place of taken) place.isKnown('ann')
    assert.equal(count(places, 'office'), 25)
    for (const place of taken) place.leave()
    assert.equal(count(places, 'x', 'ann'), 75)
  })
})

/** A server that answers bodies, behind the places. */
async function served(
  t: TestContext,
  { places, clock }: ReturnType<typeof open>,
  before: () => Promise<void>,
) {
  const seen = { came: 0, reads: 0, answered: 0 }
  const parts = {
    log: silent,
    metrics: new Metrics(),
    clock,
    subscriptions: { size: 0 },
    places,
    leaving: new Leaving(),
    trusted: () => networksOf([]),
    tracing: undefined,
  }
  const around = requests(parts, { tell: () => undefined, isOfPages: () => false })
  const server = createServer((request, response) => {
    seen.came++
    const endpoint = async (exchange: Exchange): Promise<void> => {
      await before()
      seen.reads++
      const body = await readBody(exchange, 1_000_000)
      seen.answered++
      Object.assign(exchange, { status: 200, type: 'text/plain', body: body.toString() })
    }
    const koa = (): never => assert.fail('nobody asked what the browser accepts')
    const deps = { log: silent, answers: new WholeAnswers(), koa, guard: around }
    answerBare(request, response, { endpoint, varies: false }, deps)
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { seen, port, send: (body: string) => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body }) }
}

describe('a body that is there', () => {
  it('waits only while its sender has room: whole ones filled the memory, too', async (t) => {
    const opened = open(t)
    const { seen, send } = await served(t, opened, () => Promise.resolve())
    const { largeBodies } = opened.places
    // So many of this network are waiting for their turn that not all have had it when the next comes.
    const waiting = Array.from({ length: 500 }, () => largeBodies.turn('127.0.0.1', 1 << 20)!)
    const refused = await send('x'.repeat(100_000))
    assert.equal(refused.status, 503)
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.deepEqual(seen, { came: 1, reads: 1, answered: 0 })
    assert.equal((await send('small')).status, 200)
    assert.equal(largeBodies.isFull('203.0.113.9', 1 << 20), false)
    await Promise.all(waiting)
    assert.equal((await send('x'.repeat(100_000))).status, 200)
    assert.equal(seen.answered, 2)
  })
})

describe('a body that is still to come', () => {
  it('has its time from when it is read, not while something else is waited for, such as the database', async (t) => {
    const opened = open(t)
    const { places, clock } = opened
    let know = (): void => undefined
    const known = new Promise<void>((resolve) => (know = resolve))
    const { seen, port, send } = await served(t, opened, () => known)
    const whole = send('all of it')
    const part = connect({ port, host: '127.0.0.1' })
    part.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na')
    const cut = once(part, 'data')
    await until(() => seen.came === 2)
    clock.pass(60)
    places.sweep()
    know()
    assert.equal(await (await whole).text(), 'all of it')
    await until(() => seen.reads === 2)
    clock.pass(11)
    places.sweep()
    assert.match(String((await cut)[0]), /^HTTP\/1\.1 408 [\s\S]*the body did not come in time/)
    part.destroy()
  })

  it('has ten seconds, or as long as it comes at a kilobyte a second', (t) => {
    const { places, clock } = open(t)
    const turned: string[] = []
    const arrive = (name: string, received: () => number): void =>
      places.arrive({}, { holder: name, received, turnAway: (status) => turned.push(`${name} ${status}`) })
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

  it('filled all memory while their last byte was awaited; now one user has 64 megabytes, and the newest stay', (t) => {
    const { places } = open(t)
    const turned: string[] = []
    const arrive = (name: string, holder: string, bytes: number): void =>
      places.arrive(
        {},
        { holder, received: () => bytes, turnAway: (status) => turned.push(`${name} ${status}`) },
      )
    for (let n = 0; n < 20; n++) arrive(`${n}`, 'ann', 4 << 20)
    for (let n = 0; n < 16; n++) arrive(`bob's ${n}`, 'bob', 4 << 20)
    places.sweep()
    assert.deepEqual(turned, ['3 503', '2 503', '1 503', '0 503'])
    places.sweep()
    assert.equal(turned.length, 4)
  })
})
