/**
 * What a door adds to the bare driver: a row by its key, one connection, one question at a time; the median over rounds that take
 * turns. `node --import tsx packages/sources/bench/questions.ts`
 */
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { type Caller, openDoor } from '#sources/sources.ts'
import type { Source } from '#sources/source.ts'
import { median, table } from '../../../bench/server-process.ts'
import { startMariadb } from '../../../test/helpers/mariadb.ts'
import { startPostgres } from '../../../test/helpers/postgres.ts'

const [rounds, each] = [15, 500]
const ann: Caller = { user: 'ann', roles: new Set(['Clerk']) }
const text = 'SELECT id, name FROM thing WHERE id = $1'
const make = [
  'CREATE TABLE thing (id int PRIMARY KEY, name varchar(20))',
  "INSERT INTO thing VALUES (1, 'one')",
]

type Ask = () => Promise<unknown>

const endings: (() => unknown)[] = []
const t = { after: (step: unknown): void => void endings.unshift(step as () => unknown) }
try {
  const rows = [await measured('PostgreSQL', await postgres()), await measured('MariaDB', await mariadb())]
  table(['database', 'bare, µs', 'through the door, µs', 'processor bare, µs', 'through the door, µs'], rows)
} finally {
  for (const end of endings) await end()
}

async function measured(name: string, [bare, source]: readonly [Ask, Source]): Promise<(string | number)[]> {
  const door = await openDoor(source, async () => '', console.error)
  t.after(() => door.close())
  const on = door.queryable({ asker: ann, tells: true })
  const asks: readonly Ask[] = [bare, () => on.rows({ text, values: [1] })]
  const times = asks.map(() => ({ wall: [] as number[], processor: [] as number[] }))
  for (let round = 0; round < rounds; round++)
    for (const [which, ask] of asks.entries()) {
      const [began, used] = [performance.now(), process.cpuUsage()]
      for (let count = 0; count < each; count++) await ask()
      const { user, system } = process.cpuUsage(used)
      times[which]!.wall.push(((performance.now() - began) * 1000) / each)
      times[which]!.processor.push((user + system) / each)
    }
  const told = (of: 'wall' | 'processor'): number[] => times.map((one) => Math.round(median(one[of])))
  return [name, ...told('wall'), ...told('processor')]
}

async function postgres(): Promise<readonly [Ask, Source]> {
  const server = await startPostgres(t)
  const url = new URL(await server.newDatabase())
  const client = new Client(url.href)
  await client.connect()
  t.after(() => client.end())
  for (const sql of make) await client.query(sql)
  const ask: Ask = () => client.query({ name: 'one', text, values: [1], rowMode: 'array' })
  const database = url.pathname.slice(1)
  return [ask, { type: 'postgres', host: '127.0.0.1', port: server.port, database, user: 'postgres' }]
}

async function mariadb(): Promise<readonly [Ask, Source]> {
  const server = await startMariadb(t)
  const database = await server.newDatabase()
  const connection = await createConnection({
    host: '127.0.0.1',
    port: server.port,
    user: 'reader',
    database,
  })
  t.after(() => connection.end())
  await server.admin.query(`USE ${database}`)
  for (const sql of make) await server.admin.query(sql)
  const ask: Ask = () => connection.execute({ sql: text.replace('$1', '?'), rowsAsArray: true }, [1])
  return [ask, { type: 'mariadb', host: '127.0.0.1', port: server.port, database, user: 'reader' }]
}
