/** What questions leave in the sessions of a source, and what they find there, with a pooler in between and without. */
import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import { Stop } from '#leaf/stop.ts'
import { UnknownThere } from '#sources/in-writing.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { searchDocuments } from '../../src/documents/asking/searching.ts'
import { SourceDoor } from '#sources/source-door.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { updateDocument } from '../../src/documents/writing/updating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { noPgBouncer, noPostgres, startPgBouncer, suitePostgres } from '../helpers/postgres.ts'
import { openOffice, overTables, siteOver } from './erp.ts'
import { item, lot, stock } from './erp-stock.ts'
import { someone } from './trading-company.ts'

const ann = someone('ann@example.com', 'Clerk')
const bob = someone('bob@example.com', 'Clerk')
const boss = someone('boss@example.com', 'Boss')

describe('a source behind PgBouncer in transaction mode', { skip: noPgBouncer }, () => {
  const server = suitePostgres()

  it('answers everybody over two sessions, is told who asks, and keeps nothing of it', async (t) => {
    const office = await openOffice(t, server, { user: 'writer', before: stock })
    const url = new URL(office.url)
    url.port = String(await startPgBouncer(t, server, 'default_pool_size = 2', 'writer'))
    const site = siteOver(url, {
      user: 'writer',
      more: ', max_connections: 8, timeout_seconds: 2',
      files: { 'config/doctypes/item.yaml': item, 'config/doctypes/lot.yaml': lot },
    })
    const { documents, faults, events } = await overTables(t, site, true)
    assert.deepEqual(faults, [])
    const ask = async (): Promise<void> => {
      const [page, count, view, found, sums] = await Promise.all([
        listDocuments(documents, ann, { doctype: 'Customer', limit: 3 }),
        countDocuments(documents, bob, 'Customer', { country: 'DE' }),
        getDocument(documents, ann, 'Customer', '2'),
        searchDocuments(documents, ann, { words: 'customer 12', doctype: 'Customer', limit: 5 }),
        aggregateDocuments(documents, boss, { doctype: 'Customer', groupBy: ['kind'] }),
      ])
      assert.deepEqual([page.total, page.data[0]!['name'], count], [20, '40', 0])
      assert.equal(view['customer_name'], 'Customer 2')
      assert.deepEqual(
        found.results.map(({ name }) => name),
        ['12'],
      )
      assert.deepEqual(
        sums.rows.map(({ kind, count: of }) => [kind, of]),
        [
          ['company', 20],
          ['person', 20],
        ],
      )
    }
    for (let round = 0; round < 5; round++) await Promise.all([ask(), ask(), ask()])

    const letGo = await office.holding('LOCK TABLE erp.invoice')
    await assert.rejects(getDocument(documents, boss, 'Invoice', 'I-1'), /took too long; ask for less/)
    const stop = new Stop()
    const given = getDocument({ ...documents, stop }, boss, 'Invoice', 'I-1')
    stop.end(new Error('gone'))
    await assert.rejects(given, /gone/)
    await ask()
    await letGo()
    assert.equal((await getDocument(documents, boss, 'Invoice', 'I-1'))['total'], 1.1)

    await createDocument(documents, ann, 'Item', { title: 'Bolt', price: 1.5, supplier: '2' })
    await updateDocument(documents, ann, 'Item', '3', { price: 2 })
    assert.equal((await getDocument(documents, ann, 'Item', '3'))['price'], 2)
    assert.deepEqual(
      events.map(({ type, status }) => `${type} ${status}`),
      ['document.intend waiting', 'document.create ok', 'document.intend waiting', 'document.update ok'],
    )

    const other = new Client({ connectionString: url.href })
    // The pooler goes first.
    other.on('error', () => undefined)
    await other.connect()
    t.after(() => other.end())
    for (let round = 0; round < 4; round++) {
      const { rows } = await other.query<Record<string, string | null>>(
        `SELECT (SELECT count(*)::int FROM pg_prepared_statements) AS prepared, current_setting('statement_timeout') AS timeout,
           current_setting('plan_cache_mode') AS plans, NULLIF(current_setting('assistant.user', true), '') AS caller`,
      )
      assert.deepEqual(rows, [{ prepared: 0, timeout: '0', plans: 'auto', caller: null }])
    }
  })
})

