/** What every implementation of the store must do: written once, run against each. */
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { all as allOf, any as anyOf, compared, type Condition } from '#state/questions/conditions.ts'
import { AppError } from '#leaf/errors.ts'
import { Stop } from '#leaf/stop.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import { type TestClock, testClock } from './state-folder.ts'

/** A store opened for one test, with the clock it was given. */
interface OpenedStore {
  readonly store: Store
  readonly advance: (milliseconds: number) => void
  readonly now: () => number
  /** Closes the store and opens it again over the same state. */
  reopen(): Promise<Store>
}

interface Person extends Stored {
  readonly name: string
  readonly email?: string | null
  readonly roles?: readonly string[]
  readonly age?: number
  readonly address?: { readonly city: string }
  readonly until?: number
}

const people = {
  name: 'test.person',
  indexes: ['roles', 'name'],
  unique: ['email'],
  expires: 'until',
} as const

const notes = { name: 'test.note' } as const

/** Runs the suite; `begin` makes an empty state and answers how to open it, and both clean up after the test. */
export function storeContract(
  kind: string,
  begin: (t: TestContext) => Promise<(clock: TestClock) => Promise<Store>>,
): void {
  const open = async (t: TestContext): Promise<OpenedStore> => {
    const clock = testClock()
    const opening = await begin(t)
    let store = await opening(clock)
    const reopen = async (): Promise<Store> => {
      await store.close()
      return (store = await opening(clock))
    }
    return { ...clock, store, reopen }
  }
  const peopleOf = (store: Store) => store.collection<Person>(people)

  describe(`${kind} store: one document`, () => {
    it('is found under its id after it was inserted, and is absent before', async (t) => {
      const { store } = await open(t)
      assert.equal(await peopleOf(store).get('a'), undefined)
      const document = { id: 'a', name: 'Ann', roles: ['x'] }
      assert.deepEqual(await peopleOf(store).insert(document), document)
      assert.deepEqual(await peopleOf(store).get('a'), document)
    })

    it('is refused with conflict when its id is taken, and the stored one stays', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann' })
      await assert.rejects(peopleOf(store).insert({ id: 'a', name: 'Eve' }), isApp('conflict'))
      assert.equal((await peopleOf(store).get('a'))?.name, 'Ann')
    })

    it('is replaced whole by put', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).put({ id: 'a', name: 'Ann', age: 3 })
      await peopleOf(store).put({ id: 'a', name: 'Bea' })
      assert.deepEqual(await peopleOf(store).get('a'), { id: 'a', name: 'Bea' })
    })

    it('is changed by update, left alone when the change answers undefined, and absent stays absent', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann', age: 1 })
      const older = await peopleOf(store).update('a', (person) => ({ ...person, age: 2 }))
      assert.equal(older?.age, 2)
      assert.equal((await peopleOf(store).update('a', () => undefined))?.age, 2)
      assert.equal(await peopleOf(store).update('b', (person) => ({ ...person, age: 9 })), undefined)
      assert.equal(await peopleOf(store).count(), 1)
    })

    it('loses no update when many change it at once', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann', age: 0 })
      const bump = () => peopleOf(store).update('a', (person) => ({ ...person, age: (person.age ?? 0) + 1 }))
      await Promise.all(Array.from({ length: 100 }, bump))
      assert.equal((await peopleOf(store).get('a'))?.age, 100)
    })

    it('may not change its id in an update', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann' })
      await assert.rejects(peopleOf(store).update('a', (person) => ({ ...person, id: 'b' })))
      assert.equal(await peopleOf(store).count(), 1)
    })

    it('is gone after delete, which answers whether it was there', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann' })
      assert.equal(await peopleOf(store).delete('a'), true)
      assert.equal(await peopleOf(store).delete('a'), false)
      assert.equal(await peopleOf(store).get('a'), undefined)
      assert.deepEqual(await peopleOf(store).find({ where: { name: 'Ann' } }), [])
    })

    it('is a copy that nobody can change, not even who stored it', async (t) => {
      const { store } = await open(t)
      const mine = { id: 'a', name: 'Ann', address: { city: 'Ulm' }, roles: ['x'] }
      const stored = await peopleOf(store).insert(mine)
      mine.address.city = 'Bonn'
      mine.roles.push('y')
      assert.deepEqual(await peopleOf(store).get('a'), { ...stored, address: { city: 'Ulm' }, roles: ['x'] })
      const got = (await peopleOf(store).get('a')) as unknown as {
        address: { city: string }
        roles: string[]
      }
      assert.throws(() => (got.address.city = 'Köln'), TypeError)
      assert.throws(() => got.roles.push('z'), TypeError)
    })

    it('is refused when it is not plain JSON, and everything wrong is named', async (t) => {
      const { store } = await open(t)
      const bad: Record<string, unknown>[] = [
        { id: 'a', at: new Date(0) },
        { id: 'a', run: () => 1 },
        { id: 'a', list: [1, undefined] },
        { id: 'a', number: Number.NaN },
        { id: 'a', big: 1n },
        { id: 'a', map: new Map() },
        JSON.parse('{"id":"a","deep":{"__proto__":{"admin":true}}}') as Record<string, unknown>,
        { id: '' },
        { id: 7 },
        { id: 'x'.repeat(2000) },
      ]
      for (const document of bad) {
        await assert.rejects(
          peopleOf(store).put(document as never),
          isApp('invalid'),
          JSON.stringify(Object.keys(document)),
        )
      }
      await assert.rejects(
        peopleOf(store).put({ id: 'a', one: new Date(0), two: { three: [Infinity] } } as never),
        /one: Date.*two\.three\[0\]: Infinity/,
      )
      assert.equal(await peopleOf(store).count(), 0)
    })

    it('keeps texts of every kind, and leaves out members that are undefined', async (t) => {
      const opened = await open(t)
      const name = 'line\nbreak \u2028 "quotes" \\ emoji 🦊 \ud800 nul'
      await peopleOf(opened.store).put({ id: 'ä/ö 🦊\n', name, age: undefined, email: null })
      const store = await opened.reopen()
      assert.deepEqual(await peopleOf(store).get('ä/ö 🦊\n'), { id: 'ä/ö 🦊\n', name, email: null })
    })
  })

  describe(`${kind} store: finding`, () => {
    const fill = async (store: Store): Promise<void> => {
      const all = peopleOf(store)
      await all.insert({ id: 'c', name: 'Cem', roles: ['x', 'y'], age: 30, address: { city: 'Ulm' } })
      await all.insert({ id: 'a', name: 'Ann', roles: ['x'], age: 50 })
      await all.insert({ id: 'd', name: 'Dan', age: 40, email: null })
      await all.insert({ id: 'b', name: 'Ann', roles: ['z'], age: 30 })
    }
    const ids = (documents: readonly Stored[]): string => documents.map(({ id }) => id).join('')

    it('answers in the order of the ids unless told otherwise', async (t) => {
      const { store } = await open(t)
      await fill(store)
      assert.equal(ids(await peopleOf(store).find()), 'abcd')
      assert.equal(ids(await peopleOf(store).find({ order: [{ field: 'age' }] })), 'bcda')
    })

    it('looks up in a collection with an order that is none of documents, and sorts it', async (t) => {
      const { store } = await open(t)
      const tokens = store.collection<Stored & { hash: string; at: number }>({
        name: 'test.token',
        indexes: ['hash'],
        ordered: ['at'],
        unique: ['hash'],
      })
      await tokens.insert({ id: 'a', hash: 'h', at: 2 })
      await tokens.insert({ id: 'b', hash: 'i', at: 1 })
      assert.equal((await tokens.first({ where: { hash: 'h' } }))?.id, 'a')
      assert.equal(ids(await tokens.find({ order: [{ field: 'at' }] })), 'ba')
      const after = { order: [{ field: 'at' }], after: [1, 'b'], limit: 1 }
      assert.equal(ids(await tokens.find(after)), 'a')
    })

    it('looks up by a field with an order what equals it, of whatever kind', async (t) => {
      const { store } = await open(t)
      const all = store.collection<Stored & { value?: unknown }>({
        name: 'document.mixed',
        indexes: ['value'],
        ordered: ['value'],
      })
      const values = [1, true, '1', ['1', 1], { one: 1 }, null, undefined, 2, false, 0, '1']
      for (const [at, value] of values.entries()) await all.insert({ id: 'abcdefghijk'[at]!, value })
      const look = async (value: unknown): Promise<string> => {
        const [where, holds] = [{ value }, compared('value', '=', value)]
        const found = [ids(await all.find({ where })), ids(await all.find({ holds }))]
        assert.deepEqual(
          [await all.count({ where }), await all.count({ holds })],
          [found[0]!.length, found[1]!.length],
        )
        return found.join(' ')
      }
      assert.equal(await look(1), 'ad ab')
      assert.equal(await look(true), 'b ab')
      assert.equal(await look(false), 'i ij')
      assert.equal(await look('1'), 'cdk ck')
      assert.equal(await look(2), 'h h')
      assert.equal(await look('none'), ' ')
      await all.put({ id: 'c', value: ['2', '1'] })
      await all.delete('k')
      assert.equal(await look('1'), 'cd ')
    })

    it('looks up values, members of arrays, nested values and what is absent', async (t) => {
      const { store } = await open(t)
      await fill(store)
      const find = async (where: object): Promise<string> => ids(await peopleOf(store).find({ where }))
      assert.equal(await find({ name: 'Ann' }), 'ab')
      assert.equal(await find({ roles: 'x' }), 'ac')
      assert.equal(await find({ roles: ['x', 'y'] }), 'c')
      assert.equal(await find({ roles: 'x', name: 'Ann' }), 'a')
      assert.equal(await find({ age: 30 }), 'bc')
      assert.equal(await find({ age: '30' }), '')
      assert.equal(await find({ address: { city: 'Ulm' } }), 'c')
      assert.equal(await find({ email: null }), 'abcd')
      assert.equal(await find({ roles: undefined }), 'd')
      assert.equal(await find({ constructor: 'x' }), '')
    })

    it('filters, skips and limits', async (t) => {
      const { store } = await open(t)
      await fill(store)
      const all = peopleOf(store)
      assert.equal(ids(await all.find({ holds: compared('age', '>', 30) })), 'ad')
      assert.equal(ids(await all.find({ offset: 1, limit: 2 })), 'bc')
      assert.equal(ids(await all.find({ offset: 9 })), '')
      assert.equal(ids(await all.find({ limit: 0 })), '')
      const byAge = { order: [{ field: 'age', descending: true }] }
      assert.equal(ids(await all.find({ ...byAge, limit: 1 })), 'a')
      assert.equal(ids(await all.find({ ...byAge, offset: 1, limit: 2 })), 'db')
      assert.equal((await all.first({ where: { roles: 'x' }, ...byAge }))?.id, 'a')
      assert.equal(await all.first({ where: { name: 'Zoe' } }), undefined)
      assert.equal(await all.count(), 4)
      assert.equal(await all.count({ where: { name: 'Ann' }, holds: compared('age', '>', 30) }), 1)
      // What is never equal is not looked at at all, and no value is lost or mixed up for it.
      const other: Condition = { call: '!=', of: [{ value: 'ς' }, { field: 'rows', column: 'item' }] }
      const holds = allOf(
        compared('name', '=', 'Ann'),
        anyOf(other, compared('age', '>', 90)),
        compared('age', '>', 30),
      )
      assert.equal(await all.count({ holds }), 1)
      assert.equal(await all.count({ holds, limit: 10 }), 1)
    })

    it('gives a page and how many there are in all, wherever the page begins', async (t) => {
      const { store } = await open(t)
      for (const name of ['test.person', 'document.person']) {
        const all = store.collection<Stored & { age: number }>({ name, ordered: ['age'] })
        for (const [age, id] of ['a', 'b', 'c', 'd', 'e'].entries()) await all.insert({ id, age })
        const page = async (query: object, upTo = 100): Promise<string> => {
          const { found, total } = await all.page(
            { order: [{ field: 'age', descending: true }], ...query },
            upTo,
          )
          return `${ids(found)} of ${total}`
        }
        assert.equal(await page({}), 'edcba of 5')
        assert.equal(await page({ limit: 2 }), 'ed of 5')
        assert.equal(await page({ limit: 2 }, 3), 'ed of 3')
        assert.equal(await page({ limit: 2, offset: 4 }), 'a of 5')
        assert.equal(await page({ limit: 2, offset: 9 }), ' of 5')
        assert.equal(await page({ limit: 0 }), ' of 5')
        assert.equal(await page({ limit: 2, after: [3, 'd'] }), 'cb of 5')
        assert.equal(await page({ limit: 2, after: [0, 'a'] }), ' of 5')
        const holds = compared('age', '>', 1)
        assert.equal(await page({ limit: 2, holds, after: [3, 'd'] }), 'c of 3')
        assert.equal(await page({ holds: compared('age', '>', 9) }), ' of 0')
        const residue: Condition = {
          call: '=',
          of: [{ call: '%', of: [{ field: 'age' }, { value: 2 }] }, { value: 1 }],
        }
        assert.equal(await page({ limit: 1, holds: residue }), 'd of 2')
        assert.equal(await page({ limit: 1, holds: residue, after: [3, 'd'] }), 'b of 2')
      }
    })

    it('ends a page at its bytes and says so, and goes on behind it until everything was met once', async (t) => {
      const { store } = await open(t)
      const all = store.collection<Stored & { age: number }>({ name: 'document.person', ordered: ['age'] })
      const text = '"'.repeat(100_000)
      await store.transaction(async (tx) => {
        for (let age = 0; age < 60; age++) await tx.in(all).insert({ id: `p${age}`, age, text } as never)
      })
      const order = [{ field: 'age', descending: true }]
      const odd: Condition = {
        call: '=',
        of: [{ call: '%', of: [{ field: 'age' }, { value: 2 }] }, { value: 1 }],
      }
      for (const [holds, step] of [
        [undefined, 1],
        [odd, 2],
      ] as const) {
        const met: number[] = []
        for (let after: readonly unknown[] | undefined; ;) {
          const { found, cut } = await all.page({ holds, order, after, limit: 50, bytes: 1_000_000 }, 0)
          assert.ok(found.length <= 10, String(found.length))
          met.push(...found.map(({ age }) => age))
          if (!cut) break
          const last = found.at(-1)!
          after = [last.age, last.id]
        }
        assert.deepEqual(
          met,
          Array.from({ length: 60 / step }, (_, n) => 59 - n * step),
        )
        assert.equal(await all.count({ holds }), met.length)
      }
      assert.equal((await all.page({ limit: 1, bytes: 1 }, 0)).found.length, 1)
      assert.equal((await all.page({ limit: 2, bytes: 10 << 20 }, 0)).cut, false)
    })

    it('answers no question any more whose work has ended, and others all the same', async (t) => {
      const { store } = await open(t)
      const all = store.collection<Stored & { age: number }>({ name: 'document.person', ordered: ['age'] })
      await all.insert({ id: 'a', age: 1 })
      const stop = new Stop()
      const bound = all.until(stop)
      const words = {
        words: [{ word: 'a', instead: [] }],
        all: true,
        fields: [{ path: 'id', weight: 1 }],
      }
      const questions: readonly (() => Promise<unknown>)[] = [
        () => bound.find(),
        () => bound.first({ where: { age: 1 } }),
        () => bound.page({}, 10),
        () => bound.count({ holds: compared('age', '>', 0) }),
        () => bound.aggregate({ keys: [{ field: 'age' }], measures: [{ of: 'count' }] }),
        () => bound.search(words),
        () => bound.wordsBeginning('a', words.fields, { limit: 1 }),
      ]
      for (const ask of questions) await ask()
      const gone = new Error('gone')
      stop.end(gone)
      for (const ask of questions) await assert.rejects(ask(), gone)
      assert.equal((await all.find()).length, 1)
    })

    it('orders a small page of many documents as sorting everything would', async (t) => {
      const { store } = await open(t)
      const count = 300
      await store.transaction(async (transaction) => {
        for (let index = 0; index < count; index++) {
          await transaction.in(peopleOf(store)).put({ id: `p${index}`, name: 'P', age: (index * 37) % 50 })
        }
      })
      const compare = (a: Person, b: Person): number => (a.age ?? 0) - (b.age ?? 0)
      const sorted = [...(await peopleOf(store).find())].sort(compare)
      assert.equal(sorted.length, count)
      for (const offset of [0, 3, 17]) {
        assert.deepEqual(
          await peopleOf(store).find({ order: [{ field: 'age' }], offset, limit: 7 }),
          sorted.slice(offset, offset + 7),
        )
      }
    })

    it('follows a document whose indexed fields change', async (t) => {
      const { store } = await open(t)
      await fill(store)
      await peopleOf(store).update('a', (person) => ({ ...person, roles: ['y'], name: 'Ada' }))
      assert.equal(ids(await peopleOf(store).find({ where: { roles: 'x' } })), 'c')
      assert.equal(ids(await peopleOf(store).find({ where: { roles: 'y' } })), 'ac')
      assert.equal(ids(await peopleOf(store).find({ where: { name: 'Ada' } })), 'a')
    })
  })

  describe(`${kind} store: unique fields`, () => {
    it('refuses a second document with the value, by insert, put and update, and nothing changes', async (t) => {
      const { store } = await open(t)
      const all = peopleOf(store)
      await all.insert({ id: 'a', name: 'Ann', email: 'ann@example.com' })
      await all.insert({ id: 'b', name: 'Bea', email: 'bea@example.com' })
      const email = 'ann@example.com'
      await assert.rejects(all.insert({ id: 'c', name: 'Eve', email }), isApp('conflict'))
      await assert.rejects(all.put({ id: 'b', name: 'Eve', email }), isApp('conflict'))
      await assert.rejects(
        all.update('b', (person) => ({ ...person, email })),
        isApp('conflict'),
      )
      assert.deepEqual(await all.find({ where: { email } }), [{ id: 'a', name: 'Ann', email }])
      assert.equal((await all.get('b'))?.email, 'bea@example.com')
      assert.equal(await all.count(), 2)
    })

    it('does not count null and absent values, and gives a value free with its document', async (t) => {
      const { store } = await open(t)
      const all = peopleOf(store)
      await all.insert({ id: 'a', name: 'Ann', email: null })
      await all.insert({ id: 'b', name: 'Bea', email: null })
      await all.insert({ id: 'c', name: 'Cem' })
      await all.insert({ id: 'd', name: 'Dan', email: 'x@example.com' })
      await all.delete('d')
      await all.insert({ id: 'e', name: 'Eve', email: 'x@example.com' })
      await all.put({ id: 'e', name: 'Eve', email: 'x@example.com', age: 3 })
      assert.equal(await all.count(), 4)
    })

    it('lets exactly one of many win who want the same value at once', async (t) => {
      const { store } = await open(t)
      const email = 'one@example.com'
      const tries = Array.from({ length: 20 }, (_, index) =>
        peopleOf(store).insert({ id: `p${index}`, name: 'P', email }),
      )
      const outcomes = await Promise.allSettled(tries)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal(await peopleOf(store).count(), 1)
    })

    it('holds within a transaction, whose own writes count', async (t) => {
      const { store } = await open(t)
      const all = peopleOf(store)
      await all.insert({ id: 'a', name: 'Ann', email: 'a@example.com' })
      await store.transaction(async (transaction) => {
        const here = transaction.in(all)
        await here.delete('a')
        await here.insert({ id: 'b', name: 'Bea', email: 'a@example.com' })
        await assert.rejects(here.insert({ id: 'c', name: 'C', email: 'a@example.com' }), isApp('conflict'))
      })
      assert.deepEqual(
        (await all.find()).map(({ id }) => id),
        ['b'],
      )
    })
  })

  describe(`${kind} store: expiry`, () => {
    it('hides a document at once when its time is over, everywhere', async (t) => {
      const { store, advance, now } = await open(t)
      const all = peopleOf(store)
      await all.insert({ id: 'a', name: 'Ann', until: now() + 1000 })
      await all.insert({ id: 'b', name: 'Ann', until: now() + 200_000 })
      await all.insert({ id: 'c', name: 'Ann' })
      advance(1000)
      assert.equal(await all.count(), 3)
      advance(1)
      assert.equal(await all.get('a'), undefined)
      assert.equal(await all.count(), 2)
      assert.equal(await all.count({ where: { name: 'Ann' } }), 2)
      assert.deepEqual(
        (await all.find({ where: { name: 'Ann' } })).map(({ id }) => id),
        ['b', 'c'],
      )
      assert.equal(await all.update('a', (person) => ({ ...person, until: now() + 5000 })), undefined)
      assert.equal(await all.delete('a'), false)
      advance(500_000)
      assert.deepEqual(
        (await all.find()).map(({ id }) => id),
        ['c'],
      )
    })

    it('gives id and unique values of an ended document free, and never brings it back', async (t) => {
      const opened = await open(t)
      const { advance, now } = opened
      const all = peopleOf(opened.store)
      await all.insert({ id: 'a', name: 'Ann', email: 'a@example.com', until: now() + 10 })
      await all.insert({ id: 'b', name: 'Bob', email: 'b@example.com', until: now() + 10 })
      advance(11)
      await all.insert({ id: 'a', name: 'Amy', email: 'b@example.com' })
      advance(-11)
      assert.deepEqual(
        (await all.find()).map(({ name }) => name),
        ['Amy'],
      )
      const store = await opened.reopen()
      assert.deepEqual(
        (await peopleOf(store).find()).map(({ name }) => name),
        ['Amy'],
      )
    })
  })

  describe(`${kind} store: transactions`, () => {
    it('keep everything over several collections', async (t) => {
      const opened = await open(t)
      const result = await opened.store.transaction(async (transaction) => {
        await transaction.in(peopleOf(opened.store)).insert({ id: 'a', name: 'Ann' })
        await transaction.in(opened.store.collection(notes)).insert({ id: 'n' })
        return 42
      })
      assert.equal(result, 42)
      const store = await opened.reopen()
      assert.equal((await peopleOf(store).get('a'))?.name, 'Ann')
      assert.deepEqual(await store.collection(notes).get('n'), { id: 'n' })
    })

    it('keep nothing when the work throws, and hand the error on', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann', roles: ['x'] })
      const fault = new Error('no')
      const work = store.transaction(async (transaction) => {
        await transaction.in(peopleOf(store)).put({ id: 'a', name: 'Eve', roles: ['y'] })
        await transaction.in(peopleOf(store)).insert({ id: 'b', name: 'Bob' })
        await transaction.in(store.collection(notes)).insert({ id: 'n' })
        throw fault
      })
      await assert.rejects(work, (error) => error === fault)
      assert.deepEqual(await peopleOf(store).find(), [{ id: 'a', name: 'Ann', roles: ['x'] }])
      assert.deepEqual(await peopleOf(store).find({ where: { roles: 'y' } }), [])
      assert.equal(await store.collection(notes).count(), 0)
    })

    it('see their own writes, which nobody else sees before the end', async (t) => {
      const { store } = await open(t)
      const all = peopleOf(store)
      await all.insert({ id: 'a', name: 'Ann', roles: ['x'] })
      await all.insert({ id: 'c', name: 'Cem', roles: ['x'] })
      await store.transaction(async (transaction) => {
        const here = transaction.in(all)
        await here.insert({ id: 'b', name: 'Bob', roles: ['x'] })
        await here.put({ id: 'a', name: 'Ada', roles: ['x'] })
        await here.delete('c')
        assert.deepEqual(
          (await here.find({ where: { roles: 'x' } })).map(({ name }) => name),
          ['Ada', 'Bob'],
        )
        assert.equal((await here.first({ order: [{ field: 'name', descending: true }] }))?.name, 'Bob')
        assert.equal(await here.count(), 2)
        assert.deepEqual(
          (await all.find()).map(({ name }) => name),
          ['Ann', 'Cem'],
        )
      })
      assert.deepEqual(
        (await all.find()).map(({ name }) => name),
        ['Ada', 'Bob'],
      )
    })

    it('run one after the other, so that what one read still holds when it writes', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann', age: 0 })
      const bump = () =>
        store.transaction(async (transaction) => {
          const here = transaction.in(peopleOf(store))
          const age = (await here.get('a'))?.age ?? 0
          await new Promise((resolve) => setImmediate(resolve))
          await here.put({ id: 'a', name: 'Ann', age: age + 1 })
        })
      await Promise.all(Array.from({ length: 20 }, bump))
      assert.equal((await peopleOf(store).get('a'))?.age, 20)
    })

    it('tell who asked once they are kept, and only then', async (t) => {
      const { store } = await open(t)
      const told: string[] = []
      await store.transaction(async (transaction) => {
        transaction.onCommit(() => told.push('kept'))
        await transaction.in(peopleOf(store)).insert({ id: 'a', name: 'Ann' })
        assert.deepEqual(told, [])
      })
      assert.deepEqual(told, ['kept'])
      const failing = store.transaction(async (transaction) => {
        transaction.onCommit(() => told.push('never'))
        await transaction.in(peopleOf(store)).insert({ id: 'a', name: 'Ann' })
      })
      await assert.rejects(failing, isApp('conflict'))
      assert.deepEqual(told, ['kept'])
    })

    it('cannot be used any more once they are over', async (t) => {
      const { store } = await open(t)
      const late = await store.transaction(async (transaction) => transaction.in(peopleOf(store)))
      await assert.rejects(late.put({ id: 'a', name: 'Ann' }), /over/)
      assert.equal(await peopleOf(store).count(), 0)
    })
  })

  describe(`${kind} store: groups of documents`, () => {
    const sums = {
      keys: [{ field: 'name' }],
      measures: [{ of: 'sum', field: 'age', places: 1 }, { of: 'count' }, { of: 'max', field: 'email' }],
      order: [{ column: 1, descending: true }],
    } as const

    it('are counted and summed without the loss of a digit, by what they are sorted', async (t) => {
      const { store } = await open(t)
      for (const [id, name, age] of [
        ['a', 'Ann', 0.1],
        ['b', 'Ann', 0.2],
        ['c', 'Bob', 9],
        ['d', 'Cid', 1],
      ] as const)
        await peopleOf(store).insert({ id, name, age, email: id })
      const shown = async (people: Collection<Person>, query = {}) =>
        JSON.parse(JSON.stringify(await people.aggregate({ ...sums, limit: 2, ...query }))) as unknown
      const all = {
        rows: [
          ['Bob', '9.0', 1, 'c'],
          ['Cid', '1.0', 1, 'd'],
        ],
        total: 3,
        documents: 4,
      }
      assert.deepEqual(await shown(peopleOf(store)), all)
      assert.deepEqual(await shown(peopleOf(store), { offset: 2 }), {
        ...all,
        rows: [['Ann', '0.3', 2, 'b']],
      })
      assert.deepEqual(await shown(peopleOf(store), { offset: 3 }), { ...all, rows: [] })
      const few = await peopleOf(store).aggregate(sums, { where: { roles: 'x' } })
      assert.deepEqual(few, { rows: [], total: 0, documents: 0 })
      await store.transaction(async (tx) => {
        await tx.in(peopleOf(store)).delete('c')
        await tx.in(peopleOf(store)).insert({ id: 'e', name: 'Eve', age: 5 })
        assert.deepEqual(await shown(tx.in(peopleOf(store))), {
          ...all,
          rows: [
            ['Eve', '5.0', 1, null],
            ['Cid', '1.0', 1, 'd'],
          ],
        })
      })
    })

    it('sort by the numbers that are shown: what differs only in digits that none of them has goes by its key', async (t) => {
      const { store } = await open(t)
      const long = Number('1000000000000000.2')
      for (const [id, name, age] of [
        ['a', 'Ann', long],
        ['b', 'Bob', long],
        ['c', 'Bob', 0.05],
        ['d', 'Cid', 2e15],
        ['e', 'Dan', null],
      ] as const)
        await peopleOf(store).insert({ id, name, ...(age !== null && { age }) })
      const { rows } = await peopleOf(store).aggregate({
        keys: [{ field: 'name' }],
        measures: [{ of: 'sum', field: 'age' }],
        order: [{ column: 1, descending: true }],
      })
      assert.deepEqual(rows, [
        ['Cid', 2e15],
        ['Ann', long],
        ['Bob', long],
        ['Dan', 0],
      ])
      const { rows: averages } = await peopleOf(store).aggregate({
        keys: [{ field: 'name' }],
        measures: [{ of: 'avg', field: 'age' }],
        order: [{ column: 1 }],
      })
      assert.deepEqual(
        averages.map(([name]) => name),
        ['Dan', 'Bob', 'Ann', 'Cid'],
      )
    })

    it('leave out documents that have ended', async (t) => {
      const opened = await open(t)
      await peopleOf(opened.store).insert({ id: 'a', name: 'Ann', until: opened.now() + 1000 })
      await peopleOf(opened.store).insert({ id: 'b', name: 'Bob' })
      opened.advance(1001)
      const { documents } = await peopleOf(opened.store).aggregate(sums)
      assert.equal(documents, 1)
    })

    it('and totals stay right while others write', async (t) => {
      const { store } = await open(t)
      const asked = { name: 'document.person', ordered: ['age'] } as const
      const all = store.collection<Person>(asked)
      const ids = Array.from({ length: 2500 }, (_, index) => `p${String(index).padStart(4, '0')}`)
      for (let from = 0; from < ids.length; from += 250)
        await store.transaction(async (tx) => {
          for (const [age, id] of ids.slice(from, from + 250).entries())
            await tx.in(all).insert({ id, name: `N${age % 7}`, age: age % 10 })
        })
      const holds = compared('name', '!=', 'N3')
      const counting = all.count({ holds })
      // One that is counted already and one that is not, wherever the counting has come to.
      const writes = [...ids.slice(0, 3), ...ids.slice(-3)].map((id) => all.put({ id, name: 'N3' }))
      await Promise.all([counting, ...writes])
      const found = await all.find({ holds })
      assert.equal(await all.count({ holds }), found.length)
      assert.equal(await all.count({ holds, limit: 100 }), 100)
      assert.equal(await all.count({ holds: compared('age', '<=', 9), limit: 10_000 }), 2494)
      assert.equal(found.filter(({ name }) => name === 'N3').length, 0)
      await all.delete(found[0]!.id)
      await all.insert({ id: 'q', name: 'N1' })
      await all.put({ id: found[1]!.id, name: 'N3' })
      assert.equal(await all.count({ holds }), found.length - 1)
      const { rows } = await all.aggregate({ keys: [], measures: [{ of: 'count' }] }, { holds })
      assert.deepEqual(rows, [[found.length - 1]])
    })
  })

  describe(`${kind} store: as a whole`, () => {
    it('gives the same collection for the same name, and refuses a different declaration', async (t) => {
      const { store } = await open(t)
      assert.equal(peopleOf(store), peopleOf(store))
      assert.throws(() => store.collection({ name: people.name }), /declared twice/)
      assert.throws(() => store.collection({ name: 'Not A Name' }), /no name/)
    })

    it('holds everything after it was closed and opened again', async (t) => {
      const opened = await open(t)
      for (let index = 0; index < 50; index++) {
        await peopleOf(opened.store).put({
          id: `p${index % 20}`,
          name: `P${index}`,
          roles: [`r${index % 3}`],
        })
      }
      await peopleOf(opened.store).delete('p3')
      const before = await peopleOf(opened.store).find()
      const store = await opened.reopen()
      assert.deepEqual(await peopleOf(store).find(), before)
      assert.equal(before.length, 19)
      assert.deepEqual(
        await peopleOf(store).find({ where: { roles: 'r1' } }),
        before.filter(({ roles }) => roles?.includes('r1')),
      )
    })

    it('tells how many documents it holds and that nothing is wrong', async (t) => {
      const { store } = await open(t)
      await peopleOf(store).insert({ id: 'a', name: 'Ann' })
      await store.collection(notes).insert({ id: 'n' })
      const stats = store.stats()
      assert.deepEqual(stats.documents, { 'test.note': 1, 'test.person': 1 })
      assert.equal(stats.fault, undefined)
      assert.ok(stats.bytes > 0)
    })

    it('refuses to be written after it was closed', async (t) => {
      const { store } = await open(t)
      await store.close()
      await assert.rejects(peopleOf(store).put({ id: 'a', name: 'Ann' }), isApp('unavailable'))
      await store.close()
    })
  })
}

/** A check for `assert.rejects`: an AppError of that code. */
export function isApp(code: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof AppError, String(error))
    assert.equal(error.code, code, error.message)
    return true
  }
}
