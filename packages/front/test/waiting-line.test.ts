import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { setImmediate as look } from 'node:timers/promises'
import { describe, it } from 'node:test'
import { WaitingLine, type Waiting } from '#front/waiting-line.ts'

/** A line whose requests take so many milliseconds each, and what was begun in it. */
function open(milliseconds: number, most = 1000, isRoomy = true) {
  let now = 0
  const begun: string[] = []
  const refused: string[] = []
  const line = new WaitingLine({ most: () => most, isRoomy: () => isRoomy, now: () => now })
  const begin = (name: string) => (): void => {
    now += milliseconds
    begun.push(name)
  }
  const connection = (): Waiting['socket'] & { isRead: boolean } => {
    const change = (changed: object) => (): Socket => Object.assign(socket, changed) as unknown as Socket
    const socket = {
      destroyed: false,
      isRead: true,
      destroy: change({ destroyed: true }),
      pause: change({ isRead: false }),
      resume: change({ isRead: true }),
    }
    return socket
  }
  const come = (caller: string, name = caller, socket = connection()): 'begun' | 'waits' | 'aside' => {
    const refuse = (): void => void refused.push(name)
    if (!line.isFree()) return line.wait(caller, { begin: begin(name), refuse, socket }) ? 'waits' : 'aside'
    begin(name)()
    return 'begun'
  }
  /** How many of that many are let in. */
  const flood = (caller: string, count: number): number =>
    Array.from({ length: count }, () => come(caller)).filter((how) => how !== 'aside').length
  const pass = (time: number): void => void (now += time)
  return { line, begun, refused, come, flood, pass, connection }
}

