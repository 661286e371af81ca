/**
 * What a table for each collection gives: the time of the database, planning included, by pg_stat_statements, of lists and
 * searches over 100,000 documents that were just imported beside a million tokens, before and after somebody's ANALYZE
 * (autovacuum is off); and of inserts and look-ups with 12 and with 150 doctypes of five indexes each.
 * `node --import tsx packages/state/bench/tables.ts [TOKENS] [DOCUMENTS]`
 */
import process from 'node:process'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { any, compared, splitWords } from '#state/questions.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import { tableOf } from '#state/postgres/indexes.ts'
import type { Collection, Stored } from '#state/store.ts'
import { noPostgres, startPostgres } from '../../../test/helpers/postgres.ts'

interface Lead extends Stored {
  readonly owner: string
  readonly creation: string
  readonly modified: string
  readonly status: string
  readonly lead_name: string
}

interface Token extends Stored {
  readonly user: string
  readonly client: string
  readonly hash: string
}

const [tokens = 1_000_000, documents = 100_000] = process.argv.slice(2).map(Number)
const rounds = 15
const spec = {
  indexes: ['owner', 'status'],
  ordered: ['creation', 'modified', 'status'],
  texts: ['lead_name'],
} as const
if (noPostgres !== undefined) throw new Error(noPostgres)
const steps: (() => unknown)[] = []
try {
  await main()
} finally {
  for (const step of steps.reverse()) await step()
}

