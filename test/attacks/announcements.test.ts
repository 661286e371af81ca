/**
 * What daemons tell each other in a shared database, against a role that may connect to it and nothing more: it hears the
 * channel, and announces on it what it likes. With real PostgreSQL, which grants CONNECT to everybody.
 */
import assert from 'node:assert/strict'
import { before, describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { sha256 } from '#leaf/secrets.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import { attemptsOn } from '../../src/house/sign-in-door.ts'
import type { Holder } from '#credentials/holders.ts'
import { SignIn } from '#credentials/sign-in.ts'
import { noPostgres, suitePostgres } from '../helpers/postgres.ts'
import {
  afterwards,
  testClock,
  type TestLog,
  testLog,
  until,
} from '../../packages/state/test/state-folder.ts'

const address = '192.0.2.7'
const right = 'the right password'

/** A door that passwords go through, on a store of its own. */
interface Door {
  readonly signIn: SignIn<Holder>
  readonly store: PostgresStore
  readonly log: TestLog
  /** What it heard. */
  readonly heard: (string | undefined)[]
}

describe(
  'what daemons announce, with a role beside them that may only connect',
  { skip: noPostgres, timeout: 120_000 },
  () => {
    let url: string
    const server = suitePostgres()
    before(async () => {
      await server.admin.query('CREATE ROLE cotenant LOGIN')
    })

    /** So many wrong passwords or codes, before each of which something happens: what came of them. */
    async function guess(
      { signIn }: Door,
      user: string,
      times: number,
      first: () => Promise<unknown>,
    ): Promise<string[]> {
      const kinds: string[] = []
      for (let n = 0; n < times; n++) {
        await first()
        const origin = { request_id: 'r', address }
        const { kind } = user.startsWith('code')
          ? await signIn.attemptSecond(user, origin, 'code', async () => false)
          : await signIn.attempt({ username: user, password: 'a guess' }, origin)
        kinds.push(kind)
      }
      return kinds
    }

    for (const user of ['plain@example.com', 'code@example.com'])
      it(`guesses of ${user.startsWith('code') ? 'second factors' : 'passwords'} are delayed, though it announces before each that the last was right`, async (t) => {
        const [door, cotenant] = await together(t)
        const whose = user.startsWith('code') ? `second factor of ${user}` : user
        const keys = [`pair ${whose} ${address}`, `user ${whose}`, `address ${address}`].map((key) =>
          sha256(key),
        )
        const kinds = await guess(door, user, 20, () => cotenant.say(`sign_in me right ${keys.join(' ')}`))
        assert.deepEqual(kinds, [...Array(5).fill('refused'), ...Array(15).fill('wait')])
      })

    it('it locks nobody out by announcing attempts that nobody made', async (t) => {
      const [door, cotenant] = await together(t)
      const user = 'boss@example.com'
      const keys = [`pair ${user} ${address}`, `user ${user}`, `address ${address}`].map((key) => sha256(key))
      for (let n = 0; n < 60; n++) await cotenant.say(`sign_in me tried ${keys.join(' ')}`)
      await until(() => door.heard.includes(undefined))
      assert.equal(
        (await door.signIn.attempt({ username: user, password: right }, { request_id: 'r', address })).kind,
        'signed_in',
      )
    })

    it('it learns nothing from what it hears', async (t) => {
      const [door, cotenant] = await together(t)
      const user = 'sales@example.com'
      await door.signIn.attempt({ username: user, password: right }, { request_id: 'r', address })
      await door.store.transaction(async (transaction) => transaction.announce(`mcp.cancel ${user}`))
      await until(() => cotenant.heard.length === 3)
      // Who shares the state hears it.
      await until(() => door.heard.includes(`mcp.cancel ${user}`))
      for (const message of cotenant.heard) {
        assert.match(message, /^sealed \d+ [\w-]+$/)
        for (const told of ['sign_in', user, address, sha256(`user ${user}`), sha256(`address ${address}`)])
          for (const text of [message, Buffer.from(message.split(' ')[2]!, 'base64url').toString('latin1')])
            assert.ok(!text.includes(told), told)
      }
    })

    it('it cannot say again what it heard, nor to a daemon that came later, nor in other letters', async (t) => {
      const [door, cotenant, open] = await together(t)
      const user = 'pat@example.com'
      const origin = { request_id: 'r', address }
      assert.equal((await door.signIn.attempt({ username: user, password: right }, origin)).kind, 'signed_in')
      await until(() => cotenant.heard.length === 2)
      const late = await open()
      await late.store.transaction(async (transaction) => transaction.announce('is there'))
      await until(() => [door, late].every(({ heard }) => heard.includes('is there')))
      const [tried, signedIn] = cotenant.heard as [string, string]
      assert.equal(door.heard.filter((message) => message?.startsWith('sign_in ')).length, 2)
      // The last letter has bits to spare: the same bytes have several names.
      const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const twins = letters.split('').map((letter) => signedIn.slice(0, -1) + letter)
      const again = async (): Promise<void> => {
        for (const message of [tried, signedIn, ...twins]) await cotenant.say(message)
      }
      assert.deepEqual((await guess(door, user, 10, again)).slice(5), Array(5).fill('wait'))
      await until(() => late.heard.filter((message) => message?.includes(' tried ')).length >= 5)
      assert.deepEqual(await guess(late, user, 5, again), Array(5).fill('wait'))
      // None of it was heard: what was said is the attempts themselves, six or fewer of each.
      for (const { heard } of [door, late]) {
        await until(() => heard.includes(undefined))
        const words = heard.flatMap((message) =>
          message?.startsWith('sign_in ') ? [message.split(' ')[2]] : [],
        )
        assert.ok(words.filter((word) => word === 'right').length <= 1, 'the one that was right')
      }
    })

    it('a flood of it has the tables looked at once in a while, is counted, and is told to people once', async (t) => {
      const [door, cotenant] = await together(t)
      const { heard, log, store } = door
      await cotenant.client.query(
        "SELECT pg_notify('assistant_core', 'tokens.revoked * ' || n) FROM generate_series(1, 500) AS n",
      )
      await until(() => heard.includes(undefined) && store.stats().unproven === 500)
      await store.transaction(async (transaction) => transaction.announce('after it'))
      await until(() => heard.includes('after it'))
      assert.ok(heard.length < 10, `${heard.length} messages`)
      assert.deepEqual(new Set(heard), new Set(['after it', undefined]))
      assert.equal(
        log.lines.filter(({ message }) => message.startsWith('what was announced without proof')).length,
        1,
      )
    })

    it('it may not read the key', async (t) => {
      const [, cotenant] = await together(t)
      await assert.rejects(cotenant.client.query('SELECT key FROM assistant_core.seal'), { code: '42501' })
    })

    /** A daemon's door, somebody who may only connect to its database, and how another door is opened. */
    async function together(t: TestContext) {
      url = await server.newDatabase()
      const open = (): Promise<Door> => openDoor(t, url)
      const door = await open()
      const place = new URL(url)
      place.username = 'cotenant'
      const client = new Client({ connectionString: place.href })
      await client.connect()
      afterwards(t, () => client.end())
      const heard: string[] = []
      await client.query('LISTEN assistant_core')
      const own = new Set<string>()
      client.on('notification', ({ payload = '' }) => {
        if (!own.has(payload) && !payload.startsWith('listening ')) heard.push(payload)
      })
      const say = async (message: string): Promise<void> => {
        own.add(message)
        await client.query('SELECT pg_notify($1, $2)', ['assistant_core', message])
        // It comes to the daemon before the guess does.
        await wait(5)
      }
      return [door, { client, heard, say }, open] as const
    }
  },
)

async function openDoor(t: TestContext, url: string): Promise<Door> {
  const log = testLog()
  const store = await openPostgresStore({ url, clock: systemClock, log })
  afterwards(t, () => store.close())
  const heard: (string | undefined)[] = []
  store.hear((message) => void heard.push(message))
  const signIn = new SignIn({
    store,
    attempts: attemptsOn(store),
    // No delay is over while it lasts.
    clock: testClock(),
    people: () => ({ find: (id: string) => ({ id, enabled: true }) }),
    passwords: { matches: async (_: string, password: string) => password === right },
    audit: { record: async () => undefined },
  })
  return { signIn, store, log, heard }
}
