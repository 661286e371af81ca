/**
 * What more cores serve: processor time of a call, of the daemons and of PostgreSQL apart, with one daemon on the embedded
 * store and with one to four on a local PostgreSQL (with fsync), each with sixteen connections of the same eight people;
 * requests a second where all of that shares one core, and where it shares two with the load. What one daemon can serve ends
 * with its first thread: the second table says what of a call could leave that thread for workers, what a message to it
 * and back takes there, and so what workers could make of one daemon, beside what daemons make of the same cores. Set-ups
 * take turns and medians count. `node --import tsx bench/cores/run.ts [CALLS] [ROUNDS]`, after `npm run build`.
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { Worker } from 'node:worker_threads'
import autocannon from 'autocannon'
import { paths } from '../../src/oauth/urls.ts'
import { inDatabase, noPostgres, startPostgres, type TestPostgres } from '../../test/helpers/postgres.ts'
import { median, startService, stopServerProcesses, table, usedBy, usedByThread } from '../server-process.ts'

const [calls = 800, rounds = 1] = process.argv.slice(2).map(Number)
/** Calls that a daemon answers before it is measured. */
const warmUp = 4000
const connections = 16
const cores = 16
const mostDaemons = 4
const people = Array.from({ length: 8 }, (_, n) => `person-${n}@example.com`)
const folder = mkdtempSync(join(tmpdir(), 'bench-cores-'))
const steps: (() => unknown)[] = []
const cleanup = { after: (step: unknown) => void steps.push(step as () => unknown) }

const call = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } })
const questions = {
  ping: { method: 'ping', params: {} },
  get_document: call('get_document', { doctype: 'Customer', name: 'Müller Bau' }),
  'list_documents, 20 rows': call('list_documents', { doctype: 'Customer', limit: 20 }),
  create_document: call('create_document', { doctype: 'Note', data: { title: 'A call' } }),
  'prompts/get': {
    method: 'prompts/get',
    params: { name: 'sales_analysis', arguments: { analysis_focus: 'revenue_trends' } },
  },
} as const
type Name = keyof typeof questions

/** Daemons that answer together. */
interface SetUp {
  readonly name: string
  readonly daemons: readonly { readonly port: number; readonly pid: number }[]
  readonly tokens: readonly string[]
  /** The processes of the database. */
  readonly database: () => readonly number[]
}

/** What was measured of one question: microseconds of a call, and requests a second. */
interface Measured {
  readonly daemon: number
  /** Of the first thread of all its daemons. */
  readonly thread: number
  readonly database: number
  readonly rate: number
}

/** Where the servers run; the load runs on core 1, or anywhere. */
const places = ['0', '0,1'] as const

