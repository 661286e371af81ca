import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { sha256 } from '#leaf/secrets.ts'
import { lockState } from '#state/lock.ts'
import { idBytes } from '#state/postgres/language.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../../../test/helpers/postgres.ts'
import { digestsOf, readEmbedded, requireSame, writeEmbedded } from '#state/copy.ts'
import { readPostgres, writePostgres } from '#state/postgres/copy.ts'
import { planPostgres, verifyPostgres } from '#state/postgres/verify.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import type { Store, Stored } from '#state/store.ts'
import { verifyStore } from '#state/verify.ts'
import { isApp } from './contract.ts'
import { afterwards, openStore, temporaryFolder, testClock, testLog, until } from './state-folder.ts'
import { openPostgres } from './open-postgres.ts'

interface Note extends Stored {
  readonly text?: string
  readonly email?: string
  readonly until?: number
}

const notes = { name: 'test.note', indexes: ['text'], unique: ['email'], expires: 'until' } as const

let server: TestPostgres

describe('carrying the state between the stores', { skip: noPostgres }, () => {
  server = suitePostgres()

  it('brings every document over and back, to the byte', async (t) => {
    const [here, back] = [await temporaryFolder(t), await temporaryFolder(t)]
    const url = await server.newDatabase()
    const store = await openStore(t, here)
    await fill(store)
    await store.close()
    const sent = digestsOf(await readEmbedded(here))
    assert.deepEqual(
      sent.map(({ collection, documents }) => [collection, documents]),
      [
        ['test.note', 1201],
        ['test.other', 1],
      ],
    )
    const told: number[] = []
    const moved = (done: number, all: number) => void (all === 1202 && told.push(done))
    assert.deepEqual(await writePostgres(await readEmbedded(here), url, moved), sent)
    assert.deepEqual(
      [...told].sort((a, b) => a - b),
      told,
      'it only goes forward',
    )
    assert.deepEqual([told.length, told.at(-1)], [3, 1202])
    told.length = 0
    const there = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    const all = there.collection<Note>(notes)
    assert.equal((await all.first({ where: { email: 'e77@example.com' } }))?.id, 'n77')
    assert.equal((await all.get('\ud800 \0'))?.text, '\0')
    await there.close()
    assert.deepEqual(await writeEmbedded(await readPostgres(url, 0), back, testClock(), moved), sent)
    assert.equal(told.at(-1), 1202)
    assert.ok((await verifyStore(back)).ok)
    const again = await openStore(t, back)
    assert.equal(await again.collection<Note>(notes).count({ where: { text: 'x' } }), 1200)
    await again.collection<Note>(notes).put({ id: 'goes on' })
  })

  it('refuses a target that holds a state, and changes nothing there', async (t) => {
    const [full, folder] = [await temporaryFolder(t), await temporaryFolder(t)]
    const url = await server.newDatabase()
    const store = await openStore(t, full)
    await store.collection<Note>(notes).put({ id: 'a' })
    await store.close()
    const database = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    await database.collection<Note>(notes).put({ id: 'b' })
    await database.close()
    await assert.rejects(writePostgres(await readEmbedded(full), url), isApp('conflict'))
    await assert.rejects(writeEmbedded(await readPostgres(url, 0), full, testClock()), isApp('conflict'))
    assert.deepEqual((await verifyPostgres(url, testClock())).documents, { 'test.note': 1 })
    assert.deepEqual((await verifyStore(full)).documents, { 'test.note': 1 })
    // What else lies in a state folder is none of its business.
    await writeFile(join(folder, 'lock'), '')
    await writeEmbedded(await readPostgres(url, 0), folder, testClock())
    assert.deepEqual((await readdir(folder)).sort(), ['journal-00000001.jsonl', 'lock', 'snapshot.jsonl'])
  })

  it('refuses a database that a daemon uses, one without a state, and one of a newer version', async (t) => {
    const url = await server.newDatabase()
    await assert.rejects(readPostgres(url, 0), isApp('not_found'))
    await assert.rejects(verifyPostgres(url, testClock()), isApp('not_found'))
    const store = await openPostgres(t, url)
    await assert.rejects(readPostgres(url, 0), isApp('conflict'))
    await store.close()
    const client = await connect(url)
    await client.query('UPDATE assistant_core.state SET schema = 7')
    await client.end()
    await assert.rejects(readPostgres(url, 0), /schema version 7.*use a newer version/)
    assert.deepEqual(
      await planPostgres(url, []).catch((error: Error) => error.message.slice(0, 18)),
      'the state has sche',
    )
  })

  it('carries what a daemon was keeping whose connections had broken, and lets it write nothing more', async (t) => {
    const url = await server.newDatabase()
    const before = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    await before.collection<Note>(notes).put({ id: 'early', email: 'e' })
    await before.close()
    const [late, watcher] = [await connect(url), await connect(url)]
    afterwards(t, async () => void (await Promise.all([late.end(), watcher.end()])))
    const write = (n: number): Promise<unknown> =>
      late.query('INSERT INTO assistant_core.document (collection, id, body) VALUES ($1, $2, $3)', [
        notes.name,
        idBytes(`late${n}`),
        `{"id":"late${n}"}`,
      ])
    const begin = 'BEGIN; LOCK TABLE assistant_core.state IN ROW SHARE MODE'
    await late.query(begin)
    await write(1)
    const reading = readPostgres(url, 0)
    await until(async () => {
      const { rows } = await watcher.query<{ count: string }>(
        'SELECT count(*) FROM pg_locks WHERE NOT granted',
      )
      return rows[0]!.count === '1'
    })
    await late.query('COMMIT')
    const state = await reading
    assert.deepEqual(
      digestsOf(state).map(({ collection, documents }) => [collection, documents]),
      [[notes.name, 2]],
    )
  })

  it('loses nothing while people go on writing: it refuses beside a daemon, and both moves have the hash of what was kept', async (t) => {
    const [here, back] = [await temporaryFolder(t), await temporaryFolder(t)]
    const url = await server.newDatabase()
    let store: Store | undefined = await openStore(t, here)
    /** What was acknowledged, by id. */
    const kept = new Map<string, string>()
    const over = new AbortController()
    const writer = async (name: string): Promise<void> => {
      for (let n = 0; !over.signal.aborted; n++) {
        const note = { id: `${name}-${n}`, text: sha256(`${name} ${n}`), email: `${name}-${n}@example.com` }
        // As clients do: again until somebody says that it is kept.
        for (let done = false; !done && !over.signal.aborted;)
          try {
            await store!.collection<Note>(notes).put(note)
            kept.set(note.id, JSON.stringify(note))
            done = true
          } catch (error) {
            if (store && !isApp('unavailable')(error)) throw error
            await wait(5)
          }
      }
    }
    const writers = ['a', 'b', 'c', 'd'].map(writer)
    const more = async (): Promise<void> => {
      const wanted = kept.size + 200
      await until(() => kept.size >= wanted)
    }
    const stop = async (): Promise<string> => {
      const running = store!
      store = undefined
      await running.close()
      // Whoever was answered notes it first.
      await wait(0)
      const all = [...kept].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, note]) => `${note}\n`)
      return createHash('sha256').update(all.join('')).digest('hex')
    }
    await more()
    await assert.rejects(lockState(here, systemClock), isApp('conflict'))
    const first = await stop()
    const [there] = await writePostgres(await readEmbedded(here), url)
    assert.equal(there!.sha256, first)
    store = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    await more()
    await assert.rejects(readPostgres(url, 0), isApp('conflict'))
    await assert.rejects(writePostgres(await readEmbedded(here), url), isApp('conflict'))
    const second = await stop()
    assert.notEqual(second, first)
    const [again] = await writeEmbedded(await readPostgres(url, 0), back, systemClock)
    assert.equal(again!.sha256, second)
    store = await openStore(t, back)
    await more()
    over.abort()
    await Promise.all(writers)
    const held = await store.collection<Note>(notes).find()
    assert.deepEqual(new Map(held.map((note) => [note.id, JSON.stringify(note)])), kept)
  })

  it('refuses an embedded state that is damaged or not there', async (t) => {
    const folder = await temporaryFolder(t)
    await assert.rejects(readEmbedded(folder), isApp('not_found'))
    await writeFile(join(folder, 'snapshot.jsonl'), 'this is not a state\n')
    await assert.rejects(readEmbedded(folder), isApp('invalid'))
  })

  it('tells a difference between what was sent and what arrived', () => {
    const one = { collection: 'a', documents: 1, sha256: 'x' }
    requireSame([one], [one])
    for (const arrived of [
      [],
      [{ ...one, documents: 2 }],
      [{ ...one, sha256: 'y' }],
      [one, { ...one, collection: 'b' }],
    ])
      assert.throws(() => requireSame([one], arrived), /what arrived is not what was sent, in [ab]/)
  })

  it('is verified in the database: every document', async () => {
    const url = await server.newDatabase()
    const store = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    await fill(store)
    const whole = await verifyPostgres(url, testClock())
    assert.deepEqual(
      [whole.ok, whole.faults, whole.documents],
      [true, [], { 'test.note': 1201, 'test.other': 1 }],
    )
    await store.close()
    const client = await connect(url)
    await assert.rejects(
      client.query("UPDATE assistant_core.document SET body = '{' WHERE body LIKE '%e8@%'"),
      /json/,
    )
    await client.query("UPDATE assistant_core.document SET body = '[]' WHERE body LIKE '%e7@%'")
    await client.query(
      "UPDATE assistant_core.document SET body = replace(body, 'n9\"', 'n0\"') WHERE body LIKE '%e9@%'",
    )
    await client.end()
    const { ok, faults } = await verifyPostgres(url, testClock())
    assert.equal(ok, false)
    assert.match(faults.join('\n'), /^\S+ "n7": its id is another one\n\S+ "n9": its id is another one$/)
  })
})

async function fill(store: Store): Promise<void> {
  const all = store.collection<Note>(notes)
  await store.transaction(async (transaction) => {
    for (let n = 0; n < 1200; n++) {
      await transaction.in(all).put({ id: `n${n}`, text: 'x', email: `e${n}@example.com`, until: 1e13 + n })
    }
    await transaction.in(all).put({ id: '\ud800 \0', text: '\0' })
  })
  await store.collection({ name: 'test.other' }).put({ id: 'o' })
  store.collection({ name: 'test.empty' })
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}
