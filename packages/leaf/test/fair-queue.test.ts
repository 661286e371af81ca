import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FairQueue } from '#leaf/fair-queue.ts'
import { caller } from '../../sandbox/test/machine.ts'

/** Work that ends when it is told to, and the order in which it began. */
function began(places: FairQueue) {
  const order: string[] = []
  const ends = new Map<string, () => void>()
  const all: Promise<void>[] = []
  return {
    order,
    all,
    start(name: string): void {
      all.push(
        places.use(caller(name[0]), () => {
          order.push(name)
          return new Promise((end) => void ends.set(name, end))
        }),
      )
    },
    async end(name: string): Promise<void> {
      ends.get(name)!()
      await new Promise(setImmediate)
    },
  }
}

describe('places for costly work', () => {
  it('tell what runs and what waits, and are empty when all is done', async () => {
    const places = new FairQueue(3)
    const work = began(places)
    for (const name of ['a1', 'a2', 'a3']) work.start(name)
    assert.deepEqual(places.load(), { running: 2, waiting: 1 })
    await work.end('a1')
    assert.deepEqual(places.load(), { running: 2, waiting: 0 })
    await work.end('a2')
    await work.end('a3')
    await Promise.all(work.all)
    assert.deepEqual(places.load(), { running: 0, waiting: 0 })
  })

  it('keep one for whoever has nothing running, however much another asks for', async () => {
    const work = began(new FairQueue(2))
    for (const name of ['a1', 'a2', 'a3', 'b1']) work.start(name)
    assert.deepEqual(work.order, ['a1', 'b1'])
    for (const name of ['a1', 'b1', 'a2', 'a3']) await work.end(name)
    assert.deepEqual(work.order, ['a1', 'b1', 'a2', 'a3'])
    await Promise.all(work.all)
  })

  it('go to users in turn, not to calls in turn', async () => {
    const work = began(new FairQueue(1))
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) work.start(name)
    for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']) await work.end(name)
    assert.deepEqual(work.order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
    await Promise.all(work.all)
  })

  it('refuse whoever has too much waiting, and nobody else', async () => {
    const places = new FairQueue(1)
    const work = began(places)
    for (let n = 0; n < 17; n++) work.start(`a${n}`)
    await assert.rejects(
      places.use(caller('a'), () => Promise.resolve()),
      { code: 'unavailable', message: /^too much work of yours is waiting/ },
    )
    work.start('b1')
    await work.end('a0')
    assert.deepEqual(work.order, ['a0', 'b1'])
    await work.end('b1')
    for (let n = 1; n < 17; n++) await work.end(`a${n}`)
    await Promise.all(work.all)
  })

  it('let those who leave the queue go, and free a place when work fails', async () => {
    const places = new FairQueue(1)
    let fail: (() => void) | undefined
    const failing = places.use(caller('a'), () => new Promise((_, no) => (fail = () => no(new Error('no')))))
    const controller = new AbortController()
    const leaving = places.use({ user: 'b', signal: controller.signal }, () => Promise.resolve(1))
    controller.abort()
    await assert.rejects(leaving, { message: 'the call was cancelled' })
    fail!()
    await assert.rejects(failing, /no/)
    assert.equal(await places.use(caller('c'), () => Promise.resolve(2)), 2)
    assert.deepEqual(places.load(), { running: 0, waiting: 0 })
  })

  it('are given up, once they were held in peace, to whoever has nothing running', async () => {
    const places = new FairQueue(2, 40)
    const held = (user: string): Promise<unknown> =>
      places
        .use(
          caller(user),
          (signal) => new Promise((_, no) => signal.addEventListener('abort', () => no(new Error('killed')))),
        )
        .catch((error: unknown) => error)
    const [first, second] = [held('a'), held('b')]
    // Whoever has something running waits for its own kind; nobody is ended for that.
    const more = held('a')
    await new Promise((resolve) => setTimeout(resolve, 120))
    assert.deepEqual(places.load(), { running: 2, waiting: 1 })
    assert.equal(await places.use(caller('c'), () => Promise.resolve('done')), 'done')
    assert.match(
      String(await first),
      /it was ended after 0\.\d+ s, since others wait for a place; try again later/,
    )
    assert.deepEqual(places.load(), { running: 2, waiting: 0 })
    assert.equal(await places.use(caller('d'), () => Promise.resolve('done')), 'done')
    await Promise.race([second, more])
  })
})