try {
  if (noPostgres !== undefined) throw new Error(noPostgres)
  await main()
} finally {
  await stopServerProcesses()
  for (const step of steps.toReversed()) await step()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function main(): Promise<void> {
  const setUps = await startAll()
  const names = Object.keys(questions) as Name[]
  // What runs for the first time is compiled first, in each daemon: rounds that do not count.
  for (const name of names)
    for (const setUp of [setUps[0]!, setUps.at(-1)!]) await measure(setUp, name, warmUp)
  const found = places.map(() => new Map(names.map((name) => [name, setUps.map((): Measured[] => [])])))
  for (let round = 0; round < rounds; round++)
    for (const [where, place] of places.entries()) {
      runOn(place, setUps)
      for (const name of names)
        for (const [at, setUp] of setUps.entries())
          found[where]!.get(name)![at]!.push(await measure(setUp, name))
      process.stderr.write(`round ${round + 1} of ${rounds} on ${place}\n`)
    }
  tellCosts(names, setUps, found)
  process.stdout.write('\n')
  await tellBounds(found[0]!)
}

type Found = ReadonlyMap<Name, readonly (readonly Measured[])[]>

/** What a call takes, and how many are answered a second. */
function tellCosts(names: readonly Name[], setUps: readonly SetUp[], found: readonly Found[]): void {
  const rows = names.flatMap((name) =>
    setUps.map((setUp, at) => {
      const told = (key: keyof Measured, where = 0): number => middle(found[where]!.get(name)![at]!, key)
      const [daemon, database] = [told('daemon'), told('database')]
      const numbers = [daemon, database, 1e6 / (daemon + database), told('rate'), told('rate', 1)]
      return [name, setUp.name, ...numbers.map(Math.round)]
    }),
  )
  const head = [
    'daemons, µs',
    'PostgreSQL, µs',
    'calls a CPU second',
    '/s on one core',
    '/s on two with the load',
  ]
  table(['call', 'served by', ...head], rows)
}

function middle(measured: readonly Measured[], key: keyof Measured): number {
  return median(measured.map((one) => one[key]))
}

/** What workers could make of one daemon on the embedded store, and what daemons on PostgreSQL make of as many cores. */
async function tellBounds(found: Found): Promise<void> {
  const message = Math.min(await messageCost(1), await messageCost(connections))
  const ping = middle(found.get('ping')![0]!, 'thread')
  const rows = [...found].map(([name, [embedded, ...shared]]) => {
    const thread = middle(embedded!, 'thread')
    const stays = Math.min(thread, Math.max(0, thread - ping) + message)
    const four = shared.at(-1)!
    const [daemon, database] = [middle(four, 'daemon'), middle(four, 'database')]
    const both = daemon + database
    return [
      name,
      ...[thread, Math.min(thread, ping)].map(Math.round),
      message.toFixed(1),
      `${(thread / stays).toFixed(1)} ×`,
      ...[1e6 / thread, 1e6 / stays, (cores * 1e6) / both].map(Math.round),
      Math.ceil((cores * daemon) / both),
      (both / thread).toFixed(1),
    ]
  })
  table(
    [
      'call',
      'µs of the first thread',
      'of which could leave it',
      'a message and back, µs there',
      'workers, at most',
      '/s of one daemon',
      '/s with workers, at most',
      `/s of ${cores} cores with PostgreSQL`,
      'by so many daemons',
      'more than one daemon from so many cores',
    ],
    rows,
  )
}

async function startAll(): Promise<SetUp[]> {
  const embedded = await startService(join(folder, 'embedded'), 1000, addPeople)
  const server = await startPostgres(cleanup, { durable: true })
  const address = await server.newDatabase()
  const shared: SetUp['daemons'][number][] = []
  let tokens: readonly string[] = []
  while (shared.length < mostDaemons) {
    const started = await startService(join(folder, `daemon-${shared.length}`), 1000, (site) => {
      addPeople(site)
      const file = join(site, 'config/settings.yaml')
      let text = readFileSync(file, 'utf8')
      for (const [shipped, ours] of inDatabase(cleanup, address)) text = text.replace(shipped, ours)
      writeFileSync(file, text)
    })
    shared.push(started)
    if (tokens.length === 0) tokens = await Promise.all(people.map(started.tokenOf))
  }
  const database = await databaseOf(server)
  return [
    {
      name: '1 daemon, embedded',
      daemons: [embedded],
      tokens: await Promise.all(people.map(embedded.tokenOf)),
      database: () => [],
    },
    ...shared.map((_, at) => ({
      name: `${at + 1} on PostgreSQL`,
      daemons: shared.slice(0, at + 1),
      tokens,
      database,
    })),
  ]
}

function addPeople(site: string): void {
  const added = people.map(
    (email) =>
      `  - { email: ${email}, full_name: A Person, assistant_enabled: 1, roles: [Assistant User, Sales User] }\n`,
  )
  appendFileSync(join(site, 'config/users.yaml'), `\n${added.join('')}`)
}

/** The processes of a server: that which began it, and all that this one has. */
async function databaseOf({ admin }: TestPostgres): Promise<() => readonly number[]> {
  const { rows } = await admin.query('SELECT pg_backend_pid() AS pid')
  const first = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${rows[0].pid}/stat`, 'utf8'))![1])
  return () => {
    const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').trim().split(' ')
    return [first, ...children.map(Number)]
  }
}

/** Processor time by process; one that has ended meanwhile is left out. */
function usedByEach(processes: readonly number[], used = usedBy): Map<number, number> {
  const told = new Map<number, number>()
  for (const pid of processes)
    try {
      told.set(pid, used(pid))
    } catch {
      continue
    }
  return told
}

/** What they used since then, all together; a process that came since began with nothing. */
function since(before: ReadonlyMap<number, number>, now: ReadonlyMap<number, number>): number {
  return [...now].reduce((sum, [pid, used]) => sum + used - (before.get(pid) ?? 0), 0)
}

async function measure(setUp: SetUp, name: Name, amount = calls): Promise<Measured> {
  const daemons = setUp.daemons.map(({ pid }) => pid)
  const look = () => ({
    daemon: usedByEach(daemons),
    thread: usedByEach(daemons, usedByThread),
    database: usedByEach(setUp.database()),
  })
  const before = look()
  const begun = performance.now()
  const loads = await Promise.all(
    setUp.daemons.map(({ port }, at) => load(port, questions[name], setUp, at, amount)),
  )
  const taken = (Math.max(...loads.map(({ last }) => last)) - begun) / 1000
  const after = look()
  const total = loads.reduce((sum, { requests }) => sum + requests.total, 0)
  const each = (key: keyof typeof before): number => since(before[key], after[key]) / total
  return {
    daemon: each('daemon'),
    thread: each('thread'),
    database: each('database'),
    rate: total / taken,
  }
}

/** Lets the servers run there, and the load beside them. */
function runOn(place: (typeof places)[number], setUps: readonly SetUp[]): void {
  const servers = setUps.flatMap(({ daemons, database }) => [...daemons.map(({ pid }) => pid), ...database()])
  const allow = (where: string, pid: number) =>
    spawnSync('taskset', ['-a', '-c', '-p', where, String(pid)], { stdio: 'ignore' })
  for (const pid of new Set(servers)) allow(place, pid)
  allow(place === places[0] ? '1' : place, process.pid)
}

/** The load of one daemon, all of whose people ask the others as well. */
async function load(port: number, question: object, { tokens }: SetUp, at: number, amount: number) {
  const wrong: string[] = []
  // Autocannon looks at the time by the second.
  let last = 0
  let next = at
  const result = await autocannon({
    url: `http://127.0.0.1:${port}${paths.mcp}`,
    method: 'POST',
    connections,
    amount,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...question }),
    setupClient: (client) => {
      client.setHeaders({ authorization: `Bearer ${tokens[next++ % tokens.length]}` })
      client.on('body', (body) => {
        last = performance.now()
        if (body.includes('"isError":true') || body.includes('"error":')) wrong.push(body.toString())
      })
    },
  })
  if (result.non2xx + result.errors + wrong.length > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} broken, ${wrong.length} wrong: ${wrong[0]}`)
  return { ...result, last }
}

/**
 * Microseconds that a thread takes for one message that it gets and answers, with so many on their way: a call's bytes
 * come, an answer's text goes back. The other side is as a worker with the sockets would be.
 */
async function messageCost(atOnce: number, count = 200_000): Promise<number> {
  const worker = new Worker(
    `const { parentPort, workerData: { atOnce, count } } = require('node:worker_threads')
     let left = count
     const ask = () => { if (left-- > 0) parentPort.postMessage(new Uint8Array(400)) }
     parentPort.on('message', ask)
     for (let n = 0; n < atOnce; n++) ask()`,
    { eval: true, workerData: { atOnce, count } },
  )
  const answer = 'x'.repeat(2000)
  let begun = 0
  let taken = 0
  await new Promise<void>((resolve, reject) => {
    worker.on('error', reject).on('message', () => {
      taken++
      // The first half warms up.
      if (taken === count / 2) begun = usedByThread(process.pid)
      if (taken === count) resolve()
      else worker.postMessage(answer, [])
    })
  })
  const used = usedByThread(process.pid) - begun
  await worker.terminate()
  return used / (count / 2)
}
