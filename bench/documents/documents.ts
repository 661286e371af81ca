/**
 * Questions about documents at several sizes, on both stores side by side, and the same questions in hand-written SQL
 * over the same tables as the anchor. Each store at each size, and SQL at each, is a process of its own, as a daemon
 * would be. All of them are there at once and take turns: in each of nine rounds each is asked the question twenty times,
 * or as often as fits into a moment, after a longer round that counts for nothing; the least of the rounds, since a daemon
 * that waits for the database does its own work meanwhile. How a bare client's processor time grew stands behind ours:
 * whoever waits longer for the same answer finds colder caches.
 *
 *   node --import tsx bench/documents/documents.ts [sizes]     1000,100000,1000000 without sizes
 *
 * Without PostgreSQL on the machine only the embedded store is measured.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { noPostgres, startPostgres } from '../../test/helpers/postgres.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { answer, type Asked, type Measured, openDocuments } from './answering.ts'

const rounds = 9
const repeats = 20
/** As they stand in the table; the first search makes the embedded store's index of words. */
const questions = [
  'list newest',
  'list, indexed filter',
  'list, rule',
  'list, part of a text',
  'page 500',
  'list by amount, offset 500',
  'count, indexed',
  'count, rule',
  'sum by group',
  'first search',
  'search, one found',
  'search, many found',
  'get',
  'create',
  'update',
  'memory, MB',
]

/** A process that answers, and what it has answered by question. */
interface Daemon {
  readonly kind: string
  readonly size: number
  readonly child: ChildProcess
  readonly ended: Promise<never>
  readonly answers: Map<string, Measured>
}

const [given = '1000,100000,1000000', count, place] = process.argv.slice(2)
if (given === 'fill') await fillEmbedded(Number(count), place!)
else if (given === 'embedded' || given === 'PostgreSQL' || given === 'SQL')
  await answer(given, Number(count), place!)
else await compare(given.split(',').map(Number))

