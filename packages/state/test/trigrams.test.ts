import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { compared, type Condition } from '#state/questions/conditions.ts'
import { language, placeBytes } from '#state/postgres/language.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { verifyPostgres } from '#state/postgres/verify.ts'
import type { Stored } from '#state/store.ts'
import { noPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { testLog, until } from './state-folder.ts'
import { openPostgres } from './open-postgres.ts'

interface Thing extends Stored {
  readonly creation: string
  readonly title: string
}

const things = { name: 'document.thing', ordered: ['creation'], texts: ['id', 'title'] } as const
/** Parts of texts as rules, filters and fields that look for links ask for them. */
const questions: readonly (readonly [string, Condition, number])[] = [
  ['like', compared('title', 'like', '%NUMBER 4711%'), 1],
  ['like without %', compared('title', 'like', 'number 471'), 11],
  ['contains', compared('title', 'contains', 'Number 4711'), 1],
  ['contains what patterns are made of', compared('title', 'contains', '100 %_\\'), 1],
  ['a name', compared('id', 'contains', 't4711'), 1],
  [
    'a beginning',
    { call: 'starts_with', of: [{ call: 'lower', of: [{ field: 'title' }] }, { value: 'number 4711' }] },
    1,
  ],
]

describe('parts of texts in PostgreSQL', { skip: noPostgres }, () => {
  const server = suitePostgres()

  /** The table of the things, with what is made with it. */
  async function makeTable(url: string): Promise<void> {
    const store = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    await store.collection<Thing>(things).delete('none')
    await store.close()
  }

  async function fill(client: Client): Promise<void> {
    await client.query(`INSERT INTO assistant_core.document (collection, id, body)
      SELECT 'document.thing', decode(regexp_replace(encode(convert_to('t' || n, 'UTF8'), 'hex'), '(..)', '00\\1', 'g'), 'hex'), json_build_object('id', 't' || n, 'creation', '2026',
        'title', CASE n WHEN 9 THEN '100 %_\\ sure' ELSE 'Number ' || n END)::text FROM generate_series(0, 9999) AS n;
      ANALYZE assistant_core.document`)
  }

  it('are found by an index of trigrams, which is built beside the work', async (t) => {
    const url = await server.newDatabase()
    const client = new Client(url)
    await client.connect()
    t.after(() => client.end())
    await makeTable(url)
    await fill(client)
    const store = await openPostgres(t, url)
    const all = store.collection<Thing>(things)
    const scans = async (): Promise<number> => {
      const { rows } = await client.query<{ scans: string }>(
        "SELECT idx_scan AS scans FROM pg_stat_user_indexes WHERE indexrelname LIKE 'trigrams_%'",
      )
      return Number(rows[0]?.scans ?? -1)
    }
    await until(async () => (await scans()) === 0 && store.stats().building === 0)
    for (const [name, holds, wanted] of questions) {
      const known = await scans()
      assert.equal((await all.find({ holds })).length, wanted, name)
      // The database counts what it did when it comes to rest.
      await until(async () => (await scans()) > known)
    }
    assert.equal(store.stats().lacks, undefined)
    assert.deepEqual((await verifyPostgres(url, systemClock)).notes, [])
  })

  it('and all else are asked about and written while their indexes are built, which is told', async (t) => {
    const url = await server.newDatabase()
    const client = new Client(url)
    await client.connect()
    t.after(() => client.end())
    await makeTable(url)
    await fill(client)
    // An index that is built beside the work waits for everybody who was there before.
    await client.query(
      "BEGIN; UPDATE assistant_core.document SET body = body WHERE collection = 'document.thing' AND id = ''; SELECT txid_current()",
    )
    const store = await openPostgres(t, url)
    const all = store.collection<Thing>(things)
    await until(() => (store.stats().building ?? 0) > 0)
    const building = store.stats().building!
    for (const [name, holds, wanted] of questions)
      assert.equal((await all.find({ holds })).length, wanted, name)
    await all.put({ id: 'new', creation: '2027', title: 'number 4711' })
    await all.update('t1', (thing) => ({ ...thing, title: 'number 4711' }))
    await store.collection<Stored>({ name: 'test.other' }).insert({ id: 'a' })
    assert.equal(await all.count({ holds: compared('title', '=', 'number 4711') }), 2)
    assert.equal(store.stats().building, building)
    await client.query('COMMIT')
    await until(() => store.stats().building === 0)
    assert.equal(await all.count({ holds: compared('title', '=', 'number 4711') }), 2)
  })

  it('and values have the place that is calculated for them before they are sent', async (t) => {
    const client = new Client(await server.newDatabase())
    await client.connect()
    t.after(() => client.end())
    await client.query('CREATE SCHEMA assistant_core')
    for (const text of language) await client.query(text)
    const numbers = [0, -0, 1, -1, 1.5, -1.5, 1e300, -1e-300, 5e-324, 123456789.123, 0.1 + 0.2, Infinity]
    const texts = [
      '',
      'a',
      'ä€',
      '🦊x',
      'x🦊',
      '\u{10ffff}'.repeat(250),
      'y'.repeat(300),
      `${'é'.repeat(199)}🦊🦊`,
    ]
    const hostile = ['a\0b', '\ud800', '\\u0000', '\\\\u0000', '\uffee', "'"]
    for (const value of [...numbers, ...texts, ...hostile, null, undefined, true, false, [], [1], {}]) {
      const { rows } = await client.query<{ place: Buffer }>(
        'SELECT assistant_core.place(assistant_core.data($1)) AS place',
        [JSON.stringify(value ?? null)],
      )
      assert.deepEqual(placeBytes(value), rows[0]!.place, JSON.stringify(value))
    }
  })

  it('and words are found alike whether the database knows which stand in many documents or not', async (t) => {
    const url = await server.newDatabase()
    const client = new Client(url)
    await client.connect()
    t.after(() => client.end())
    await makeTable(url)
    const before = await openPostgres(t, url)
    await fill(client)
    const knowing = await openPostgres(t, url)
    const fields = [
      { path: 'title', weight: 2 },
      { path: 'id', weight: 1 },
    ]
    for (const [text, total] of [
      ['number 4711', 1],
      ['number 47', 111],
      ['num number', 9999],
      ['sure number', 0],
      ['number 100', 11],
    ] as const) {
      const words = text.split(' ').map((word) => ({ word, instead: [] }))
      const [first, second] = await Promise.all(
        [before, knowing].map(async (store) => {
          const answer = await store
            .collection<Thing>(things)
            .search({ words, all: true, fields }, { limit: 50 })
          return { ...answer, found: answer.found.map((hit) => ({ ...hit, document: hit.document() })) }
        }),
      )
      assert.equal(first!.total, total, text)
      for (const { id, document } of first!.found) assert.equal(document.id, id)
      assert.deepEqual(second, first, text)
    }
    const { rows } = await client.query<{ known: boolean }>(
      "SELECT 'title=number' = ANY(most_common_elems::text::text[]) AS known FROM pg_stats WHERE attname = 'words' AND tablename <> 'document'",
    )
    assert.deepEqual(rows, [{ known: true }])
  })

  it('are looked for in every document where the database may have no trigrams, and status says so', async (t) => {
    const url = await server.newDatabase()
    const database = url.slice(url.lastIndexOf('/') + 1)
    const client = new Client(url)
    await client.connect()
    t.after(() => client.end())
    await client.query(`CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE ${database} TO plain`)
    const plain = url.replace('postgres@', 'plain@')
    await makeTable(plain)
    await client.query(`REVOKE CREATE ON DATABASE ${database} FROM plain; DROP EXTENSION IF EXISTS pg_trgm`)
    await fill(client)
    const store = await openPostgres(t, plain)
    const all = store.collection<Thing>(things)
    for (const [name, holds, wanted] of questions)
      assert.equal((await all.find({ holds })).length, wanted, name)
    await until(() => store.stats().lacks !== undefined && store.stats().building === 0)
    assert.match(store.stats().lacks!, /pg_trgm is missing.*CREATE EXTENSION pg_trgm$/)
    assert.match((await verifyPostgres(plain, systemClock)).notes.join(), /pg_trgm is missing/)
  })
})
