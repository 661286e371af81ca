/**
 * Transactions a second that 1, 2, 4 and 8 daemons keep together on one database, each daemon a process of its own with
 * sixteen people at once, through a proxy that makes a round trip take as long as it is told: transactions that insert two
 * documents and read nothing that others write; the same with a number of one series for all, without a gap; and what one
 * person without a series keeps, alone and beside the daemons with it. The database is the bench's own, with fsync on.
 * `node --import tsx packages/state/bench/daemons.ts [milliseconds of a round trip]`
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { randomId } from '#leaf/secrets.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import type { Store, Stored } from '#state/store.ts'
import { noPostgres, startPostgres } from '../../../test/helpers/postgres.ts'
import { startSlowProxy } from '../../../test/helpers/slow-proxy.ts'

interface Note extends Stored {
  readonly n: number
}

/** What a daemon kept. */
interface Kept {
  readonly transactions: number
  /** How often the work of a transaction was begun. */
  readonly runs: number
}

type Mode = 'plain' | 'series' | 'beside'

const notes = { name: 'bench.note', indexes: ['n'] } as const
const lines = { name: 'bench.line' } as const
const others = { name: 'bench.other', indexes: ['n'] } as const
const series = { name: 'bench.series', contended: true } as const
const measureMilliseconds = 5_000
const people = Number(process.env['BENCH_PEOPLE'] ?? 16)
const [first = '14', url = '', mode = ''] = process.argv.slice(2)

await (first === 'daemon' ? daemon(url, mode as Mode) : compare(Number(first)))

async function compare(delay: number): Promise<void> {
  if (noPostgres !== undefined) throw new Error(noPostgres)
  const steps: (() => unknown)[] = []
  const server = await startPostgres(
    { after: (step) => void steps.push(step as () => unknown) },
    { durable: true },
  )
  const proxy = await startSlowProxy(server.port, delay)
  try {
    const address = new URL(await server.newDatabase())
    await (await open(address.href)).close()
    address.port = String(proxy.port)
    const alone = await together(address.href, ['beside'])
    const rows: string[] = []
    for (const count of [1, 2, 4, 8]) {
      const turns = proxy.turns()
      const plain = await together(
        address.href,
        Array.from({ length: count }, () => 'plain' as const),
      )
      const trips = (proxy.turns() - turns) / sum(plain, 'runs')
      const all = [...Array.from({ length: count }, () => 'series' as const), 'beside' as const]
      const mixed = await together(address.href, all)
      const beside = mixed.pop()!
      const share = Math.round((beside.transactions / alone[0]!.transactions) * 100)
      const cells = [perSecond(plain), trips.toFixed(1), perSecond(mixed), anew(mixed), `${share} %`]
      rows.push(`| ${[count, ...cells].join(' | ')} |`)
    }
    process.stdout.write(
      [
        `| daemons, ${delay} ms | without a series, /s | round trips each | one series, /s | runs each | one beside, of alone |`,
        '|---|---|---|---|---|---|',
        ...rows,
        '',
      ].join('\n'),
    )
  } finally {
    proxy.close()
    for (const step of steps) await step()
  }
}

async function together(address: string, modes: readonly Mode[]): Promise<Kept[]> {
  const children: ChildProcess[] = modes.map((mode) =>
    fork(import.meta.filename, ['daemon', address, mode], { execArgv: process.execArgv }),
  )
  const heard = (): Promise<unknown[]> =>
    Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as unknown))
  await heard()
  const results = heard()
  for (const child of children) child.send('go')
  return (await results) as Kept[]
}

function sum(kept: readonly Kept[], part: keyof Kept): number {
  return kept.reduce((total, one) => total + one[part], 0)
}

function perSecond(kept: readonly Kept[]): number {
  return Math.round(sum(kept, 'transactions') / (measureMilliseconds / 1000))
}

function anew(kept: readonly Kept[]): string {
  return (sum(kept, 'runs') / sum(kept, 'transactions')).toFixed(2)
}

async function open(address: string): Promise<Store> {
  return await openPostgresStore({
    url: address,
    clock: systemClock,
    log: createLog('error', process.stderr),
  })
}

/** One daemon: says that it is there, begins when it is told, says what it kept. */
async function daemon(address: string, how: Mode): Promise<void> {
  const store = await open(address)
  const counters = store.collection<Note>(series)
  const [all, more] = [
    store.collection<Note>(how === 'beside' ? others : notes),
    store.collection<Note>(lines),
  ]
  const kept = { transactions: 0, runs: 0 }
  const work = async (): Promise<void> => {
    await store.transaction(
      async (transaction) => {
        kept.runs++
        let n = 0
        if (how === 'series') {
          n = ((await transaction.in(counters).get('s'))?.n ?? 0) + 1
          await transaction.in(counters).put({ id: 's', n })
        }
        await transaction.in(all).insert({ id: randomId(), n })
        await transaction.in(more).insert({ id: randomId(), n })
      },
      how === 'series' ? { reads: [[counters, 's']] } : {},
    )
    kept.transactions++
  }
  await work()
  const begun = once(process, 'message')
  process.send!('ready')
  await begun
  kept.transactions = kept.runs = 0
  const end = performance.now() + measureMilliseconds
  const person = async (): Promise<void> => {
    while (performance.now() < end) await work()
  }
  await Promise.all(Array.from({ length: how === 'beside' ? 1 : people }, person))
  const told = { ...kept }
  await store.close()
  process.send!(told, () => process.disconnect())
}