describe('the line of requests', () => {
  it('is none while there is time: who comes is begun at once', async () => {
    const { come } = open(0.1)
    for (let n = 0; n < 10; n++) assert.equal(come('a'), 'begun')
    await look()
    assert.equal(come('a'), 'begun')
  })

  it('lets callers take turns, however much one of them asks for', async () => {
    const { come, begun } = open(3)
    come('a', 'a0')
    for (const name of ['a1', 'a2', 'a3']) assert.equal(come('a', name), 'waits')
    assert.equal(come('b', 'b1'), 'waits')
    assert.equal(come('c', 'c1'), 'waits')
    while (begun.length < 6) await look()
    assert.deepEqual(begun, ['a0', 'a1', 'b1', 'c1', 'a2', 'a3'])
  })

  it('passes over who took long in a turn, for as long as that, while others wait', async () => {
    const { come, begun, pass, line, connection } = open(1)
    const slow = (name: string): void => {
      const begin = (): void => {
        begun.push(name)
        pass(9)
      }
      line.wait('slow', { begin, refuse: () => undefined, socket: connection() })
    }
    while (come('b', 'before') === 'begun');
    for (const name of ['s1', 's2', 's3']) slow(name)
    for (let n = 0; n < 12; n++) come('b', 'b')
    while (!begun.includes('s3')) await look()
    const order = begun.slice(begun.indexOf('s1')).join(' ')
    assert.match(order, /^s1( b){5} s2( b){5} s3/)
  })

  it('begins nothing whose sender has gone', async () => {
    const { come, begun, connection } = open(3)
    const left = connection()
    come('a', 'a0')
    come('a', 'gone', left)
    left.destroy()
    come('a', 'a2')
    while (begun.length < 2) await look()
    await look()
    assert.deepEqual(begun, ['a0', 'a2'])
    assert.equal(come('a'), 'begun')
  })

  it('takes what comes in a moment, and is kept short once it does not end', async () => {
    const { flood, pass, begun } = open(3)
    // Three milliseconds each are learnt: a second has room for some three hundred, a quarter of it for some eighty.
    flood('a', 30)
    while (begun.length < 30) await look()
    const atOnce = flood('a', 1000)
    assert.ok(atOnce > 200 && atOnce < 500, String(atOnce))
    while (begun.length < 130) await look()
    pass(1000)
    assert.equal(flood('a', 1000), 0)
    while (begun.length < atOnce) await look()
    const later = flood('a', 1000)
    assert.ok(later > 20 && later < 100, String(later))
  })

  it('turns away who has most in it, and nobody who has less than others', async () => {
    const { flood, come, pass, begun } = open(3)
    const letIn = flood('a', 1000)
    pass(2000)
    assert.equal(come('a'), 'aside')
    assert.equal(come('b'), 'waits')
    assert.equal(come('b'), 'waits')
    assert.equal(come('a'), 'aside')
    assert.equal(begun.length, 1)
    while (begun.filter((name) => name === 'b').length < 2) await look()
    assert.ok(begun.length < 6, 'b waited for its turn and not for all of a')
    while (begun.length < letIn + 2) await look()
    await look()
    assert.equal(come('a'), 'begun')
  })

  it('refuses nobody who has a few in it, however slow the machine is', async () => {
    const { come, pass, begun, refused } = open(500)
    for (let n = 0; n < 10; n++) come('a')
    while (begun.length < 5) await look()
    pass(2000)
    for (let n = 0; n < 8; n++) assert.equal(come('a'), 'waits')
    while (begun.length < 18) await look()
    assert.deepEqual(refused, [])
  })

  it('refuses what was put aside little by little, and begins it when nobody else waits', async () => {
    const { flood, refused, begun } = open(3)
    const letIn = flood('a', 2000)
    assert.deepEqual([begun.length, refused.length], [1, 0])
    for (let n = 0; n < 20; n++) await look()
    assert.ok(refused.length > 0 && refused.length <= begun.length, `${refused.length}, ${begun.length}`)
    while (begun.length + refused.length < 2000) await look()
    assert.ok(begun.length > letIn, 'time that was left was used')
  })

  it('begins nothing that was put aside while too much is being worked on', async () => {
    const { flood, refused, begun } = open(3, 1000, false)
    const letIn = flood('a', 2000)
    while (begun.length + refused.length < 2000) await look()
    assert.deepEqual([begun.length, refused.length], [letIn, 2000 - letIn])
  })

  it('hangs up on who sends more without waiting to be refused', async () => {
    const { come, flood, connection, begun, refused } = open(3, 10)
    flood('a', 6)
    const socket = connection()
    assert.equal(come('a', 'one', socket), 'aside')
    assert.equal(socket.destroyed, false)
    assert.equal(come('a', 'two', socket), 'aside')
    assert.equal(socket.destroyed, true)
    while (begun.length < 6) await look()
    await look()
    assert.deepEqual([refused, begun.includes('one'), begun.includes('two')], [[], false, false])
  })

  it('leaves unread what whoever has many waiting sends next, and reads of all in turn', async () => {
    const { line, come, flood, connection, begun } = open(3)
    flood('a', 101)
    const theirs = Array.from({ length: 50 }, () => connection())
    for (const socket of theirs) line.answered('a', socket)
    const others = connection()
    come('b')
    line.answered('b', others)
    const unread = (): boolean[] => theirs.map(({ isRead }) => !isRead)
    assert.ok(unread().every(Boolean))
    assert.equal(others.isRead, true, 'who has few waiting is read from')
    await look()
    await look()
    const read = theirs.filter(({ isRead }) => isRead).length
    assert.ok(read > 0 && read <= 8, String(read))
    assert.deepEqual(
      unread(),
      theirs.map((_, n) => n >= read),
      'the first was answered first',
    )
    while (begun.length < 60) await look()
    const late = connection()
    line.answered('a', late)
    assert.equal(late.isRead, true, 'once few wait')
    for (let n = 0; n < 10; n++) await look()
    assert.ok(!unread().some(Boolean))
  })

  it('leaves none unread once nobody sends any more', async () => {
    const { line, flood, connection, begun } = open(0.5)
    flood('a', 400)
    const theirs = Array.from({ length: 300 }, () => connection())
    for (const socket of theirs) line.answered('a', socket)
    while (begun.length < 400) await look()
    for (let n = 0; n < 10; n++) await look()
    assert.ok(theirs.every(({ isRead }) => isRead))
    assert.equal(line.isFree(), true)
  })

  it('has an end, whoever comes', () => {
    const { come, flood } = open(3, 10)
    assert.equal(flood('a', 100), 6)
    const others = Array.from({ length: 20 }, (_, n) => come(`caller ${n}`)).filter((how) => how === 'waits')
    assert.equal(others.length, 5)
  })

  it('remembers for whom who presents something works', () => {
    const { line } = open(1)
    assert.equal(line.userOf('digest'), undefined)
    line.know('digest', 'ann@example.com')
    assert.equal(line.userOf('digest'), 'ann@example.com')
  })
})
