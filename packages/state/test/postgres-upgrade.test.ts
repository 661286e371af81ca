import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { compared } from '#state/questions/conditions.ts'
import { indexesOf, tableOf } from '#state/postgres/indexes.ts'
import { idBytes, language } from '#state/postgres/language.ts'
import type { Queryable } from '#state/postgres/servers/connection.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { prepareTables } from '#state/postgres/tables.ts'
import type { Migration } from '#state/migrate.ts'
import type { Stored } from '#state/store.ts'
import { noPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { testLog, until } from './state-folder.ts'
import { openPostgres } from './open-postgres.ts'

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

/** What versions 2.7 to 2.13 made of them, beside indexes whose names are those of today. */
const before214 = `${before26};
  ${language.join(';')};
  ALTER TABLE assistant_core.document ADD COLUMN data jsonb GENERATED ALWAYS AS
    (CASE WHEN collection LIKE 'document.%' THEN assistant_core.data(body) END) STORED, ADD COLUMN words tsvector GENERATED ALWAYS AS
    (CASE WHEN collection LIKE 'document.%' THEN assistant_core.words(assistant_core.data(body)) END) STORED;
  CREATE INDEX ${[...indexesOf({ name: 'document.thing', ordered: ['status'] }).keys()].join()}
    ON assistant_core.document (assistant_core.place(data -> 'status'), id) WHERE data IS NOT NULL;
  UPDATE assistant_core.state SET format = 2, generation = 7`

const things = { name: 'document.thing', indexes: ['status'], ordered: ['creation', 'status'] } as const
const hostile = ['nul \0', 'back \\u0000', '\\\\\0\0', 'half \ud800', '🦊', "it's"]

describe('a database of an older version', { skip: noPostgres }, () => {
  const server = suitePostgres()

  for (const [version, tables] of [
    ['2.6.0', before26],
    ['2.13.1', before214],
  ] as const)
    it(`${version} keeps every document, can be asked about them, and gets its indexes beside the work`, async (t) => {
      const url = await server.newDatabase()
      const client = new Client(url)
      await client.connect()
      t.after(() => client.end())
      await client.query(tables)
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
        Buffer.from('the digest of a value'),
        idBytes('a'),
      ])
      const store = await openPostgres(t, url)
      const all = store.collection<Thing>(things)
      const newest = { order: [{ field: 'creation', descending: true }] }
      assert.deepEqual(await all.find(newest), [...stored].reverse())
      for (const one of stored)
        assert.deepEqual(await all.find({ holds: compared('status', '=', one.status), limit: 9 }), [one])
      const tokens = store.collection<Stored & { hash: string }>({ name: 'oauth.token', unique: ['hash'] })
      assert.equal((await tokens.first({ where: { hash: 'h' } }))?.id, 'a')

      await until(async () => {
        const { rows } = await client.query<{ count: string }>(
          `SELECT count(*) FROM pg_index WHERE indrelid = 'assistant_core.${tableOf(things.name)}'::regclass AND indisvalid
          AND pg_get_indexdef(indexrelid) LIKE '%place%'`,
        )
        return rows[0]!.count === '2' && store.stats().building === 0
      })
      await all.put({ id: 't9', creation: '2026-02-01T00:00:00.000Z', status: 'new' })
      const [first] = await all.find({ ...newest, limit: 1 })
      assert.equal(first?.id, 't9')
      // What versions before look at: they see that they know it no more, and refuse with that reason.
      const { rows } = await client.query('SELECT format, schema FROM assistant_core.state')
      assert.deepEqual(rows, [{ format: 2, schema: 3000 }])
      const left = await client.query(
        "SELECT to_regclass('assistant_core.entry') AS entry, to_regclass('assistant_core.moving') AS moving",
      )
      assert.deepEqual(left.rows, [{ entry: null, moving: null }])
      await assert.rejects(tokens.put({ id: 'b', hash: 'h' }), /hash "h" is taken/)
    })

  it('is copied while older daemons write, goes on where it was ended, and loses and doubles nothing', async (t) => {
    const url = await server.newDatabase()
    const [client, older] = [new Client(url), new Client(url)]
    for (const one of [client, older]) {
      await one.connect()
      t.after(() => one.end())
    }
    await client.query(before214)
    // Ids are kept in UTF-16.
    await client.query(`INSERT INTO assistant_core.document (collection, id, body)
      SELECT c, decode(regexp_replace(encode(convert_to('t' || n, 'UTF8'), 'hex'), '(..)', '00\\1', 'g'), 'hex'),
        json_build_object('id', 't' || n, 'creation', '2026', 'status', 'old')::text
      FROM unnest(ARRAY['document.thing', 'oauth.token']) AS c, generate_series(1, 6000) AS n`)
    const expected = new Map(Array.from({ length: 6_000 }, (_, n) => [`t${n + 1}`, 'old']))
    // As a transaction of an older daemon, which would be told if it had to wait.
    const write = async (name: string, id: string, status?: string): Promise<void> => {
      await older.query(
        "BEGIN; SET LOCAL lock_timeout = '1s'; LOCK TABLE assistant_core.state IN ROW SHARE MODE",
      )
      const place = [name, idBytes(id)]
      await older.query('DELETE FROM assistant_core.document WHERE collection = $1 AND id = $2', place)
      const body = JSON.stringify({ id, creation: '2026', status })
      const inserting = 'INSERT INTO assistant_core.document (collection, id, body) VALUES ($1, $2, $3)'
      if (status !== undefined) await older.query(inserting, [...place, body])
      await older.query('COMMIT')
      if (name !== things.name) return
      if (status === undefined) expected.delete(id)
      else expected.set(id, status)
    }
    let step = 0
    const found = async <R>(work: (on: Queryable) => Promise<R>): Promise<R> => {
      await client.query('BEGIN')
      const rows: Queryable['rows'] = async ({ text, values }) =>
        (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' })).rows
      const result = await work({ rows })
      await client.query('COMMIT')
      step++
      // Before, in and behind what is copied: changed, removed and new, and in a collection that is new.
      for (const [id, status] of [
        ['t1'],
        ['t2', `new ${step}`],
        [`u${step}`, 'new'],
        ['t999', `newer ${step}`],
      ])
        await write(things.name, id!, status)
      await write('test.late', `l${step}`, 'late')
      if (step === 5) throw new Error('killed')
      return result
    }
    const first = 'SELECT xmin::text FROM assistant_core.moving WHERE collection = $1 AND id = $2'
    await assert.rejects(prepareTables(found), /killed/)
    const place = [things.name, idBytes('t100')]
    const { rows: copied } = await client.query<{ xmin: string }>(first, place)
    assert.equal(copied.length, 1)
    const store = await openPostgres(t, url)
    const all = await store.collection<Thing>(things).find()
    assert.deepEqual(new Map(all.map(({ id, status }) => [id, status])), expected)
    assert.equal(all.length, expected.size)
    assert.equal(await store.collection({ name: 'oauth.token' }).count(), 6_000)
    assert.equal(await store.collection({ name: 'test.late' }).count(), step)
    const { rows: kept } = await client.query<{ xmin: string }>(first.replace('moving', 'document'), place)
    assert.deepEqual(kept, copied, 'what had been copied was not copied again')
    const { rows: left } = await client.query(`SELECT to_regclass('assistant_core.moved') AS moved,
      to_regprocedure('assistant_core.note_moved()') AS noting`)
    assert.deepEqual(left, [{ moved: null, noting: null }])
  })

  it('has what an older daemon was keeping meanwhile migrated, too', async (t) => {
    const url = await server.newDatabase()
    const old = await openPostgres(t, url)
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