async function main(): Promise<void> {
  const server = await startPostgres(
    { after: (step) => void steps.push(step as () => unknown) },
    { durable: true },
  )
  const first = await connected(await server.newDatabase())
  await first.query("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
  for (const setting of ['autovacuum = off', 'pg_stat_statements.track_planning = on'])
    await first.query(`ALTER SYSTEM SET ${setting}`).catch(() => undefined)
  await first.query('CHECKPOINT')
  await first.end()
  await server.stop()
  await server.start()
  await lists(await server.newDatabase())
  await doctypes(server)
}

async function lists(url: string): Promise<void> {
  const client = await prepared(url)
  const store = await opened(url)
  const all = store.collection<Lead>({ name: 'document.lead', ...spec })
  const known = store.collection<Token>({
    name: 'oauth.token',
    indexes: ['user', 'client'],
    unique: ['hash'],
  })
  await known.put({ id: 'first', user: 'u', client: 'c', hash: 'h' })
  await fill(
    client,
    'oauth.token',
    tokens,
    `'user', 'u' || n % 10000, 'client', 'c' || n % 50, 'hash', md5(n::text)`,
  )
  await all.put(lead(0))
  const made = `'creation', '2026-01-01T00:00:' || n, 'modified', '2026-02-' || lpad((n * 7 % 100000)::text, 6, '0'),
    'owner', 'u' || n % 100, 'status', (ARRAY['Open', 'Lead', 'Won', 'Lost'])[n % 4 + 1],
    'lead_name', 'Company ' || md5(n::text) || ' of the north ' || n % 1000`
  await fill(client, 'document.lead', 660, made)
  await client.query('ANALYZE')
  await settled(store)
  await fill(client, 'document.lead', documents, made, 1_000)
  const before = await asked(client, all)
  await client.query('ANALYZE')
  const after = await asked(client, all)
  const rows = Object.keys(before).map((name) => [name, before[name]!.toFixed(1), after[name]!.toFixed(1)])
  print([`${documents} documents, ${tokens} tokens`, 'ms, never analysed', 'ms after ANALYZE'], rows)
}

async function asked(client: Client, all: Collection<Lead>): Promise<Record<string, number>> {
  const newest = { order: [{ field: 'modified', descending: true }], limit: 21 }
  const open = compared('status', '=', 'Open')
  const words = splitWords('company north').map((word) => ({ word, instead: [] }))
  const calls: Record<string, () => Promise<unknown>> = {
    'the newest 20, counted to 10,000': () => all.page(newest, 10_000),
    'the newest 20 of a status, counted to 10,000': () => all.page({ ...newest, holds: open }, 10_000),
    'the newest 20 of an owner or a status': () =>
      all.find({ ...newest, holds: any(compared('owner', '=', 'u7'), open) }),
    'a part of a name': () => all.find({ ...newest, holds: compared('lead_name', 'like', '%abc12%') }),
    'a search of two common words': () =>
      all.search({ words, all: true, fields: [{ path: 'lead_name', weight: 1 }] }, { limit: 20 }),
  }
  const found: Record<string, number> = {}
  for (const [name, call] of Object.entries(calls)) found[name] = await spent(client, call, rounds)
  return found
}

async function doctypes(server: { newDatabase(): Promise<string> }): Promise<void> {
  const rows: Record<string, number[]> = {}
  for (const count of [12, 150, 12, 150]) {
    const url = await server.newDatabase()
    const client = await prepared(url)
    const store = await opened(url)
    const tables = Array.from({ length: count }, (_, n) =>
      store.collection<Lead>({ name: `document.type${n}`, ...spec }),
    )
    for (const one of tables) await one.put(lead(0))
    await settled(store)
    let n = 1
    const insert = async (): Promise<unknown> => tables[n % 12]!.insert(lead(n++))
    await spent(client, insert, 200)
    ;(rows['an insert'] ??= []).push(await spent(client, insert, 1_500))
    ;(rows['a document by its id'] ??= []).push(await spent(client, () => tables[5]!.get('lead0'), 500))
    ;(rows['the newest 20'] ??= []).push(
      await spent(
        client,
        () => tables[5]!.find({ order: [{ field: 'modified', descending: true }], limit: 20 }),
        300,
      ),
    )
    await store.close()
    await client.end()
  }
  print(
    ['', '12 doctypes, ms', '150 doctypes, ms', 'ratio'],
    Object.entries(rows).map(([name, [a = 0, b = 0, c = 0, d = 0]]) => {
      const [few, many] = [Math.min(a, c), Math.min(b, d)]
      return [name, few.toFixed(3), many.toFixed(3), `${(many / few).toFixed(2)} ×`]
    }),
  )
}

/** Returns the milliseconds of the database for a call. */
async function spent(client: Client, call: () => Promise<unknown>, times: number): Promise<number> {
  await call()
  await client.query('SELECT pg_stat_statements_reset()')
  for (let n = 0; n < times; n++) await call()
  const { rows } = await client.query<{ ms: number }>(`SELECT sum(total_exec_time + total_plan_time) AS ms
    FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
    WHERE d.datname = current_database() AND query NOT LIKE '%pg_stat%'`)
  return rows[0]!.ms / times
}

async function fill(client: Client, name: string, count: number, members: string, from = 1): Promise<void> {
  await client.query(`INSERT INTO assistant_core.${tableOf(name)} (collection, id, body)
    SELECT '${name}', decode(regexp_replace(encode(convert_to('x' || n, 'UTF8'), 'hex'), '(..)', '00\\1', 'g'), 'hex'), json_build_object('id', 'x' || n, ${members})::text
    FROM generate_series(${from}, ${from + count - 1}) AS n`)
}

function lead(n: number): Lead {
  const modified = `2026-02-${String(n).padStart(6, '0')}`
  return {
    id: `lead${n}`,
    modified,
    creation: modified,
    status: 'Open',
    owner: 'u1',
    lead_name: `Company ${n}`,
  }
}

async function prepared(url: string): Promise<Client> {
  const client = await connected(url)
  await client.query('CREATE EXTENSION pg_stat_statements; CREATE EXTENSION pg_trgm')
  steps.push(() => client.end().catch(() => undefined))
  return client
}

async function connected(url: string): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => undefined)
  await client.connect()
  return client
}

async function opened(url: string): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock: systemClock, log: createLog('error', process.stderr) })
  steps.push(() => store.close())
  return store
}

/** Waits until the indexes are built. */
async function settled(store: PostgresStore): Promise<void> {
  for (let quiet = 0; quiet < 5;) {
    await new Promise((done) => setTimeout(done, 200))
    quiet = store.stats().building === 0 ? quiet + 1 : 0
  }
}

function print(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`
  process.stdout.write(line(head) + line(head.map(() => '---')) + rows.map(line).join('') + '\n')
}