async function compare(sizes: readonly number[]): Promise<void> {
  const cleanups: (() => Promise<void>)[] = []
  const server = noPostgres
    ? undefined
    : await startPostgres({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  const daemons: Daemon[] = []
  try {
    for (const size of sizes) {
      const folder = await mkdtemp(join(tmpdir(), 'documents-bench-'))
      cleanups.unshift(() => rm(folder, { recursive: true, force: true }))
      await once(child('fill', size, folder), 'exit')
      daemons.push(await start('embedded', size, folder))
      if (!server) continue
      const url = await server.newDatabase()
      await fillPostgres(size, url)
      for (const kind of ['PostgreSQL', 'SQL']) daemons.push(await start(kind, size, url))
    }
    for (const question of questions) {
      await ask(daemons, question)
      console.error(
        question.padEnd(28),
        ...daemons.map(({ answers }) => shown(answers.get(question)?.cpu).padStart(8)),
      )
    }
    conclude(sizes, daemons)
  } finally {
    for (const { child: one } of daemons) one.kill()
    for (const step of cleanups) await step()
  }
}

function child(kind: string, size: number, at: string): ChildProcess {
  const execArgv = ['--expose-gc', '--import', 'tsx']
  // What has no number in JSON is an answer too.
  return fork(import.meta.filename, [kind, String(size), at], { execArgv, serialization: 'advanced' })
}

async function start(kind: string, size: number, at: string): Promise<Daemon> {
  const one = child(kind, size, at)
  const ended = once(one, 'exit').then(() => Promise.reject(new Error(`${kind}, ${size}: ended too soon`)))
  ended.catch(() => undefined)
  const [started] = (await Promise.race([once(one, 'message'), ended])) as [Measured]
  return { kind, size, child: one, ended, answers: new Map([['start', started]]) }
}

/** All daemons in turn, again and again. */
async function ask(daemons: readonly Daemon[], question: string): Promise<void> {
  const once = question === 'first search' || question === 'memory, MB'
  const found = new Map<Daemon, Measured[]>(daemons.map((daemon) => [daemon, []]))
  for (let round = once ? 1 : 0; round < (once ? 2 : rounds + 1); round++)
    for (const daemon of daemons) {
      const times = once ? 1 : round === 0 ? 10 * repeats : repeats
      const answered = await tell(daemon, { question, times })
      if (answered && round > 0) found.get(daemon)!.push(answered)
    }
  for (const [{ answers }, times] of found)
    if (times.length > 0)
      answers.set(question, {
        cpu: Math.min(...times.map(({ cpu }) => cpu)),
        wall: Math.min(...times.map(({ wall }) => wall)),
      })
}

async function tell({ child: one, ended }: Daemon, asked: Asked): Promise<Measured | null> {
  const answered = once(one, 'message') as Promise<[Measured | null]>
  one.send(asked)
  return (await Promise.race([answered, ended]))[0]
}

async function fillPostgres(size: number, url: string): Promise<void> {
  const documents = await openDocuments('PostgreSQL', url)
  const { store } = documents
  // Whoever writes to a collection first makes its table.
  await collectionFor(documents, documents.platform.doctypes.get('Opportunity')!).delete('none')
  const client = new Client(url)
  await client.connect()
  await client.query(filling(size))
  do await wait(500)
  while ((store.stats().building ?? 0) > 0)
  await client.query('VACUUM ANALYZE assistant_core.document')
  await client.end()
  await store.close()
}

async function fillEmbedded(size: number, folder: string): Promise<void> {
  const documents = await openDocuments('embedded', folder)
  await fill(documents, size)
  await documents.store.close()
}

/** Processor time at each size and how it grew, and how the time until the answer compares with SQL's. */
function conclude(sizes: readonly number[], daemons: readonly Daemon[]): void {
  const of = (kind: string, size: number, question: string): Measured | undefined =>
    daemons.find((one) => one.kind === kind && one.size === size)?.answers.get(question)
  const stores = ['embedded', 'PostgreSQL'].filter((kind) => daemons.some((one) => one.kind === kind))
  const heads = stores.flatMap((kind) => [
    ...sizes.map((size) => `${kind}, ${size}`),
    kind === 'embedded' ? '×' : '× (SQL)',
  ])
  console.log(`| CPU ms | ${heads.join(' | ')} | time beside SQL |`)
  console.log(`|${' --- |'.repeat(heads.length + 2)}`)
  for (const question of ['start', ...questions]) {
    const timesOf = (kind: string): (number | undefined)[] =>
      sizes.map((size) => of(kind, size, question)?.cpu)
    const growth = (kind: string): string => ratio(timesOf(kind).at(-1), timesOf(kind)[0])
    const cells = stores.flatMap((kind) => {
      const bare = kind === 'embedded' || question === 'memory, MB' ? '' : growth('SQL')
      return [...timesOf(kind).map(shown), bare === '' ? growth(kind) : `${growth(kind)} (${bare})`]
    })
    const wallOf = (kind: string, size: number): number | undefined => of(kind, size, question)?.wall
    const beside = sizes.map((size) => ratio(wallOf('PostgreSQL', size), wallOf('SQL', size)))
    console.log(
      `| ${question} | ${cells.join(' | ')} | ${beside[0] === '' ? '' : `${beside.join(', ')} ×`} |`,
    )
  }
}

function ratio(one = NaN, other = NaN): string {
  return Number.isFinite(one / other) ? (one / other).toFixed(1) : ''
}

function shown(time: number | undefined): string {
  if (time === undefined) return ''
  return Number.isFinite(time) ? time.toFixed(time < 10 ? 2 : 0) : 'refused'
}

async function fill(documents: Documents, size: number): Promise<void> {
  const opportunities = collectionFor(documents, documents.platform.doctypes.get('Opportunity')!)
  const words = ['amber', 'basalt', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'heath']
  const stages = ['Prospecting', 'Proposal', 'Negotiation', 'Won', 'Lost']
  for (let first = 0; first < size; first += 5000)
    await documents.store.transaction(async (tx) => {
      for (let n = first; n < Math.min(size, first + 5000); n++) {
        const time = new Date(Date.UTC(2025, 0, 1) + n * 30_000).toISOString()
        await tx.in(opportunities).put({
          id: `OPP-${String(n).padStart(5, '0')}`,
          owner: n % 3 === 0 ? 'sales@example.com' : 'boss@example.com',
          creation: time,
          modified: time,
          modified_by: 'boss@example.com',
          docstatus: 0,
          title: `${words[n % 8]!} order ${n}`,
          lead: 'LEAD-00001',
          stage: stages[(n * 3) % 5]!,
          amount: (n * 7919) % 100_000,
          probability: (n * 13) % 101,
          expected_close: new Date(Date.UTC(2026, 0, 1) + (n % 365) * 86_400_000).toISOString().slice(0, 10),
        })
      }
    })
}

/** The same documents, made by the database itself. */
function filling(size: number): string {
  const time = `to_char(timestamp '2025-01-01' + n * interval '30 seconds', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const name = `'OPP-' || lpad(n::text, greatest(5, length(n::text)), '0')`
  return `INSERT INTO assistant_core.document (collection, id, body)
    SELECT 'document.opportunity', decode(regexp_replace(encode(convert_to(${name}, 'UTF8'), 'hex'), '(..)', '00\\1', 'g'), 'hex'),
      json_build_object('id', ${name}, 'owner', CASE n % 3 WHEN 0 THEN 'sales@example.com' ELSE 'boss@example.com' END,
        'creation', ${time}, 'modified', ${time}, 'modified_by', 'boss@example.com', 'docstatus', 0,
        'title', (ARRAY['amber', 'basalt', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'heath'])[n % 8 + 1] || ' order ' || n,
        'lead', 'LEAD-00001',
        'stage', (ARRAY['Prospecting', 'Proposal', 'Negotiation', 'Won', 'Lost'])[n * 3 % 5 + 1],
        'amount', n::bigint * 7919 % 100000, 'probability', n * 13 % 101,
        'expected_close', to_char(date '2026-01-01' + n % 365, 'YYYY-MM-DD'))::text
    FROM generate_series(0, ${size - 1}) AS n`
}
