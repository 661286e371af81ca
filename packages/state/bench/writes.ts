/**
 * Acknowledged writes a second of a store, by the number of documents it holds and the number of writers at
 * once, and what else grows with the documents: start, look-up, find, memory. The embedded store without an
 * address; with the address of an empty database, whose state is dropped, the PostgreSQL store.
 * `node --import tsx packages/state/bench/writes.ts [postgresql://…] [documents…]`
 *
 * PostgreSQL 15 on the same two busy cores, through loopback, fsync on, 100,000 documents: 555 writes/s by one
 * writer, 1,300 by 64, 370 transactions/s of one read and two writes, 0.4 ms for a look-up by a unique field,
 * 0.2 s for a filter over everything.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import process from 'node:process'
import { compared } from '#state/questions/conditions.ts'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { randomId } from '#leaf/secrets.ts'
import { Client } from 'pg'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import type { Store, Stored } from '#state/store.ts'

interface Token extends Stored {
  readonly user: string
  readonly client: string
  readonly hash: string
  readonly expires: number
}

const tokens = {
  name: 'bench.token',
  indexes: ['user', 'client'],
  unique: ['hash'],
  expires: 'expires',
} as const
const database = process.argv.slice(2).find((argument) => argument.includes('://'))
const sizes = process.argv
  .slice(2)
  .map(Number)
  .filter((size) => size > 0)
const measureMilliseconds = 2_000

const rows: Record<string, unknown>[] = []
for (const size of sizes.length > 0 ? sizes : [1_000, 100_000]) rows.push(await measure(size))
console.table(rows)

async function measure(size: number): Promise<Record<string, unknown>> {
  const folder = await mkdtemp(join(tmpdir(), 'assistant-core-bench-'))
  try {
    await drop()
    const first = await open(folder)
    await fill(first, size)
    await first.close()
    const started = performance.now()
    const store = await open(folder)
    const collection = store.collection<Token>(tokens)
    const startMilliseconds = performance.now() - started
    const [one, many] = [await writes(store, 1), await writes(store, 64)]
    const transactions = await writes(store, 8, true)
    const ids = (await collection.find({ limit: 1000 })).map(({ hash }) => hash)
    const row = {
      documents: size,
      'writes/s, 1 writer': one.perSecond,
      'writes/s, 64 writers': many.perSecond,
      'transactions/s': transactions.perSecond,
      'loop p99, ms': many.loop,
      'start, ms': Math.round(startMilliseconds),
      'get by unique field, µs': await each(ids, (hash) => collection.first({ where: { hash } })),
      'find all with filter, ms': await once(() =>
        collection.find({ holds: compared('user', '=', 'nobody') }),
      ),
      'first page by order, ms': await once(() =>
        collection.find({ order: [{ field: 'expires', descending: true }], limit: 20 }),
      ),
      'memory, MB': Math.round(process.memoryUsage().rss / 2 ** 20),
    }
    await store.close()
    return row
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function open(folder: string): Promise<Store> {
  const log = createLog('warn', process.stderr)
  if (database !== undefined) return await openPostgresStore({ url: database, clock: systemClock, log })
  const store = await openEmbeddedStore({ folder, clock: systemClock, log })
  await store.compact()
  return store
}

async function drop(): Promise<void> {
  if (database === undefined) return
  const client = new Client({ connectionString: database })
  await client.connect()
  await client.query('DROP SCHEMA IF EXISTS assistant_core CASCADE')
  await client.end()
}

async function fill(store: Store, size: number): Promise<void> {
  const collection = store.collection<Token>(tokens)
  for (let done = 0; done < size; done += 1000) {
    await store.transaction(async (transaction) => {
      for (let index = 0; index < Math.min(1000, size - done); index++)
        await transaction.in(collection).put(token())
    })
  }
}

/** Writes of one document, or transactions that read one and write two. */
async function writes(
  store: Store,
  writers: number,
  inTransactions = false,
): Promise<{ perSecond: number; loop: string }> {
  const collection = store.collection<Token>(tokens)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const end = performance.now() + measureMilliseconds
  let count = 0
  const writer = async (): Promise<void> => {
    while (performance.now() < end) {
      if (!inTransactions) await collection.put(token())
      else
        await store.transaction(async (transaction) => {
          const here = transaction.in(collection)
          const one = token()
          await here.get(one.id)
          await here.put(one)
          await here.put(token())
        })
      count++
    }
  }
  await Promise.all(Array.from({ length: writers }, writer))
  delay.disable()
  return {
    perSecond: Math.round((count * 1000) / measureMilliseconds),
    loop: (delay.percentile(99) / 1e6).toFixed(1),
  }
}

function token(): Token {
  const id = randomId()
  const expires = systemClock.now() + 3_600_000 + Math.floor(Math.random() * 86_400_000)
  return {
    id,
    user: `user${id.charCodeAt(0)}@example.com`,
    client: `c${id.charCodeAt(1)}`,
    hash: randomId(),
    expires,
  }
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<string> {
  const started = performance.now()
  for (const item of items) await work(item)
  return (((performance.now() - started) * 1000) / items.length).toFixed(1)
}

async function once(work: () => Promise<unknown>): Promise<string> {
  const started = performance.now()
  await work()
  return (performance.now() - started).toFixed(1)
}
