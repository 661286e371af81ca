/**
 * Writes a second that 1, 2 and 3 daemons keep together on one database, each daemon a process of its own with eight
 * people at once: documents of their own, one a write; and transactions that read a document of two thousand, think for
 * some milliseconds, as a network and the work itself do, and write two. A daemon runs its transactions one after the
 * other. The database is the bench's own, with fsync on.
 * `node --import tsx bench/store/daemons.ts [milliseconds]`
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { randomId } from '../../src/core/secrets.ts'
import { openPostgresStore } from '../../src/store/postgres.ts'
import type { Store, Stored } from '../../src/store/store.ts'
import { noPostgres, startPostgres } from '../../test/helpers/postgres.ts'

interface Note extends Stored {
  readonly n: number
}

/** What a daemon kept. */
interface Kept {
  readonly writes: number
  readonly transactions: number
  /** How often the work of a transaction was begun. */
  readonly runs: number
}

const notes = { name: 'bench.note', indexes: ['n'] } as const
const measureMilliseconds = 5_000
const held = 2_000
const people = 8
const [first = '5', second = ''] = process.argv.slice(2)

await (first === 'daemon' ? daemon(second) : compare())

async function compare(): Promise<void> {
  if (noPostgres !== undefined) throw new Error(noPostgres)
  const steps: (() => unknown)[] = []
  const server = await startPostgres(
    { after: (step) => void steps.push(step as () => unknown) },
    { durable: true },
  )
  try {
    const url = await server.newDatabase()
    await fill(url)
    const rows: string[] = []
    for (const count of [1, 2, 3]) rows.push(row(count, await together(url, count)))
    process.stdout.write(
      ['| daemons | writes/s | transactions/s | run anew |', '|---|---|---|---|', ...rows, ''].join('\n'),
    )
  } finally {
    for (const step of steps) await step()
  }
}

async function together(url: string, count: number): Promise<readonly Kept[]> {
  const children: ChildProcess[] = []
  for (let n = 0; n < count; n++)
    children.push(fork(import.meta.filename, ['daemon', url, first], { execArgv: process.execArgv }))
  const heard = (): Promise<unknown[]> =>
    Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as unknown))
  await heard()
  const results = heard()
  for (const child of children) child.send('go')
  return (await results) as Kept[]
}

function row(count: number, kept: readonly Kept[]): string {
  const sum = (part: keyof Kept): number => kept.reduce((total, one) => total + one[part], 0)
  const seconds = measureMilliseconds / 1000
  const anew = Math.round((1 - sum('transactions') / sum('runs')) * 100)
  const perSecond = (part: keyof Kept): number => Math.round(sum(part) / seconds)
  return `| ${count} | ${perSecond('writes')} | ${perSecond('transactions')} | ${anew} % |`
}

async function open(url: string): Promise<Store> {
  return await openPostgresStore({ url, clock: systemClock, log: createLog('error', process.stderr) })
}

async function fill(url: string): Promise<void> {
  const store = await open(url)
  await store.transaction(async (transaction) => {
    const all = transaction.in(store.collection<Note>(notes))
    for (let n = 0; n < held; n++) await all.put({ id: `held-${n}`, n })
  })
  await store.close()
}

/** One daemon: says that it is there, begins when it is told, says what it kept. */
async function daemon(url: string): Promise<void> {
  const think = Number(process.argv[4])
  const store = await open(url)
  const collection = store.collection<Note>(notes)
  await collection.get('held-0')
  const begun = once(process, 'message')
  process.send!('ready')
  await begun
  const kept = { writes: 0, transactions: 0, runs: 0 }
  await during(async () => {
    await collection.put({ id: randomId(), n: kept.writes })
    kept.writes++
  })
  await during(async () => {
    await store.transaction(async (transaction) => {
      kept.runs++
      const all = transaction.in(collection)
      const id = `held-${Math.floor(Math.random() * held)}`
      const found = await all.get(id)
      await wait(think)
      await all.put({ id, n: (found?.n ?? 0) + 1 })
      await all.put({ id: randomId(), n: kept.runs })
    })
    kept.transactions++
  })
  await store.close()
  process.send!(kept, () => process.disconnect())
}

async function during(work: () => Promise<void>): Promise<void> {
  const end = performance.now() + measureMilliseconds
  const person = async (): Promise<void> => {
    while (performance.now() < end) await work()
  }
  await Promise.all(Array.from({ length: people }, person))
}