describe('the session of a source that is its own', { skip: noPostgres }, () => {
  const server = suitePostgres()

  async function open(
    t: TestContext,
    { before = 'SELECT 1', more = {} }: { readonly before?: string; readonly more?: object } = {},
  ): Promise<{ readonly door: SourceDoor; readonly sql: (text: string) => Promise<void> }> {
    const { url, sql } = await openOffice(t, server, { before })
    const place = {
      host: '127.0.0.1',
      port: Number(url.port),
      database: url.pathname.slice(1),
      user: 'reader',
    }
    const door = new SourceDoor(
      { type: 'postgres', ...place, max_connections: 1, ...more },
      () => Promise.resolve(''),
      () => undefined,
    )
    t.after(() => door.close())
    return { door, sql }
  }

  const namesIn = async (door: SourceDoor): Promise<readonly string[]> => {
    const { rows } = await door.pool.query<{ statement: string }>(
      'SELECT statement FROM pg_prepared_statements',
    )
    return rows.map(({ statement }) => statement)
  }

  it('prepares what is asked a second time, and answers after somebody ended that, or changed a column', async (t) => {
    const { door, sql } = await open(t)
    const asked = door.queryable({ asker: ann, tells: true })
    const text = 'SELECT name FROM erp.customer WHERE id = $1'
    const name = async (id: number): Promise<unknown> => (await asked.rows({ text, values: [id] }))[0]?.[0]
    assert.equal(await name(1), 'Customer 1')
    assert.ok(!(await namesIn(door)).includes(text), 'it came once')
    for (const id of [2, 3]) assert.equal(await name(id), `Customer ${id}`)
    assert.ok((await namesIn(door)).includes(text))
    await sql('ALTER TABLE erp.customer ALTER COLUMN name TYPE varchar(70)')
    for (const id of [4, 5, 6]) assert.equal(await name(id), `Customer ${id}`)
    assert.deepEqual(await namesIn(door), [], 'where that failed, nothing is prepared any more')

    const { door: other } = await open(t)
    const again = other.queryable({ asker: ann, tells: false })
    for (const id of [1, 2, 3]) await again.rows({ text, values: [id] })
    await other.pool.query('DEALLOCATE ALL')
    for (const id of [4, 5, 6])
      assert.deepEqual(await again.rows({ text, values: [id] }), [[`Customer ${id}`]])
  })

  it('is closed when it has prepared much, and after what it could not prepare nothing is missing', async (t) => {
    const { door } = await open(t)
    const asked = door.queryable({ asker: ann, tells: false })
    for (let round = 0; round < 3; round++) {
      await assert.rejects(asked.rows({ text: 'SELECT nothing FROM nowhere', values: [] }), /nowhere/)
      await assert.rejects(asked.rows({ text: 'SELECT 1 / $1::int', values: [0] }), /division by zero/)
    }
    assert.deepEqual(await asked.rows({ text: 'SELECT 1 / $1::int', values: [1] }), [[1]])
    const { rows: first } = await door.pool.query<{ id: number }>('SELECT pg_backend_pid() AS id')
    for (let n = 0; n < 210; n++)
      assert.deepEqual(await asked.rows({ text: `SELECT ${n} + $1::int`, values: [1] }), [[n + 1]])
    const { rows: last } = await door.pool.query<{ id: number }>('SELECT pg_backend_pid() AS id')
    assert.notEqual(last[0]!.id, first[0]!.id)
  })

  it('does not fill with statements that were prepared and then fail, however often they are asked', async (t) => {
    const { door } = await open(t)
    const asked = door.queryable({ asker: ann, tells: false })
    const divided = (by: number): Promise<unknown> => asked.rows({ text: 'SELECT 1 / $1::int', values: [by] })
    assert.deepEqual(await divided(1), [[1]])
    for (let round = 0; round < 230; round++) await assert.rejects(divided(0), /division by zero/)
    const left = (await namesIn(door)).filter((text) => text.startsWith('SELECT 1 /'))
    assert.ok(left.length < 40, `${left.length} are left`)
    assert.deepEqual(await divided(1), [[1]])
  })

  it('plans anew what a kept plan does not answer in a while', async (t) => {
    const before = `CREATE FUNCTION erp.waits() RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN IF (SELECT count(*) > 0 FROM pg_prepared_statements WHERE statement = 'SELECT erp.waits()')
        AND current_setting('plan_cache_mode') = 'auto' THEN PERFORM pg_sleep(8); END IF; RETURN 7; END $$`
    const { door } = await open(t, { before })
    const asked = door.queryable({ asker: ann, tells: false })
    const waits = async (): Promise<unknown> =>
      (await asked.rows({ text: 'SELECT erp.waits()', values: [] }))[0]
    assert.deepEqual(await waits(), [7])
    const began = performance.now()
    assert.deepEqual(await waits(), [7])
    assert.ok(performance.now() - began > 900, 'the plan was kept at first')
    const again = performance.now()
    for (let round = 0; round < 3; round++) assert.deepEqual(await waits(), [7])
    assert.ok(performance.now() - again < 900, 'and is not from then on')
  })

  it('is given up with its connection when nothing comes back, and the next question has another', async (t) => {
    const { door, losing } = await throughDeaf(t)
    const asked = door.queryable({ asker: ann, tells: false })
    const one = (): Promise<unknown> => asked.rows({ text: 'SELECT 1', values: [] })
    assert.deepEqual(await one(), [[1]])
    losing('SELECT 1')
    await assert.rejects(one(), /timeout/)
    assert.deepEqual(await one(), [[1]])
  })

  it('is given up as well when nobody answers its rollback, or the commit of a change, which nobody knows then', async (t) => {
    const { door, losing } = await throughDeaf(t)
    const asked = door.queryable({ asker: ann, tells: false })
    const ask = (text: string): Promise<unknown> => asked.rows({ text, values: [] })
    losing('division by zero')
    await assert.rejects(ask('SELECT 1/0'), /division by zero/)
    assert.deepEqual(await ask('SELECT 1'), [[1]])
    losing('COMMIT\0')
    const how = { dry: false, last: () => Promise.resolve() }
    const changed = door.writing({ asker: ann }, how, (on) => on.rows({ text: 'SELECT 1', values: [] }))
    await assert.rejects(changed, UnknownThere)
    assert.deepEqual(await ask('SELECT 1'), [[1]])
  })

  /** A door of one connection, which answers no more once a text has passed on it. */
  async function throughDeaf(t: TestContext) {
    let text: string | undefined
    const proxy = createServer((near) => {
      let isDeaf = false
      const far = connect(server.port, '127.0.0.1')
      for (const one of [near, far]) one.on('error', () => undefined)
      const passed = (data: Buffer): void => {
        if (text === undefined || !data.includes(text)) return
        isDeaf = true
        text = undefined
      }
      near.on('data', (data) => (far.write(data), passed(data)))
      far.on('data', (data) => {
        if (!isDeaf) near.write(data)
        passed(data)
      })
      near.on('close', () => far.destroy())
    })
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
    t.after(() => proxy.close())
    const { port } = proxy.address() as AddressInfo
    const { door } = await open(t, { more: { port, timeout_seconds: 1 } })
    return { door, losing: (what: string) => void (text = what) }
  }
})
