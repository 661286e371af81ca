/** What a door to a database of others keeps, whatever its kind: the same tests for each. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Stop } from '#leaf/stop.ts'
import { type Caller, type Door, openDoor } from '#sources/sources.ts'
import type { Source } from '#sources/source.ts'
import { keepOutcome, takeKey, writeKeysDdl, writeKeysIn, wrongWith } from '#sources/write-keys.ts'
import { noMariadb, suiteMariadb } from '../../../test/helpers/mariadb.ts'
import { noPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { Client } from 'pg'

const ann: Caller = { user: 'ann', roles: new Set(['Clerk']), client: { id: 'app' } }
const things = 'CREATE TABLE thing (id int PRIMARY KEY, name varchar(20) NOT NULL)'
const rowsIn = { text: 'SELECT id, name FROM thing ORDER BY id', values: [] }
const insert = { text: 'INSERT INTO thing (id, name) VALUES ($1, $2)', values: [2, 'two'] }
const whole = { dry: false, last: () => Promise.resolve() }

interface Kind {
  /** What says who asks, in the words of the database. */
  readonly caller: string
  /** The schema of its tables. */
  readonly schemaOf: (source: Source) => string
  /** Makes a database in which the login may read and write, by these statements and those that its kind needs. */
  readonly make: (sql: (source: Source) => readonly string[]) => Promise<Source>
}

function keepsItsContract({ caller, schemaOf, make }: Kind): void {
  async function open(t: TestContext): Promise<{ door: Door; source: Source }> {
    const source = await make((one) => [
      things,
      "INSERT INTO thing VALUES (1, 'one')",
      ...writeKeysDdl(writeKeysIn(one)!, one),
    ])
    const door = await openDoor(
      source,
      () => Promise.resolve(''),
      () => undefined,
    )
    t.after(() => door.close())
    return { door, source }
  }
  const rows = (door: Door): Promise<readonly (readonly unknown[])[]> =>
    door.queryable({ tells: false }).rows(rowsIn)

  it('tells the database who asks, and nobody else afterwards', async (t) => {
    const { door } = await open(t)
    const who = { text: `SELECT ${caller}`, values: [] }
    assert.deepEqual(await door.queryable({ asker: ann, tells: true }).rows(who), [['ann']])
    const [[next]] = (await door.queryable({ asker: undefined, tells: true }).rows(who)) as [[string | null]]
    assert.equal(next ?? '', '')
  })

  it('lets no question write', async (t) => {
    const { door } = await open(t)
    await assert.rejects(async () => door.queryable({ asker: ann, tells: false }).rows(insert), /read.?only/i)
    assert.deepEqual((await rows(door)).map(String), ['1,one'])
  })

  it('keeps all that a transaction wrote or nothing, and tells what became of it', async (t) => {
    const { door } = await open(t)
    const write = async (how: { dry: boolean }, fails = false): Promise<string> => {
      let named = ''
      await door
        .writing({ asker: ann }, { ...whole, ...how }, async (on, transaction) => {
          named = await transaction()
          await on.rows(insert)
          if (fails) throw new Error('no more')
        })
        .catch((error: Error) => assert.equal(error.message, 'no more'))
      return named
    }
    const time = new Date().toISOString()
    const undone = [await write({ dry: false }, true), await write({ dry: true })]
    assert.deepEqual((await rows(door)).map(String), ['1,one'])
    for (const transaction of undone) assert.equal(await door.outcome({ transaction, time }), 'aborted')
    const done = await write({ dry: false })
    assert.deepEqual((await rows(door)).map(String), ['1,one', '2,two'])
    assert.equal(await door.outcome({ transaction: done, time }), 'committed')
  })

  it('ends a transaction whose caller has gone, and keeps nothing of it', async (t) => {
    const { door } = await open(t)
    const stop = new Stop()
    const given = door.writing({ asker: ann, stop }, whole, async (on) => {
      await on.rows(insert)
      stop.end(new Error('she left'))
    })
    await assert.rejects(given, /she left/)
    assert.deepEqual((await rows(door)).map(String), ['1,one'])
  })

  it('gives a call that is sent again what the first gave, and refuses its key to another', async (t) => {
    const { door } = await open(t)
    const keys = door.writeKeys!
    const call = (of: string): Promise<unknown> =>
      door.writing({ asker: ann }, whole, async (on) => {
        const known = await takeKey(on, keys, { id: 'key', call: of })
        if (!known) await keepOutcome(on, keys, 'key', { made: 2 })
        return known
      })
    assert.equal(await call('make two'), undefined)
    assert.deepEqual(await call('make two'), { value: { made: 2 } })
    assert.equal(await call('make three'), 'different')
  })

  it('tells of its tables, and whether that of keys is fit', async (t) => {
    const { door, source } = await open(t)
    const schema = schemaOf(source)
    const names = [[schema, 'thing'] as const, source.write_keys!.split('.') as [string, string]]
    const tables = await door.look((at) => at.tables(names))
    const thing = tables.find(({ name }) => name === 'thing')!
    assert.deepEqual([thing.readable, thing.unique[0]], [true, ['id']])
    assert.deepEqual(
      thing.columns.map(({ name, nullable }) => [name, nullable]),
      [
        ['id', false],
        ['name', false],
      ],
    )
    assert.deepEqual(wrongWith(door.writeKeys!, tables), [])
    const [wrong] = wrongWith({ ...door.writeKeys!, table: `${schema}.thing` }, tables)
    assert.match(wrong!, /has no column key/)
  })
}

describe('a door to PostgreSQL', { skip: noPostgres }, () => {
  const server = suitePostgres()
  keepsItsContract({
    caller: "current_setting('assistant.user', true)",
    schemaOf: () => 'public',
    make: async (sql) => {
      const url = new URL(await server.newDatabase())
      const login = `writer_${url.pathname.slice(1)}`
      const source: Source = {
        type: 'postgres',
        host: '127.0.0.1',
        port: server.port,
        database: url.pathname.slice(1),
        user: login,
        write_keys: 'public.write_keys',
      }
      const owner = new Client(url.href)
      await owner.connect()
      await owner.query(`CREATE USER ${login}`)
      for (const text of sql(source)) await owner.query(text)
      await owner.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON thing TO ${login}`)
      await owner.end()
      return source
    },
  })
})

describe('a door to MariaDB', { skip: noMariadb }, () => {
  const server = suiteMariadb()
  keepsItsContract({
    caller: '@assistant_user',
    schemaOf: ({ database }) => database,
    make: async (sql) => {
      const database = await server.newDatabase()
      const source: Source = {
        type: 'mariadb',
        host: '127.0.0.1',
        port: server.port,
        database,
        user: 'reader',
        write_keys: `${database}.write_keys`,
      }
      const owner = await server.connect()
      await owner.query(`USE ${database}`)
      await owner.query(`GRANT ALL ON ${database}.* TO reader@'127.0.0.1'`)
      // Its grants are for a login of any machine.
      for (const text of sql(source)) if (!text.startsWith('GRANT')) await owner.query(text)
      await owner.end()
      return source
    },
  })
})
