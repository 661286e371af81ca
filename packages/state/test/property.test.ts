import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import * as fc from '../../../test/helpers/random.ts'
import { AppError } from '#leaf/errors.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import { noPostgres, startPostgres } from '../../../test/helpers/postgres.ts'
import { openStore, temporaryFolder, testClock, testLog, type TestClock } from './state-folder.ts'

interface Thing extends Stored {
  readonly name?: string | null
  readonly tags?: readonly string[]
  readonly number?: number
  readonly until?: number
}

const spec = { name: 'test.thing', indexes: ['tags'], unique: ['name'], expires: 'until' } as const

type Step =
  | { readonly do: 'insert' | 'put' | 'update'; readonly thing: Thing; readonly lasts: number | undefined }
  | { readonly do: 'delete'; readonly id: string }
  | { readonly do: 'transaction'; readonly steps: readonly Step[]; readonly fails: boolean }
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'reopen' | 'compact' | 'sweep' }

const id = fc.constantFrom('a', 'b', 'c', 'd', 'ä', '🦊', ' ')
const thing: fc.Arbitrary<Thing> = fc.record(
  {
    id,
    name: fc.constantFrom(null, 'n1', 'n2', 'n3', ''),
    tags: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
    number: fc.double({ noNaN: true, noDefaultInfinity: true }),
  },
  { requiredKeys: ['id'] },
)
const lasts = fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined })
const write: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('insert', 'put', 'update'), thing, lasts }),
  fc.record({ do: fc.constant('delete'), id }),
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: write },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('transaction'),
      steps: fc.array(write, { maxLength: 5 }),
      fails: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait'), milliseconds: fc.integer({ min: 1, max: 60 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reopen', 'compact', 'sweep') }) },
)

/** What the store should hold: a map, and nothing clever. */
class Model {
  things = new Map<string, Thing>()
  readonly #clock: TestClock

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  all(): Thing[] {
    return [...this.things.values()]
      .filter(({ until }) => until === undefined || until >= this.#clock.now())
      .sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Answers whether the step is allowed. */
  apply(step: Step): boolean {
    const living = this.all()
    if (step.do === 'delete') return this.things.delete(step.id)
    if (step.do !== 'insert' && step.do !== 'put' && step.do !== 'update') return true
    const there = living.some(({ id }) => id === step.thing.id)
    if (step.do === 'insert' && there) return false
    if (step.do === 'update' && !there) return true
    const next = ended(step, this.#clock)
    const taken = living.some(
      ({ id, name }) => id !== next.id && typeof name === 'string' && name === next.name,
    )
    if (taken) return false
    for (const { id, name } of this.things.values())
      if (id !== next.id && name && name === next.name) this.things.delete(id)
    this.things.set(next.id, next)
    return true
  }
}

function ended(step: { readonly thing: Thing; readonly lasts: number | undefined }, clock: TestClock): Thing {
  const clean = JSON.parse(JSON.stringify(step.thing)) as Thing
  return step.lasts === undefined ? clean : { ...clean, until: clock.now() + step.lasts }
}

async function perform(things: Collection<Thing>, step: Step, clock: TestClock): Promise<boolean> {
  try {
    if (step.do === 'delete') await things.delete(step.id)
    else if (step.do === 'insert') await things.insert(ended(step, clock))
    else if (step.do === 'put') await things.put(ended(step, clock))
    else if (step.do === 'update') await things.update(step.thing.id, () => ended(step, clock))
    return true
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'conflict', String(error))
    return false
  }
}

describe('the embedded store', () => {
  it(
    'does what a map would do, over reopening, compaction, failing transactions and time',
    { timeout: 300_000 },
    async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
          const folder = await temporaryFolder(t)
          await behaves(steps, (clock) => openStore(t, folder, { clock }))
        }),
        { numRuns: 150 },
      )
    },
  )
})

describe('the PostgreSQL store', { skip: noPostgres }, () => {
  it(
    'does what a map would do, over reopening, failing transactions and time',
    { timeout: 300_000 },
    async (t) => {
      const server = await startPostgres(t)
      const url = await server.newDatabase()
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
          const open = (clock: TestClock): Promise<PostgresStore> =>
            openPostgresStore({ url, clock, databaseClock: clock, log: testLog() })
          const before = await open(testClock())
          const things = before.collection<Thing>(spec)
          for (const { id } of await things.find()) await things.delete(id)
          await before.close()
          await behaves(steps, open)
        }),
        { numRuns: 60 },
      )
    },
  )
})

type Opened = Store & { sweep(): Promise<number>; compact?(): Promise<void> }

async function behaves(steps: readonly Step[], open: (clock: TestClock) => Promise<Opened>): Promise<void> {
  // Later than any run before, so that nothing of it comes to life again.
  const clock = testClock(Date.now())
  const model = new Model(clock)
  let store = await open(clock)
  for (const step of steps) {
    const things = store.collection<Thing>(spec)
    if (step.do === 'wait') clock.advance(step.milliseconds)
    else if (step.do === 'compact') await store.compact?.()
    else if (step.do === 'sweep') await store.sweep()
    else if (step.do === 'reopen') {
      await store.close()
      store = await open(clock)
    } else if (step.do === 'transaction') await transact(store, model, step, clock)
    else {
      const allowed = model.apply(step)
      const done = await perform(things, step, clock)
      if (step.do !== 'delete') assert.equal(done, allowed)
    }
    await agree(store.collection<Thing>(spec), model)
  }
  await store.close()
}

async function transact(
  store: Store,
  model: Model,
  { steps, fails }: Step & { readonly do: 'transaction' },
  clock: TestClock,
): Promise<void> {
  const before = new Map(model.things)
  const stop = new Error('stop')
  const work = store.transaction(async (transaction) => {
    const things = transaction.in(store.collection<Thing>(spec))
    // The work may be run again.
    model.things = new Map(before)
    for (const step of steps) {
      const allowed = model.apply(step)
      const done = await perform(things, step, clock)
      if (step.do !== 'delete') assert.equal(done, allowed)
      await agree(things, model)
    }
    if (fails) throw stop
  })
  if (!fails) return await work
  await assert.rejects(work, (error) => error === stop)
  model.things = before
}

async function agree(things: Collection<Thing>, model: Model): Promise<void> {
  const all = model.all()
  assert.deepEqual(await things.find(), all)
  assert.equal(await things.count(), all.length)
  for (const tag of ['x', 'y']) {
    assert.deepEqual(
      await things.find({ where: { tags: tag } }),
      all.filter(({ tags }) => tags?.includes(tag)),
    )
  }
  assert.deepEqual(
    await things.first({ where: { name: 'n1' } }),
    all.find(({ name }) => name === 'n1'),
  )
  assert.deepEqual(
    await things.get('a'),
    all.find(({ id }) => id === 'a'),
  )
}
