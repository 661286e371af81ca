/**
 * Transactions of several daemons, beside each other in each of them, as chance mixes them: sums stay, series have no gap,
 * unique values are held once, what two read of each other is not changed behind their backs, and nothing acknowledged is lost.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { AppError } from '#leaf/errors.ts'
import type { Collection, Store, Stored, Transaction } from '#state/store.ts'
import { noPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import * as fc from '../../../test/helpers/random.ts'
import { afterwards } from './state-folder.ts'
import { openPostgres } from './open-postgres.ts'

interface Account extends Stored {
  readonly amount: number
}
interface Person extends Stored {
  readonly onCall: boolean
}
interface Numbered extends Stored {
  readonly by: string
  readonly email?: string
}

const accounts = { name: 'test.account' } as const
const people = { name: 'test.person', indexes: ['onCall'] } as const
const series = { name: 'test.series', contended: true } as const
const numbered = { name: 'test.numbered', unique: ['email'] } as const
const held = 4
const most = 100

type Step =
  | { readonly do: 'transfer'; readonly from: number; readonly to: number; readonly declared: boolean }
  | { readonly do: 'number'; readonly email: number; readonly declared: boolean; readonly fails: boolean }
  | { readonly do: 'call'; readonly person: number }

const index = fc.integer({ min: 0, max: held - 1 })
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('transfer' as const), from: index, to: index, declared: fc.boolean() }),
  fc.record({
    do: fc.constant('number' as const),
    email: fc.integer({ min: 0, max: 30 }),
    declared: fc.boolean(),
    fails: fc.boolean(),
  }),
  fc.record({ do: fc.constant('call' as const), person: fc.integer({ min: 0, max: 1 }) }),
  fc.record({ do: fc.constant('call' as const), person: fc.integer({ min: 0, max: 1 }) }),
)
/** What each of two daemons does in each of some lines at once, and how long each waits in the middle of its transactions. */
const histories = fc.array(
  fc.array(fc.tuple(steps, fc.integer({ min: 0, max: 10 })), { minLength: 5, maxLength: 8 }),
  {
    minLength: 8,
    maxLength: 8,
  },
)

class Dropped extends Error {}

/** One daemon, and what it was told is kept. */
class Daemon {
  readonly #store: Store
  readonly accounts: Collection<Account>
  readonly people: Collection<Person>
  readonly series: Collection<Account>
  readonly numbered: Collection<Numbered>
  readonly kept: string[] = []

  constructor(store: Store) {
    this.#store = store
    this.accounts = store.collection<Account>(accounts)
    this.people = store.collection<Person>(people)
    this.series = store.collection<Account>(series)
    this.numbered = store.collection<Numbered>(numbered)
  }

  async do(step: Step, pause: number): Promise<void> {
    try {
      if (step.do === 'transfer') await this.#transfer(step, pause)
      else if (step.do === 'number') await this.#number(step, pause)
      else await this.#call(step, pause)
    } catch (error) {
      if (!(error instanceof Dropped || (error instanceof AppError && error.code === 'conflict'))) throw error
    }
  }

  async #transfer({ from, to, declared }: Step & { do: 'transfer' }, pause: number): Promise<void> {
    const reads = [from, to].map((n) => [this.accounts, `a${n}`] as const)
    await this.#store.transaction(
      async (tx) => {
        const all = tx.in(this.accounts)
        const before = (await all.get(`a${from}`))!
        await wait(pause)
        await all.put({ ...before, amount: before.amount - 1 })
        await all.update(`a${to}`, (account) => ({ ...account, amount: account.amount + 1 }))
      },
      declared ? { reads } : {},
    )
  }

  async #number({ email, declared, fails }: Step & { do: 'number' }, pause: number): Promise<void> {
    const work = async (tx: Transaction): Promise<string> => {
      const counters = tx.in(this.series)
      const amount = ((await counters.get('s'))?.amount ?? 0) + 1
      await wait(pause)
      await counters.put({ id: 's', amount })
      const id = String(amount).padStart(4, '0')
      await tx.in(this.numbered).insert({ id, by: `e${email}`, ...(email < 10 && { email: `e${email}` }) })
      if (fails) throw new Dropped()
      return id
    }
    this.kept.push(await this.#store.transaction(work, declared ? { reads: [[this.series, 's']] } : {}))
  }

  /** Who is on call leaves if somebody else is; who is not returns. */
  async #call({ person }: Step & { do: 'call' }, pause: number): Promise<void> {
    await this.#store.transaction(async (tx) => {
      const all = tx.in(this.people)
      const found = await all.find({ where: { onCall: true } })
      assert.ok(found.length > 0, 'somebody is on call')
      const isOn = found.some(({ id }) => id === `p${person}`)
      await wait(pause)
      if (!isOn || found.length > 1) await all.put({ id: `p${person}`, onCall: !isOn })
    })
  }
}

