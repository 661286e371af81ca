import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/core/clock.ts'
import { compared } from '../../src/core/conditions.ts'
import { idBytes, keyBytes } from '../../src/store/postgres-entries.ts'
import { openPostgresStore } from '../../src/store/postgres.ts'
import type { Migration } from '../../src/store/migrate.ts'
import type { Stored } from '../../src/store/store.ts'
import { noPostgres, startPostgres, type TestPostgres } from '../helpers/postgres.ts'
import { testLog, until } from './state-folder.ts'

interface Thing extends Stored {
  readonly creation: string
  readonly status?: string
}

/** The tables as version 2.6.0 made them. */
const before26 = `
  CREATE SCHEMA assistant_core;
  CREATE TABLE assistant_core.state (one boolean PRIMARY KEY DEFAULT true CHECK (one), format integer NOT NULL,
    schema integer NOT NULL, generation bigint NOT NULL DEFAULT 0);
  CREATE TABLE assistant_core.collection (name text COLLATE "C" PRIMARY KEY, spec text NOT NULL);
  CREATE TABLE assistant_core.document (collection text COLLATE "C" NOT NULL, id bytea NOT NULL, body text NOT NULL,
    ends double precision, PRIMARY KEY (collection, id));
  CREATE INDEX document_ends ON assistant_core.document (ends) WHERE ends IS NOT NULL;
  CREATE TABLE assistant_core.entry (collection text COLLATE "C" NOT NULL, field text COLLATE "C" NOT NULL,
    key bytea NOT NULL, id bytea NOT NULL, single boolean NOT NULL, PRIMARY KEY (collection, field, key, id),
    FOREIGN KEY (collection, id) REFERENCES assistant_core.document ON DELETE CASCADE);
  CREATE INDEX entry_document ON assistant_core.entry (collection, id);
  CREATE UNIQUE INDEX entry_single ON assistant_core.entry (collection, field, key) WHERE single;
  INSERT INTO assistant_core.state (format, schema) VALUES (1, 0);
  INSERT INTO assistant_core.collection VALUES ('document.thing', '{"indexes":["owner","status"],"unique":[]}');
  INSERT INTO assistant_core.collection VALUES ('oauth.token', '{"indexes":["hash"],"unique":["hash"]}')`

const things = { name: 'document.thing', indexes: ['status'], ordered: ['creation', 'status'] } as const
const hostile = ['nul \0', 'back \\u0000', '\\\\\0\0', 'half \ud800', '🦊', "it's"]

describe('a database of version 2.6.0', { skip: noPostgres }, () => {
  let server: TestPostgres
  const cleanups: (() => Promise<void>)[] = []
  before(async () => {
    server = await startPostgres({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  })
  after(async () => {
    for (const step of cleanups) await step()
  })

  it('keeps every document, can be asked about them, and gets its indexes beside the work', async (t) => {
    const url = await server.newDatabase()
    const client = new Client(url)
    await client.connect()
    t.after(() => client.end())
    await client.query(before26)
    const stored = hostile.map((status, n): Thing => ({
      id: `t${n}`,
      creation: `2026-01-0${n + 1}T00:00:00.000Z`,
      status,
    }))
    for (const one of stored)
      await client.query('INSERT INTO assistant_core.document (collection, id, body) VALUES ($1, $2, $3)', [
        'document.thing',
        idBytes(one.id),
        JSON.stringify(one),
      ])
    await client.query('INSERT INTO assistant_core.document (collection, id, body) VALUES ($1, $2, $3)', [
      'oauth.token',
      idBytes('a'),
      '{"id":"a","hash":"h"}',
    ])
    await client.query('INSERT INTO assistant_core.entry VALUES ($1, $2, $3, $4, true)', [
      'oauth.token',
      'hash',
      keyBytes('h'),
      idBytes('a'),
    ])
    const store = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    t.after(() => store.close())
    const all = store.collection<Thing>(things)
    const newest = { order: [{ field: 'creation', descending: true }] }
    assert.deepEqual(await all.find(newest), [...stored].reverse())
    for (const one of stored)
      assert.deepEqual(await all.find({ holds: compared('status', '=', one.status), limit: 9 }), [one])
    const tokens = store.collection<Stored & { hash: string }>({ name: 'oauth.token', unique: ['hash'] })
    assert.equal((await tokens.first({ where: { hash: 'h' } }))?.id, 'a')

    await until(async () => {
      const { rows } = await client.query<{ count: string }>(
        `SELECT count(*) FROM pg_index WHERE indrelid = 'assistant_core.document'::regclass AND indisvalid
          AND pg_get_indexdef(indexrelid) LIKE '%place%'`,
      )
      return rows[0]!.count === '2' && store.stats().building === 0
    })
    await all.put({ id: 't9', creation: '2026-02-01T00:00:00.000Z', status: 'new' })
    const [first] = await all.find({ ...newest, limit: 1 })
    assert.equal(first?.id, 't9')
    const { rows } = await client.query<{ format: number }>('SELECT format FROM assistant_core.state')
    assert.equal(rows[0]!.format, 2)
  })

  it('has what an older daemon was keeping meanwhile migrated, too', async (t) => {
    const url = await server.newDatabase()
    const old = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    t.after(() => old.close())
    const notes = old.collection<Stored & { text: string }>({ name: 'test.note' })
    await notes.put({ id: 'before', text: 'old' })
    const watcher = new Client(url)
    await watcher.connect()
    t.after(() => watcher.end())
    let newer: ReturnType<typeof openPostgresStore> | undefined
    const step: Migration = {
      to: 1,
      title: 'texts are new',
      run: (documents) => {
        for (const note of documents.all('test.note'))
          documents.put('test.note', { ...note, text: 'new' } as Stored)
      },
    }
    await old.transaction(async (transaction) => {
      await transaction.in(notes).put({ id: 'meanwhile', text: 'old' })
      newer = openPostgresStore({ url, clock: systemClock, log: testLog(), migrations: [step] })
      newer.catch(() => undefined)
      await until(async () => {
        const { rows } = await watcher.query<{ waits: boolean }>(
          "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'assistant_core.state'::regclass) AS waits",
        )
        return rows[0]!.waits
      })
    })
    const store = await newer!
    t.after(() => store.close())
    const found = await store.collection<Stored & { text: string }>({ name: 'test.note' }).find()
    assert.deepEqual(
      new Map(found.map(({ id, text }) => [id, text])),
      new Map([
        ['before', 'new'],
        ['meanwhile', 'new'],
      ]),
    )
    await assert.rejects(notes.put({ id: 'after', text: 'old' }), /schema version 1/)
    assert.equal(await notes.get('after'), undefined)
  })
})
