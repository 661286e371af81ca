import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { inTurns, type Slices } from '#leaf/slices.ts'
import { Stop } from '#leaf/stop.ts'
import {
  noPostgres,
  startPostgres,
  suitePostgres,
  type TestPostgres,
} from '../../../test/helpers/postgres.ts'
import type { Migration } from '#state/migrate.ts'
import { Database } from '#state/postgres/servers/database.ts'
import { IndexBuilder } from '#state/postgres/indexes.ts'
import { sliced } from '#state/postgres/reading.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import type { PostgresStoreOptions } from '#state/postgres/servers/options.ts'
import type { Stored } from '#state/store.ts'
import { verifyBackup } from '#state/verify.ts'
import { isApp, storeContract } from './contract.ts'
import { openPostgres } from './open-postgres.ts'
import { afterwards, temporaryFolder, testClock, testLog, until } from './state-folder.ts'

interface Note extends Stored {
  readonly n?: number
  readonly email?: string
  readonly tags?: readonly string[]
  readonly until?: number
}

const notes = { name: 'test.note', indexes: ['tags'], unique: ['email'], expires: 'until' } as const

let server: TestPostgres

describe('PostgreSQL', { skip: noPostgres }, () => {
  server = suitePostgres()

  storeContract('PostgreSQL', async (t) => {
    const url = await server.newDatabase()
    return (clock) => openStore(t, url, { clock })
  })

  describe('a PostgreSQL store', () => {
    it('is made in a schema that somebody made for its user, who may make none', async (t) => {
      const url = new URL(await server.newDatabase())
      const owner = new Client({ connectionString: url.href })
      await owner.connect()
      afterwards(t, () => owner.end())
      await owner.query('CREATE ROLE narrow LOGIN')
      url.username = 'narrow'
      await assert.rejects(openStore(t, url.href), /must own the schema/)
      await owner.query('CREATE SCHEMA assistant_core AUTHORIZATION narrow')
      const store = await openStore(t, url.href)
      await store.collection<Note>(notes).put({ id: 'a' })
      assert.equal(await store.collection<Note>(notes).count(), 1)
    })

    it('keeps U+0000, half characters, key order and hostile texts exactly', async (t) => {
      const url = await server.newDatabase()
      const store = await openStore(t, url)
      const all = store.collection<Note>(notes)
      const hostile = [
        'nul \0 in between',
        '\ud800',
        '\udc00\ud800',
        `'; DROP TABLE assistant_core.document; --`,
        '$1 %s \\ \\x00 {"a"}',
        '\u{10ffff}\uffff',
        ' ',
        'x'.repeat(1024),
        '\u{10ffff}'.repeat(512),
      ]
      for (const [n, id] of hostile.entries()) {
        await all.insert({ id, n, email: id, tags: [id, `t${n}`] })
        await assert.rejects(all.insert({ id: `other${n}`, email: id }), isApp('conflict'))
      }
      const ordered = JSON.parse(
        '{"id":"order","z":1,"a":{"y":1,"\\u0000":2,"b":[{"d":1,"c":2}]},"10":1,"9":2}',
      ) as Note
      await all.put(ordered)
      const again = await openStore(t, url)
      const found = again.collection<Note>(notes)
      for (const [n, id] of hostile.entries()) {
        assert.deepEqual(await found.get(id), { id, n, email: id, tags: [id, `t${n}`] })
        assert.deepEqual(
          (await found.find({ where: { tags: id } })).map((one) => one.n),
          [n],
        )
        assert.equal((await found.first({ where: { email: id } }))?.n, n)
      }
      assert.equal(JSON.stringify(await found.get('order')), JSON.stringify(ordered))
      // By UTF-16 code units, as everywhere in the program.
      assert.deepEqual(
        (await found.find()).map(({ id }) => id),
        [...hostile, 'order'].sort(),
      )
      const names = await found.find({ where: { "n'; --": 1 } as never })
      assert.deepEqual(names, [])
      // Which the database takes for the same.
      for (const text of ['x\0', 'x\ufdd0', 'x\ud800', 'x\udfff'])
        await found.insert({ id: text, email: text, tags: [text] })
      for (const text of ['x\0', 'x\ufdd0', 'x\ud800', 'x\udfff']) {
        const one = [{ id: text, email: text, tags: [text] }]
        assert.deepEqual(await found.find({ where: { email: text } }), one)
        assert.deepEqual(await found.find({ where: { tags: text } }), one)
        await assert.rejects(found.insert({ id: `${text} again`, email: text }), isApp('conflict'))
      }
    })

    it('puts what a transaction reads in no line: others wait for the transaction itself', async () => {
      const stop = new Stop()
      let others = 0
      const endless = Array.from({ length: 30 }, () =>
        inTurns(
          (function* () {
            for (;;) {
              others++
              yield undefined
            }
          })(),
          stop,
        ).catch(() => undefined),
      )
      function* slices(): Slices<number> {
        for (let n = 0; n < 10; n++) yield undefined
        return others
      }
      const rows = (): Promise<never[]> => Promise.resolve([])
      const before = others
      const own = (await sliced({ rows, isTransaction: true }, slices())) - before
      await sliced({ rows }, slices())
      stop.end(new Error('enough'))
      await Promise.all(endless)
      assert.ok(own <= 20, `${own} slices of others came between ten`)
      assert.ok(others - before > 200, 'in the line all others come before each')
    })

    it('is reached through a socket of this machine as well', async (t) => {
      const url = new URL(await server.newDatabase())
      const { rows } = await server.admin.query<{ unix_socket_directories: string }>(
        'SHOW unix_socket_directories',
      )
      url.hostname = 'localhost'
      url.searchParams.set('host', rows[0]!.unix_socket_directories)
      const store = await openStore(t, url.href)
      await store.collection<Note>(notes).put({ id: 'a' })
    })

    it('tells a text from a number, and finds values too long for an index of the database', async (t) => {
      const store = await openStore(t, await server.newDatabase())
      const all = store.collection<Note>(notes)
      const long = 'long '.repeat(100_000)
      await all.insert({ id: 'a', tags: ['1', long] })
      await all.insert({ id: 'b', tags: [1 as never, true as never] })
      const find = async (tag: unknown): Promise<string> =>
        (await all.find({ where: { tags: tag as never } })).map(({ id }) => id).join()
      assert.equal(await find('1'), 'a')
      assert.equal(await find(1), 'b')
      assert.equal(await find(true), 'b')
      assert.equal(await find('true'), '')
      assert.equal(await find(long), 'a')
    })

    it('removes what has ended from the database by itself', async (t) => {
      const url = await server.newDatabase()
      const clock = testClock()
      const store = await openStore(t, url, { clock, sweepMilliseconds: 20 })
      const all = store.collection<Note>(notes)
      for (let n = 0; n < 5; n++) await all.insert({ id: `n${n}`, tags: ['x'], until: clock.now() + n })
      await all.insert({ id: 'stays', tags: ['x'] })
      clock.advance(86_400_100)
      const client = await connect(t, url)
      await until(async () => (await countOf(client)) === 1)
      await until(() => store.stats().documents['test.note'] === 1)
    })

    it('builds what a collection is looked up by when that is declared later, and refuses values that are taken from then on', async (t) => {
      const url = await server.newDatabase()
      const first = await openStore(t, url)
      const plain = first.collection<Note>({ name: 'test.note' })
      for (let n = 0; n < 1200; n++)
        await plain.insert({ id: `n${n}`, n, tags: [`t${n % 7}`], email: `${n}`, until: 5 })
      await first.close()
      const clock = testClock(4)
      const second = await openStore(t, url, { clock })
      const all = second.collection<Note>(notes)
      // At once, whether or not it is built yet.
      assert.equal(await all.count({ where: { tags: 't3' } }), 171)
      await all.put({ id: 'n3', email: '3', tags: ['new'] })
      assert.equal(await all.count({ where: { tags: 't3' } }), 170)
      await assert.rejects(all.insert({ id: 'another', email: '5' }), isApp('conflict'))
      clock.advance(2)
      assert.equal(await all.count(), 1)
      await second.close()

      // What was shared before somebody declared it unique stays; nobody else gets it.
      const third = await openStore(t, url)
      await third.collection<Note>({ name: 'test.note' }).put({ id: 'same', email: '3' })
      await third.close()
      const fourth = await openStore(t, url, { clock: testClock(4) })
      const again = fourth.collection<Note>(notes)
      await assert.rejects(again.put({ id: 'x', email: '3' }), /email "3" is taken/)
      await again.put({ id: 'x' })
      assert.equal(await again.count({ where: { email: '3' } }), 2)
    })

    it('keeps the file of a backup that the embedded store can read', async (t) => {
      const store = await openStore(t, await server.newDatabase())
      const all = store.collection<Note>(notes)
      for (let n = 0; n < 600; n++) await all.insert({ id: `n${n}`, email: `${n}\0` })
      const { createWriteStream } = await import('node:fs')
      const path = `${await temporaryFolder(t)}/state.backup`
      await store.streamTo(createWriteStream(path))
      const found = await verifyBackup(path)
      assert.equal(found.ok, true, found.faults.join())
      assert.deepEqual(found.documents, { 'test.note': 600 })
      await all.put({ id: 'goes on' })
    })
  })

  describe('several daemons on one database', () => {
    it('lose no update, and never come between what a transaction reads and writes', async (t) => {
      const url = await server.newDatabase()
      const stores = [await openStore(t, url), await openStore(t, url), await openStore(t, url)]
      await stores[0]!.collection<Note>(notes).insert({ id: 'a', n: 0 })
      const bumps = stores.flatMap((store) => {
        const all = store.collection<Note>(notes)
        const update = () => all.update('a', (note) => ({ ...note, n: note.n! + 1 }))
        const transact = () =>
          store.transaction(async (transaction) => {
            const here = transaction.in(all)
            const { n } = (await here.get('a'))!
            await wait(2)
            const [again] = await here.find()
            assert.equal(again!.n, n)
            await here.put({ id: 'a', n: n! + 1 })
          })
        return Array.from({ length: 15 }, () => [update(), transact()]).flat()
      })
      await Promise.all(bumps)
      for (const store of stores) assert.equal((await store.collection<Note>(notes).get('a'))?.n, 90)
    })

    it('do not wait for one that stands still, but for the row that it wrote, and that not for long', async (t) => {
      const url = await server.newDatabase()
      const [frozen, other] = [await openStore(t, url), await openStore(t, url)]
      const [here, there] = [frozen.collection<Note>(notes), other.collection<Note>(notes)]
      await here.insert({ id: 'a', n: 0 })
      let runs = 0
      let release = (): void => undefined
      const released = new Promise<void>((resolve) => (release = resolve))
      const standing = frozen.transaction(async (transaction) => {
        runs++
        const { n } = (await transaction.in(here).get('a'))!
        await transaction.in(here).put({ id: 'a', n: n! + 1 })
        // As long as the server bears it, and longer.
        if (runs === 1) await released
        await transaction.in(here).put({ id: 'b', n: runs })
      })
      await until(() => runs === 1)
      const began = performance.now()
      await there.put({ id: 'c' })
      await other.transaction(async (transaction) => {
        await transaction.in(there).put({ id: 'd' })
        assert.equal(await transaction.in(there).count({ where: { tags: 'none' } }), 0)
      })
      const beside = performance.now() - began
      await there.update('a', (note) => ({ ...note, n: note.n! + 10 }))
      const row = performance.now() - began
      release()
      await standing
      assert.equal(runs, 2, 'nothing of the first time was kept')
      assert.deepEqual(await there.get('a'), { id: 'a', n: 11 })
      assert.ok(beside < 1_500, `others waited ${beside} ms`)
      assert.ok(row < 10_000, `who writes the same row waited ${row} ms`)
    })

    it('begin again though they learn that they were ended when it is long over', async (t) => {
      const url = await server.newDatabase()
      const store = await openStore(t, url)
      const all = store.collection<Note>(notes)
      const admin = new Client(url)
      await admin.connect()
      t.after(() => admin.end())
      const standing = async (): Promise<number> => {
        const text = `SELECT count(*)::int AS count FROM pg_stat_activity
          WHERE datname = current_database() AND state = 'idle in transaction'`
        return (await admin.query<{ count: number }>(text)).rows[0]!.count
      }
      let runs = 0
      await store.transaction(async (transaction) => {
        runs++
        await transaction.in(all).get('a')
        await transaction.in(all).put({ id: 'a', n: runs })
        if (runs === 1) await until(async () => (await standing()) === 0)
        await transaction.in(all).put({ id: 'b', n: runs })
      })
      assert.deepEqual(await all.find(), [
        { id: 'a', n: 2 },
        { id: 'b', n: 2 },
      ])
    })

    it('begin anew after a collision, also where the work tells it in words of its own', async (t) => {
      const url = await server.newDatabase()
      const [one, two] = [await openStore(t, url), await openStore(t, url)]
      const [mine, theirs] = [one.collection<Note>(notes), two.collection<Note>(notes)]
      await mine.put({ id: 'a', n: 1 })
      let runs = 0
      await one.transaction(async (tx) => {
        runs++
        const { n = 0 } = (await tx.in(mine).get('a'))!
        if (runs === 1) await theirs.put({ id: 'a', n: 10 })
        try {
          await tx.in(mine).put({ id: 'a', n: n + 1 })
        } catch (cause) {
          throw new AppError('invalid', 'the note could not be counted', { cause })
        }
      })
      assert.deepEqual([runs, (await theirs.get('a'))?.n], [2, 11])
    })

    it('share unique values: of all who want one, one gets it', async (t) => {
      const url = await server.newDatabase()
      const stores = [await openStore(t, url), await openStore(t, url)]
      const outcomes = await Promise.allSettled(
        stores.flatMap((store, s) =>
          Array.from({ length: 10 }, (_, n) =>
            store.collection<Note>(notes).put({ id: `${s}.${n}`, email: 'one@example.com', tags: ['x'] }),
          ),
        ),
      )
      const refused = outcomes.filter((one) => one.status === 'rejected')
      assert.equal(refused.length, 19)
      for (const { reason } of refused) assert.ok(isApp('conflict')(reason))
      assert.equal(await stores[1]!.collection<Note>(notes).count({ where: { tags: 'x' } }), 1)
    })

    it('make the same new document only once, and replace it otherwise', async (t) => {
      const url = await server.newDatabase()
      const stores = [await openStore(t, url), await openStore(t, url)]
      for (let round = 0; round < 10; round++) {
        const id = `d${round}`
        const inserts = await Promise.allSettled(
          stores.map((store, n) => store.collection<Note>(notes).insert({ id, n, tags: [`i${n}`] })),
        )
        assert.equal(inserts.filter(({ status }) => status === 'fulfilled').length, 1)
        await Promise.all(
          stores.map((store, n) => store.collection<Note>(notes).put({ id: `p${id}`, n, tags: [`p${n}`] })),
        )
      }
      const all = stores[0]!.collection<Note>(notes)
      assert.equal(await all.count(), 20)
      const counts = await Promise.all([0, 1].map((n) => all.count({ where: { tags: `p${n}` } })))
      assert.equal(counts[0]! + counts[1]!, 10)
    })

    it('make the table of a collection once, and none misses what another writes into it first', async (t) => {
      const url = await server.newDatabase()
      const stores = [await openStore(t, url), await openStore(t, url), await openStore(t, url)]
      const first = async (store: PostgresStore, n: number): Promise<boolean> => {
        const all = store.collection<Note>({ name: 'test.first', indexes: ['n'] })
        return await store.transaction(async (transaction) => {
          if ((await transaction.in(all).count({ where: { n: 1 } })) > 0) return false
          await transaction.in(all).insert({ id: `s${n}`, n: 1 })
          return true
        })
      }
      const won = await Promise.all(stores.flatMap((store, n) => [first(store, n), first(store, n + 3)]))
      assert.equal(won.filter(Boolean).length, 1)
      assert.equal(await stores[1]!.collection<Note>({ name: 'test.first', indexes: ['n'] }).count(), 1)
    })

    it('see at once what another kept, and nothing of what it has not', async (t) => {
      const url = await server.newDatabase()
      const [one, two] = [await openStore(t, url), await openStore(t, url)]
      const [here, there] = [one.collection<Note>(notes), two.collection<Note>(notes)]
      await one.transaction(async (transaction) => {
        await transaction.in(here).insert({ id: 'a', tags: ['x'] })
        assert.equal(await there.get('a'), undefined)
        assert.equal(await there.count({ where: { tags: 'x' } }), 0)
      })
      assert.equal(await there.count({ where: { tags: 'x' } }), 1)
      await there.delete('a')
      assert.equal(await here.get('a'), undefined)
      await two.look()
      assert.deepEqual(two.stats().documents, { 'test.note': 0 })
    })

    it(
      'hear what the others announce once it is kept, and that they may have missed something',
      { timeout: 60_000 },
      async (t) => {
        const url = await server.newDatabase()
        const [one, two] = [await openStore(t, url), await openStore(t, url, { lookMilliseconds: 50 })]
        const heard: (string | undefined)[] = []
        two.hear((message) => heard.push(message))
        const failing = one.transaction(async (transaction) => {
          transaction.announce('never')
          throw new Error('no')
        })
        await assert.rejects(failing, /no/)
        await one.transaction(async (transaction) => {
          transaction.announce("it's \\ kept")
          await wait(50)
          assert.deepEqual(heard, [])
        })
        await until(() => heard.length > 0)
        assert.deepEqual(heard, ["it's \\ kept"])
        await server.admin.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query LIKE '%FROM assistant_core.seal'",
        )
        await until(() => heard.length > 1)
        assert.deepEqual(heard.slice(1), [undefined])
        await one.transaction(async (transaction) => transaction.announce('again'))
        await until(() => heard.length > 2)
        assert.equal(heard[2], 'again')
      },
    )

    it('of two versions do not undo what the other declared, and read and write rightly', async (t) => {
      const url = await server.newDatabase()
      const clock = testClock(10)
      const [old, young] = [await openStore(t, url, { clock }), await openStore(t, url, { clock })]
      const before = old.collection<Note>({
        name: 'test.note',
        indexes: ['tags'],
        unique: ['n'],
        expires: 'until',
      })
      await before.insert({ id: 'a', n: 1, tags: ['x'], until: 20 })
      const after = young.collection<Note>({ name: 'test.note', indexes: ['tags'], unique: ['email'] })
      await after.insert({ id: 'b', n: 2, email: 'b', tags: ['x'] })
      await before.insert({ id: 'c', n: 3, email: 'c', tags: ['x'], until: 20 })
      await old.transaction(async (transaction) =>
        transaction.in(before).put({ id: 'd', n: 4, email: 'd', tags: ['y'] }),
      )
      await after.put({ id: 'e', email: 'e', tags: ['x'] })
      // What each refuses is what it declared itself, whoever wrote what is in its way.
      await assert.rejects(after.insert({ id: 'f', email: 'c' }), isApp('conflict'))
      await assert.rejects(before.insert({ id: 'f', n: 2 }), isApp('conflict'))
      clock.advance(20)
      const ids = (found: readonly Note[]): string => found.map(({ id }) => id).join('')
      assert.equal(ids(await before.find({ where: { tags: 'x' } })), 'be')
      assert.equal(ids(await after.find({ where: { tags: 'x' } })), 'abce')
    })

    it('write what another looks documents up by, also when only that one knows of it', async (t) => {
      const url = await server.newDatabase()
      const old = await openStore(t, url)
      const before = old.collection<Note>({ name: 'test.note', indexes: ['n'] })
      await before.insert({ id: 'a', n: 1, tags: ['x'] })
      const young = await openStore(t, url)
      const after = young.collection<Note>({ name: 'test.note', indexes: ['tags'] })
      await after.put({ id: 'b', n: 1, tags: ['x'] })
      await before.put({ id: 'c', n: 1, tags: ['x'] })
      await before.update('a', (note) => ({ ...note, tags: ['y'] }))
      const ids = (found: readonly Note[]): string => found.map(({ id }) => id).join('')
      assert.equal(ids(await after.find({ where: { tags: 'x' } })), 'bc')
      assert.equal(ids(await after.find({ where: { tags: 'y' } })), 'a')
      assert.equal(ids(await before.find({ where: { n: 1 } })), 'abc')
    })
  })

  describe('a database that is not there', () => {
    it('is told as unavailable, and used again once it is back', { timeout: 60_000 }, async (t) => {
      const own = await startPostgres(t)
      const store = await openStore(t, await own.newDatabase(), { lookMilliseconds: 20 })
      const all = store.collection<Note>(notes)
      await all.insert({ id: 'a', n: 1 })
      let entered = false
      const cut = store.transaction(async (transaction) => {
        await transaction.in(all).put({ id: 'b', n: 1 })
        entered = true
        await until(() => store.stats().fault !== undefined)
        await transaction.in(all).put({ id: 'c', n: 1 })
      })
      cut.catch(() => undefined)
      await until(() => entered)
      await own.stop()
      await assert.rejects(cut, isApp('unavailable'))
      await assert.rejects(all.get('a'), isApp('unavailable'))
      await assert.rejects(all.put({ id: 'd', n: 1 }), isApp('unavailable'))
      assert.match(store.stats().fault ?? '', /cannot be reached|was lost|stopping/)
      await own.start()
      await until(() => store.stats().fault === undefined)
      await all.put({ id: 'e', n: 1 })
      assert.deepEqual(
        (await all.find()).map(({ id }) => id),
        ['a', 'e'],
      )
    })

    it(
      'was there a moment ago: connections that died are replaced without anybody noticing',
      { timeout: 60_000 },
      async (t) => {
        const own = await startPostgres(t)
        const store = await openStore(t, await own.newDatabase())
        const all = store.collection<Note>(notes)
        await all.insert({ id: 'a', n: 1 })
        await own.stop()
        await own.start()
        assert.equal((await all.get('a'))?.n, 1)
        await store.transaction(async (transaction) => transaction.in(all).put({ id: 'b', n: 2 }))
        assert.equal(await all.count(), 2)
      },
    )

    it('loses nothing that was acknowledged, however often it crashes', { timeout: 120_000 }, async (t) => {
      const own = await startPostgres(t)
      const store = await openStore(t, await own.newDatabase())
      const all = store.collection<Note>(notes)
      const kept: string[] = []
      const enough = new AbortController()
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; !enough.signal.aborted; n++) {
          const id = `${writer}.${n}`
          const work =
            n % 2 === 0
              ? all.insert({ id, email: id })
              : store.transaction(async (transaction) => {
                  await transaction.in(all).insert({ id, email: id })
                  await transaction.in(all).put({ id: `${id}.with`, tags: [id] })
                })
          await work.then(
            () => kept.push(id),
            () => wait(20),
          )
        }
      })
      for (let crash = 1; crash <= 3; crash++) {
        await until(() => kept.length >= crash * 50)
        await own.stop()
        await own.start()
      }
      await until(() => kept.length >= 200)
      enough.abort()
      await Promise.all(writers)
      const found = new Set((await all.find()).map(({ id }) => id))
      for (const id of kept) {
        assert.ok(found.has(id), id)
        if (Number(id.split('.')[1]) % 2 === 1) assert.ok(found.has(`${id}.with`))
      }
      // All of a transaction or nothing, also of those whose outcome nobody was told.
      for (const id of found) if (id.endsWith('.with')) assert.ok(found.has(id.slice(0, -5)))
    })

    it('has the server end a statement whose caller has gone, and goes on', async (t) => {
      const database = await Database.open({ url: await server.newDatabase(), connections: 4 })
      t.after(() => database.close())
      const sleeping = async (): Promise<number> => {
        const text = `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(30)'`
        return (await server.admin.query(text)).rows.length
      }
      const stop = new Stop()
      const gone = new Error('gone')
      const statement = { text: 'SELECT pg_sleep(30)', values: [], stop }
      const ended = [1, 2].map(() => assert.rejects(database.alone(statement), gone))
      await until(async () => (await sleeping()) === 2)
      stop.end(gone)
      await Promise.all(ended)
      await until(async () => (await sleeping()) === 0)
      assert.deepEqual(await database.alone({ text: 'SELECT 1', values: [] }), [[1]])
      assert.equal(database.fault, undefined)
    })

    it('builds indexes through one connection, also when more are wanted while that is made', async (t) => {
      const url = await server.newDatabase()
      await (await openStore(t, url)).close()
      const database = await Database.open({ url, connections: 2 })
      afterwards(t, () => database.close())
      let connected = 0
      let release = (): void => undefined
      const released = new Promise<void>((resolve) => (release = resolve))
      const single = async (): Promise<Client> => {
        connected++
        await released
        return await database.single()
      }
      const builder = new IndexBuilder({ single, locking: 'advisory' }, testLog())
      const spec = {
        name: 'test.note',
        indexes: ['n'],
        unique: [],
        ordered: [],
        texts: [],
        expires: undefined,
      }
      builder.want(spec)
      await until(() => connected === 1)
      builder.want(spec)
      await wait(300)
      assert.equal(connected, 1)
      release()
      // What was wanted meanwhile is looked for afterwards.
      await until(() => connected === 2)
      await builder.close()
      const text = `SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND query LIKE '%indisvalid%'`
      const name = new URL(url).pathname.slice(1)
      await until(async () => (await server.admin.query(text, [name])).rows.length === 0)
    })

    it('waits for the disk although the database is set not to', async (t) => {
      const url = await server.newDatabase()
      await server.admin.query(
        `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`,
      )
      await (await openStore(t, url)).close()
      const database = await Database.open({ url, connections: 4 })
      afterwards(t, () => database.close())
      const rows = await database.write([], ({ on }) =>
        on.rows({ text: 'SHOW synchronous_commit', values: [] }),
      )
      assert.deepEqual(rows, [['on']])
    })

    it('keeps the plans of few statements, however many are asked', async (t) => {
      const database = await Database.open({ url: await server.newDatabase(), connections: 2 })
      afterwards(t, () => database.close())
      const known: number[] = []
      for (let n = 0; n < 500; n++) {
        const text = `SELECT count(*), ${n % 300} FROM pg_prepared_statements`
        const [row] = await database.read((on) => on.rows({ text, values: [], keep: true }))
        known.push(Number(row![0]))
      }
      assert.equal(known[199], 200)
      assert.equal(Math.max(...known), 201)
    })

    it('and does not say so: a silent network is told by stats, and over when it is', async (t) => {
      const url = new URL(await server.newDatabase())
      const network = await networkTo(t, server.port)
      url.port = String(network.port)
      const store = await openStore(t, url.href, { lookMilliseconds: 20, silenceMilliseconds: 100 })
      const all = store.collection<Note>(notes)
      await all.put({ id: 'a' })
      network.freeze()
      await until(() => store.stats().fault === 'the database does not answer')
      const waiting = all.get('a')
      network.thaw()
      await until(() => store.stats().fault === undefined)
      assert.deepEqual(await waiting, { id: 'a' })
    })

    it('refuses a start with the reason and without the secret', async () => {
      const url = await server.newDatabase()
      await server.admin.query("CREATE ROLE guarded LOGIN PASSWORD 'right'")
      const wrong: [string, RegExp, string][] = [
        ['postgresql://127.0.0.1:1/none', /cannot be reached \(ECONNREFUSED\)/, 'unavailable'],
        [`postgresql://postgres@127.0.0.1:${server.port}/nosuch`, /no such database/, 'unavailable'],
        [`${url}?sslmode=verify-full`, /TLS/, 'unavailable'],
        [`postgresql://guarded:hunter2@127.0.0.1:${server.port}/postgres`, /does not allow/, 'unavailable'],
        ['mysql://root:hunter2@localhost/x', /must begin with postgresql:/, 'invalid'],
        ['hunter2', /one address such as/, 'invalid'],
      ]
      for (const [address, message, code] of wrong) {
        const opening = openPostgresStore({ url: address, clock: systemClock, log: testLog() })
        await assert.rejects(opening, (error: Error) => {
          assert.match(error.message, message)
          assert.doesNotMatch(error.message, /hunter2/)
          return isApp(code)(error)
        })
      }
    })

    it('refuses a wrong password', { timeout: 60_000 }, async (t) => {
      const own = await startPostgres(t)
      const url = new URL(await own.newDatabase())
      await own.admin.query("CREATE ROLE daemon LOGIN SUPERUSER PASSWORD 'right'")
      const { rows } = await own.admin.query<{ hba_file: string }>('SHOW hba_file')
      const { writeFile } = await import('node:fs/promises')
      await writeFile(rows[0]!.hba_file, 'host all postgres all trust\nhost all all all scram-sha-256\n')
      await own.admin.query('SELECT pg_reload_conf()')
      url.username = 'daemon'
      url.password = 'right'
      await until(async () => {
        url.password = 'wrong'
        const opened = await openPostgresStore({ url: url.href, clock: systemClock, log: testLog() }).catch(
          (error: unknown) => error,
        )
        if (!(opened instanceof Error)) {
          await (opened as PostgresStore).close()
          return false
        }
        assert.match(opened.message, /refuses this user or password/)
        return true
      })
      url.password = 'right'
      const store = await openStore(t, url.href)
      await store.collection<Note>(notes).put({ id: 'a' })
    })

    it('gives up waiting for a transaction that stands still, and ends it', async (t) => {
      const url = await server.newDatabase()
      const [one, two] = [await openStore(t, url, { transactionMilliseconds: 300 }), await openStore(t, url)]
      const [here, there] = [one.collection<Note>(notes), two.collection<Note>(notes)]
      await here.put({ id: 'z' })
      let late: Promise<unknown> | undefined
      const endless = one.transaction(async (transaction) => {
        await transaction.in(here).put({ id: 'a' })
        await wait(800)
        late = transaction.in(here).put({ id: 'b' })
        await late.catch(() => undefined)
      })
      const other = there.put({ id: 'c' })
      await assert.rejects(endless, isApp('unavailable'))
      await other
      await until(() => late !== undefined)
      await assert.rejects(late!, /over/)
      assert.deepEqual(
        (await there.find()).map(({ id }) => id),
        ['c', 'z'],
      )
    })

    it('keeps nothing of a transaction whose statement failed, even when its work goes on', async (t) => {
      const url = await server.newDatabase()
      const store = await openStore(t, url)
      const all = store.collection<Note>(notes)
      await all.put({ id: 'z' })
      const client = await connect(t, url)
      const work = store.transaction(async (transaction) => {
        // It has begun once it is answered.
        await transaction.in(all).get('z')
        await transaction.in(all).put({ id: 'a' })
        await client.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'",
        )
        await assert.rejects(transaction.in(all).get('b'), isApp('unavailable'))
        return 'done'
      })
      await assert.rejects(work, isApp('unavailable'))
      assert.deepEqual(
        (await all.find()).map(({ id }) => id),
        ['z'],
      )
    })
  })

  describe('the schema of what is stored', () => {
    const steps: readonly Migration[] = [
      {
        to: 1,
        title: 'notes say what they say in text',
        run: (documents) => {
          for (const note of documents.all('test.note'))
            documents.put('test.note', { ...note, text: 'new' } as Stored)
          documents.remove('test.note', 'old')
        },
      },
    ]

    it('is brought up to date, all of it or nothing, with a backup of before', async (t) => {
      const url = await server.newDatabase()
      const folder = await temporaryFolder(t)
      const first = await openStore(t, url)
      await first.collection<Note>(notes).put({ id: 'a', tags: ['x'] })
      await first.collection<Note>(notes).put({ id: 'old' })
      const failing: Migration = { to: 2, title: 'fails', run: () => assert.fail('no') }
      await assert.rejects(openStore(t, url, { migrations: [...steps, failing] }), /no/)
      assert.deepEqual(await first.collection<Note>(notes).count(), 2)

      const second = await openStore(t, url, { migrations: steps, folder })
      const all = second.collection<Note & { text?: string }>(notes)
      assert.deepEqual(await all.find({ where: { tags: 'x' } }), [{ id: 'a', tags: ['x'], text: 'new' }])
      assert.equal(await all.get('old'), undefined)
      assert.deepEqual((await readdir(folder)).sort(), ['before-schema-1.backup', 'history.json'])
      assert.deepEqual((await verifyBackup(`${folder}/before-schema-1.backup`)).documents, { 'test.note': 2 })

      // The older daemon is still there: it must not write what the newer one does not understand.
      await assert.rejects(first.collection<Note>(notes).put({ id: 'b' }), isApp('invalid'))
      await assert.rejects(first.look(), isApp('invalid'))
      await first.collection<Note>(notes).get('a')
      assert.match(first.stats().fault ?? '', /use a newer version/)
      await assert.rejects(openStore(t, url), isApp('invalid'))
      assert.equal(await all.count(), 1)
    })

    it('refuses tables of a newer format', async (t) => {
      const url = await server.newDatabase()
      const store = await openStore(t, url)
      const client = await connect(t, url)
      await client.query('UPDATE assistant_core.state SET format = 99')
      await assert.rejects(openStore(t, url), /format 99.*use a newer version/)
      // One that runs tells it, too.
      await assert.rejects(store.collection<Note>(notes).put({ id: 'a' }), isApp('invalid'))
      await assert.rejects(store.look(), isApp('invalid'))
      assert.match(store.stats().fault ?? '', /format 99.*use a newer version/)
    })

    it('refuses a database that cannot hold every text', async (t) => {
      const name = 'latin'
      await server.admin.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
      const url = `postgresql://postgres@127.0.0.1:${server.port}/${name}`
      await assert.rejects(openStore(t, url), /encoding LATIN1; create it with UTF8/)
    })
  })
})

function openStore(
  t: TestContext,
  url: string,
  options: Partial<PostgresStoreOptions> = {},
): Promise<PostgresStore> {
  return openPostgres(t, url, { clock: testClock(), ...options })
}

async function connect(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  afterwards(t, () => client.end())
  return client
}

/** A way to the server on which everything can be held up. */
async function networkTo(
  t: TestContext,
  port: number,
): Promise<{ readonly port: number; freeze(): void; thaw(): void }> {
  const sockets = new Set<Socket>()
  let frozen = false
  const proxy = createServer((near) => {
    const far = connectSocket(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => void to.write(bytes))
      from.on('error', () => undefined)
      from.on('close', () => to.destroy())
      if (frozen) from.pause()
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  afterwards(t, () => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port: (proxy.address() as AddressInfo).port,
    freeze: () => {
      frozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw: () => {
      frozen = false
      for (const socket of sockets) socket.resume()
    },
  }
}

async function countOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM assistant_core.document')
  return Number(rows[0]!.count)
}
