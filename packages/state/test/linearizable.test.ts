/** Histories of three daemons on one database: each could have come about on one, one after the other. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { PostgresStore } from '#state/postgres/store.ts'
import type { Stored } from '#state/store.ts'
import { History, isLinearizable, type Model, type Operation } from '../../../test/helpers/linearizable.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../../../test/helpers/postgres.ts'
import * as fc from '../../../test/helpers/random.ts'
import { openPostgres } from './open-postgres.ts'

interface Register extends Stored {
  readonly value: number
}

/** What is done to one document: `swap` writes `to` where `from` stood, and answers whether it did. */
type Input =
  | { readonly kind: 'read' }
  | { readonly kind: 'write'; readonly to: number }
  | { readonly kind: 'swap'; readonly from: number; readonly to: number }
  | { readonly kind: 'take' }
type Output = number | boolean | undefined

/** A register that may be empty, as code and token are once they were taken. */
const register: Model<number | null, Input, Output> = (state, { input, output, answered }) => {
  const says = (right: Output): boolean => answered === undefined || output === right
  switch (input.kind) {
    case 'read':
      return says(state ?? undefined) ? state : undefined
    case 'write':
      return input.to
    case 'swap': {
      const fits = state === input.from
      return says(fits) ? (fits ? input.to : state) : undefined
    }
  }
  return says(state !== null) ? null : undefined
}

describe('the checker of histories', () => {
  const op = (called: number, answered: number, input: Input, output?: Output): Operation<Input, Output> => ({
    called,
    answered,
    input,
    ...(output !== undefined && { output }),
  })

  it('takes what can be put in order, and nothing else', () => {
    const write = op(1, 4, { kind: 'write', to: 7 })
    // Overlapping, either may come first; afterwards only the new value is right.
    assert.ok(isLinearizable([write, op(2, 3, { kind: 'read' })], null, register))
    assert.ok(isLinearizable([write, op(2, 3, { kind: 'read' }, 7)], null, register))
    assert.ok(!isLinearizable([write, op(5, 6, { kind: 'read' })], null, register), 'a stale read')
    const seenThenNot = [write, op(2, 3, { kind: 'read' }, 7), op(4, 5, { kind: 'read' })]
    assert.ok(!isLinearizable(seenThenNot, null, register), 'a read that goes back')
    const takenTwice = [op(1, 3, { kind: 'take' }, true), op(2, 4, { kind: 'take' }, true)]
    assert.ok(!isLinearizable(takenTwice, 1, register), 'a code that two redeem')
    const lost = [
      op(1, 3, { kind: 'swap', from: 1, to: 2 }, true),
      op(2, 4, { kind: 'swap', from: 1, to: 3 }, true),
    ]
    assert.ok(!isLinearizable(lost, 1, register), 'a lost update')
    const unheard: Operation<Input, Output> = {
      called: 1,
      answered: undefined,
      input: { kind: 'write', to: 9 },
    }
    assert.ok(isLinearizable([unheard, op(2, 3, { kind: 'read' }, 9)], null, register))
    assert.ok(isLinearizable([unheard, op(2, 3, { kind: 'read' })], null, register))
  })
})

const values = fc.integer({ min: 0, max: 3 })
const inputs: fc.Arbitrary<Input> = fc.oneof(
  fc.constant<Input>({ kind: 'read' }),
  fc.record({ kind: fc.constant('write' as const), to: values }),
  fc.record({ kind: fc.constant('swap' as const), from: values, to: values }),
  fc.constant<Input>({ kind: 'take' }),
)
/** What each of three daemons does. */
const plans = fc.array(fc.array(inputs, { minLength: 5, maxLength: 5 }), { minLength: 3, maxLength: 3 })

let server: TestPostgres

describe('three daemons on one database', { skip: noPostgres, timeout: 300_000 }, () => {
  server = suitePostgres()

  it('read, write, swap and take a document as if there were one', async (t) => {
    const stores = await openThree(t)
    for (const [round, plan] of fc.sample(plans, 12).entries()) {
      const history = await record(stores, `round ${round}`, async (daemon, note) => {
        for (const input of plan[daemon]!) await note(input)
      })
      assert.equal(history.length, 15)
      assert.ok(isLinearizable(history, null, register), JSON.stringify(history))
    }
  })

  it('do so while the database drops their connections, whatever was acknowledged', async (t) => {
    const stores = await openThree(t)
    for (let round = 0; round < 2; round++) {
      const over = new AbortController()
      const dropping = (async () => {
        while (!over.signal.aborted) {
          await server.admin.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assistant-core' ORDER BY random() LIMIT 1`,
          )
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
      })()
      const history = await record(stores, `round ${round}`, async (daemon, note) => {
        for (let n = 0; n < 5; n++) {
          await note({ kind: 'write', to: daemon * 100 + n })
          await note({ kind: 'read' })
        }
      }).finally(() => over.abort())
      await dropping
      assert.ok(isLinearizable(history, null, register), JSON.stringify(history))
    }
  })
})

/** What three daemons saw that worked on one document at once. */
async function record(
  stores: readonly PostgresStore[],
  id: string,
  work: (daemon: number, note: (input: Input) => Promise<void>) => Promise<void>,
): Promise<readonly Operation<Input, Output>[]> {
  const history = new History<Input, Output>()
  await Promise.all(
    stores.map((store, daemon) =>
      work(daemon, (input) => history.note(input, () => perform(store, id, input))),
    ),
  )
  return history.operations
}

async function perform(store: PostgresStore, id: string, input: Input): Promise<Output> {
  const all = store.collection<Register>({ name: 'test.register' })
  if (input.kind === 'read') return (await all.get(id))?.value
  if (input.kind === 'take') return await all.delete(id)
  if (input.kind === 'write') return void (await all.put({ id, value: input.to }))
  let swapped = false
  const found = await all.update(id, (found) => {
    // Set and not added to: the work may be run again, and then find nothing.
    swapped = found.value === input.from
    return swapped ? { id, value: input.to } : undefined
  })
  return found !== undefined && swapped
}

async function openThree(t: TestContext): Promise<readonly PostgresStore[]> {
  const url = await server.newDatabase()
  const stores: PostgresStore[] = []
  for (let n = 0; n < 3; n++) {
    stores.push(await openPostgres(t, url))
  }
  return stores
}