describe('transactions of several daemons', { skip: noPostgres }, () => {
  const server = suitePostgres()

  it(
    'keep every sum, number and promise, however they are mixed',
    { timeout: 120_000 },
    async (t: TestContext) => {
      await fc.assert(
        fc.asyncProperty(histories, async (lines) => {
          const url = await server.newDatabase()
          const stores = [await openPostgres(t, url), await openPostgres(t, url)]
          const daemons = stores.map((store) => new Daemon(store))
          for (let n = 0; n < held; n++) {
            await daemons[0]!.accounts.put({ id: `a${n}`, amount: most })
            if (n < 2) await daemons[0]!.people.put({ id: `p${n}`, onCall: true })
          }
          await Promise.all(
            lines.map(async (line, n) => {
              for (const [step, pause] of line) await daemons[n % 2]!.do(step, pause)
            }),
          )
          await holds(daemons)
          for (const store of stores) await store.close()
        }),
        { numRuns: 5, endOnFailure: true },
      )
    },
  )

  it(
    'wait for a row that somebody else has locked only where they write it',
    { timeout: 60_000 },
    async (t) => {
      const url = await server.newDatabase()
      const store = await openPostgres(t, url)
      const [all, counters] = [store.collection<Account>(accounts), store.collection<Account>(series)]
      await all.put({ id: 'locked', amount: 0 })
      await counters.put({ id: 's', amount: 0 })
      const other = new Client(url)
      await other.connect()
      afterwards(t, () => other.end())
      await other.query('BEGIN')
      const { rowCount } = await other.query('SELECT FROM assistant_core.document FOR UPDATE')
      assert.equal(rowCount, 2)
      let waiting = 0
      const waits = async (work: Promise<unknown>): Promise<void> => {
        waiting++
        await work
        waiting--
      }
      const add = (account: Account): Account => ({ ...account, amount: account.amount + 1 })
      const stuck = Array.from({ length: 12 }, (_, n) =>
        waits(
          n % 2 === 0
            ? all.update('locked', add)
            : store.transaction((tx) => tx.in(counters).update('s', add), { reads: [[counters, 's']] }),
        ),
      )
      // More of them than there are connections, so that one that got in their way would never end.
      for (let n = 0; n < 20; n++) await all.put({ id: `free${n}`, amount: n })
      await store.transaction(async (tx) => void (await tx.in(all).update('free1', add)))
      assert.equal(waiting, 12)
      await other.query('ROLLBACK')
      await Promise.all(stuck)
      assert.deepEqual([(await all.get('locked'))?.amount, (await counters.get('s'))?.amount], [6, 6])
    },
  )
})

async function holds(daemons: readonly Daemon[]): Promise<void> {
  const [one] = daemons
  const all = await one!.accounts.find()
  assert.equal(
    all.reduce((sum, { amount }) => sum + amount, 0),
    held * most,
  )
  assert.ok((await one!.people.count({ where: { onCall: true } })) > 0, 'somebody is on call')
  const found = await one!.numbered.find()
  const last = (await one!.series.get('s'))?.amount ?? 0
  const wanted = Array.from({ length: last }, (_, n) => String(n + 1).padStart(4, '0'))
  assert.deepEqual(
    found.map(({ id }) => id),
    wanted,
  )
  assert.deepEqual(
    daemons.flatMap(({ kept }) => kept).sort(),
    wanted,
    'what is acknowledged is there, and nothing else',
  )
  const emails = found.flatMap(({ email }) => email ?? [])
  assert.equal(new Set(emails).size, emails.length)
}
