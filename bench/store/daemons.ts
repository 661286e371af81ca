/**
 * Transactions a second that 1, 2 and 3 daemons keep together on one database: each reads a document, thinks for as
 * long as given, as a network and the work itself do, and writes two. The address is that of an empty database, whose
 * state is dropped.
 * `node --import tsx bench/store/daemons.ts postgresql://… [milliseconds]`
 *
 * PostgreSQL 15, all on two cores with ten times as much to do, 5 ms of thinking: 8 by one, 16 by two, 18 by three;
 * 7 and 11 of a hundred were run anew.
 */
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { randomId } from '../../src/core/secrets.ts'
import { openPostgresStore } from '../../src/store/postgres.ts'
import type { Store, Stored } from '../../src/store/store.ts'

interface Note extends Stored {
  readonly n: number
}

const [url = '', think = '5'] = process.argv.slice(2)
const notes = { name: 'bench.note', indexes: ['n'] } as const
const measureMilliseconds = 5_000
const held = 2_000

const client = new Client({ connectionString: url })
await client.connect()
await client.query('DROP SCHEMA IF EXISTS assistant_core CASCADE')
await client.end()
const log = createLog('warn', process.stderr)
const rows: Record<string, unknown>[] = []
for (const daemons of [1, 2, 3]) {
  const stores: Store[] = []
  for (let n = 0; n < daemons; n++) stores.push(await openPostgresStore({ url, clock: systemClock, log }))
  if (daemons === 1) await fill(stores[0]!)
  rows.push({ daemons, ...(await measure(stores)) })
  for (const store of stores) await store.close()
}
console.table(rows)

async function fill(store: Store): Promise<void> {
  await store.transaction(async (transaction) => {
    const all = transaction.in(store.collection<Note>(notes))
    for (let n = 0; n < held; n++) await all.put({ id: `held-${n}`, n })
  })
}

async function measure(stores: readonly Store[]): Promise<Record<string, unknown>> {
  let kept = 0
  let runs = 0
  const end = performance.now() + measureMilliseconds
  const daemon = async (store: Store): Promise<void> => {
    const collection = store.collection<Note>(notes)
    while (performance.now() < end) {
      await store.transaction(async (transaction) => {
        runs++
        const all = transaction.in(collection)
        const id = `held-${Math.floor(Math.random() * held)}`
        const found = await all.get(id)
        await wait(Number(think))
        await all.put({ id, n: (found?.n ?? 0) + 1 })
        await all.put({ id: randomId(), n: runs })
      })
      kept++
    }
  }
  await Promise.all(stores.map(daemon))
  const perSecond = Math.round(kept / (measureMilliseconds / 1000))
  return { 'transactions/s': perSecond, 'run anew, %': Math.round(((runs - kept) / runs) * 100) }
}
