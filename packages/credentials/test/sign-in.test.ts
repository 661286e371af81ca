import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Holder } from '#credentials/holders.ts'
import { SignIn, type SignInParts } from '#credentials/sign-in.ts'
import type { Store } from '#state/store.ts'
import { holders, opened, password, stoppedClock } from './opened.ts'

type Opened = Awaited<ReturnType<typeof opened>>

const right = { username: 'sales@example.com', password }
const wrong = { username: 'sales@example.com', password: 'not the password' }

function from(address: string): { request_id: string; address: string } {
  return { request_id: 'r', address }
}

async function fail(server: Opened, times: number, address: string): Promise<void> {
  for (let n = 0; n < times; n++) await server.signIn.attempt(wrong, from(address))
}

describe('signing in', () => {
  it('takes the right password, however the name is written', async (t) => {
    const server = await opened(t)
    const outcome = await server.signIn.attempt(
      { username: ' Sales@Example.com ', password },
      from('192.0.2.1'),
    )
    assert.equal(outcome.kind, 'signed_in')
    const [event] = await server.auditEvents('sign_in.ok')
    assert.equal(event?.user, 'sales@example.com')
    assert.equal(event?.address, '192.0.2.1')
  })

  it('answers the same for a wrong password, an unknown user and a disabled one', async (t) => {
    const server = await opened(t)
    server.disable('hr@example.com')
    for (const attempt of [
      wrong,
      { username: 'nobody@example.com', password },
      { username: 'hr@example.com', password },
    ]) {
      assert.deepEqual(await server.signIn.attempt(attempt, from('192.0.2.1')), { kind: 'refused' })
    }
    assert.equal((await server.auditEvents('sign_in.fail')).length, 3)
  })

  it('slows down after failures, more each time, and does not even look at the password meanwhile', async (t) => {
    const server = await opened(t)
    await fail(server, 5, '192.0.2.1')
    const waits: number[] = []
    for (let n = 0; n < 6; n++) {
      const outcome = await server.signIn.attempt(right, from('192.0.2.1'))
      assert.equal(outcome.kind, 'wait')
      if (outcome.kind !== 'wait') return
      waits.push(outcome.seconds)
      server.clock.pass(outcome.seconds)
      await server.signIn.attempt(wrong, from('192.0.2.1'))
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32])
    assert.ok((await server.auditEvents('sign_in.wait')).length >= 6)
  })

  it('takes all addresses of one IPv6 network for one', async (t) => {
    const server = await opened(t)
    for (let n = 0; n < 5; n++) await fail(server, 1, `2001:db8:0:5::${n + 1}`)
    assert.equal((await server.signIn.attempt(right, from('2001:db8:0:5:a:b:c:d'))).kind, 'wait')
    assert.equal((await server.signIn.attempt(right, from('2001:db8:0:6::1'))).kind, 'signed_in')
  })

  it('never waits longer than a quarter of an hour, and forgets', async (t) => {
    const server = await opened(t)
    for (let n = 0; n < 40; n++) {
      await fail(server, 1, '192.0.2.1')
      server.clock.pass(900)
    }
    await fail(server, 1, '192.0.2.1')
    const outcome = await server.signIn.attempt(right, from('192.0.2.1'))
    assert.ok(outcome.kind === 'wait' && outcome.seconds <= 900)
    server.clock.pass(2 * 3600)
    assert.equal((await server.signIn.attempt(right, from('192.0.2.1'))).kind, 'signed_in')
    assert.equal((await server.signIn.attempt(wrong, from('192.0.2.1'))).kind, 'refused')
    assert.equal((await server.signIn.attempt(right, from('192.0.2.1'))).kind, 'signed_in')
  })

  it('counts simultaneous guesses one by one', async (t) => {
    const server = await opened(t)
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, () => server.signIn.attempt(wrong, from('192.0.2.1'))),
    )
    assert.equal(outcomes.filter((outcome) => outcome.kind === 'refused').length, 5)
  })

  it('does not let an attacker elsewhere lock the user out', async (t) => {
    const server = await opened(t)
    await fail(server, 20, '198.51.100.1')
    assert.equal((await server.signIn.attempt(right, from('192.0.2.1'))).kind, 'signed_in')
  })

  it('slows down guesses on one user from many addresses, and on many users from one', async (t) => {
    const server = await opened(t)
    for (let n = 0; n < 30; n++) await fail(server, 1, `198.51.100.${n}`)
    assert.equal((await server.signIn.attempt(right, from('198.51.100.99'))).kind, 'wait')
    for (let n = 0; n < 50; n++) {
      await server.signIn.attempt({ username: `u${n}@example.com`, password }, from('203.0.113.7'))
    }
    const spray = await server.signIn.attempt({ username: 'hr@example.com', password }, from('203.0.113.7'))
    assert.equal(spray.kind, 'wait')
  })

  it('of one person from many places, or of an office of many people, never has to wait while all are right', async (t) => {
    const server = await opened(t)
    for (let n = 0; n < 40; n++)
      assert.equal(
        (await server.signIn.attempt(right, from(`198.51.100.${n}`))).kind,
        'signed_in',
        `place ${n}`,
      )
    const office = from('203.0.113.7')
    for (let n = 0; n < 60; n++) {
      const username = ['sales@example.com', 'hr@example.com', 'admin@example.com'][n % 3]!
      assert.equal(
        (await server.signIn.attempt({ username, password }, office)).kind,
        'signed_in',
        `try ${n}`,
      )
    }
  })

  it('with the right password takes back only its own count of the address', async (t) => {
    const server = await opened(t)
    const spray = async (n: number): Promise<string> =>
      (await server.signIn.attempt({ username: `u${n}@example.com`, password }, from('203.0.113.7'))).kind
    for (let n = 0; n < 49; n++) assert.equal(await spray(n), 'refused')
    assert.equal((await server.signIn.attempt(right, from('203.0.113.7'))).kind, 'signed_in')
    assert.equal(await spray(49), 'refused')
    assert.equal(await spray(50), 'wait', 'one right password does not excuse 50 wrong ones')
  })

  it('uses up nothing of what an address may err by right passwords, however many', async (t) => {
    const server = await opened(t)
    const office = from('203.0.113.7')
    for (let n = 0; n < 60; n++) assert.equal((await server.signIn.attempt(right, office)).kind, 'signed_in')
    for (let n = 0; n < 50; n++) {
      const typo = { username: `u${n}@example.com`, password }
      assert.equal((await server.signIn.attempt(typo, office)).kind, 'refused', `typo ${n}`)
    }
    assert.equal((await server.signIn.attempt(right, office)).kind, 'wait')
  })

  it('forgets failures an hour after the last delay ended, and not before', async (t) => {
    for (const [seconds, kind] of [
      [3600, 'wait'],
      [3601, 'signed_in'],
    ] as const) {
      const server = await opened(t)
      await fail(server, 5, '192.0.2.1')
      // The last of them has a delay of a second.
      server.clock.pass(1 + seconds)
      await fail(server, 4, '192.0.2.1')
      assert.equal((await server.signIn.attempt(right, from('192.0.2.1'))).kind, kind, String(seconds))
    }
  })

  it('counts the second step apart: a right password pardons no guess of it, and guesses of it keep no password out', async (t) => {
    const server = await opened(t)
    const guess = async (isRight: boolean): Promise<string> => {
      const second = server.signIn.attemptSecond(right.username, from('192.0.2.1'), 'code', () =>
        Promise.resolve(isRight),
      )
      return (await second).kind
    }
    for (let n = 0; n < 5; n++) {
      assert.equal(await guess(false), 'refused')
      assert.equal((await server.signIn.attempt(right, from('192.0.2.1'))).kind, 'signed_in')
    }
    assert.equal(await guess(true), 'wait')
    server.clock.pass(1)
    assert.equal(await guess(true), 'signed_in')
    const told = await server.auditEvents('sign_in.wait')
    assert.deepEqual(
      told.map(({ data }) => data?.['method']),
      ['code'],
    )
  })

  it('counts what other daemons were tried with, and its own attempts once, though it hears of them too', async () => {
    const hearers: ((message: string) => void)[] = []
    const parts = {
      store: { transaction: (work: (transaction: object) => unknown) => work({}) } as unknown as Store,
      clock: stoppedClock(),
      people: () => holders([right.username]),
      passwords: { matches: async (_: string, word: string) => word === password },
      audit: { record: async () => {} },
      attempts: {
        // As PostgreSQL does: whoever announces hears it as well.
        announce: (_: unknown, text: string) => hearers.forEach((hear) => hear(text)),
        hear: (hear: (text: string) => void) => void hearers.push(hear),
      },
    } satisfies SignInParts<Holder>
    const [one, other] = [new SignIn(parts), new SignIn(parts)]
    const kinds: string[] = []
    for (const daemon of [one, one, other, one, other, one, other])
      kinds.push((await daemon.attempt(wrong, from('192.0.2.1'))).kind)
    assert.deepEqual(kinds, ['refused', 'refused', 'refused', 'refused', 'refused', 'wait', 'wait'])
    parts.clock.pass(1)
    assert.equal((await other.attempt(right, from('192.0.2.1'))).kind, 'signed_in')
    assert.equal(
      (await one.attempt(wrong, from('192.0.2.1'))).kind,
      'refused',
      'a right one pardons everywhere',
    )
  })

  it('takes as long for users that do not exist', async (t) => {
    const server = await opened(t)
    const time = async (user: string): Promise<number> => {
      const start = process.hrtime.bigint()
      await server.passwords.matches(user, 'not the password')
      return Number(process.hrtime.bigint() - start) / 1e6
    }
    const known: number[] = []
    const unknown: number[] = []
    for (let n = 0; n < 40; n++) {
      known.push(await time('sales@example.com'))
      unknown.push(await time('nobody@example.com'))
    }
    const fastest = (times: number[]): number => Math.min(...times)
    // The fastest of many is what noise cannot make faster; without the decoy it is 100 times less.
    assert.ok(fastest(unknown) > fastest(known) / 3, `${fastest(unknown)} ms and ${fastest(known)} ms`)
  })
})
