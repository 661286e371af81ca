/**
 * What is left of the service when three times as much is asked of it as it can do, and while 5,000 slow bodies are held
 * open: `node --import tsx packages/front/bench/overload.ts [seconds]`. The daemon has one core for itself; the load, on the
 * other, are processes of their own (`load.ts`) that wait for no answer. One user floods, another works as always, and
 * somebody asks `/healthz`. What the daemon can do without that is measured in the same run with the same calls, before
 * each flood and after it: the rounds take turns, and medians count.
 */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { paths } from '../../../src/oauth/urls.ts'
import { startService, stopServerProcesses, table, usedBy } from '../../../bench/server-process.ts'
import type { Asked, Told } from './load.ts'

const seconds = Number(process.argv[2] ?? 10)
const rounds = 3
const tool = (name: string, args: unknown): string => message('tools/call', { name, arguments: args })
const cheapest = [tool('get_document', { doctype: 'Customer', name: 'Müller Bau' })]
/** What an assistant asks for on the way to an answer; one call in eight writes. */
const session = [
  message('tools/list', {}),
  tool('list_documents', { doctype: 'Customer', limit: 20 }),
  ...cheapest,
  tool('search_documents', { query: 'Bau' }),
  tool('list_documents', { doctype: 'Sales Order', filters: { status: 'To Deliver' }, limit: 20 }),
  tool('generate_report', { report_name: 'Sales by Customer' }),
  message('prompts/get', { name: 'sales_analysis', arguments: { analysis_focus: 'revenue_trends' } }),
  tool('create_document', { doctype: 'Note', data: { title: 'A call' } }),
]

const folder = mkdtempSync(join(tmpdir(), 'bench-overload-'))
try {
  spawnSync('taskset', ['-cp', '1', String(process.pid)])
  const rows: string[][] = []
  await measure('calls of a session', session, rows)
  await measure('only get_document', cheapest, rows)
  const head = [
    '',
    'asked a second',
    'answered a second',
    'of all that it can',
    'the same by its processor time',
  ]
  table([...head, 'told to come again', 'median', '99 %', 'most'], rows)
} finally {
  await stopServerProcesses()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** What a source of load was told, and the processor time that the daemon took meanwhile, in seconds. */
interface Spent {
  readonly told: Told
  readonly processor: number
}

async function measure(what: string, bodies: readonly string[], rows: string[][]): Promise<void> {
  const { port, pid, tokenOf } = await startService(join(folder, what.replaceAll(' ', '-')))
  const [flooder, worker] = [await tokenOf('admin@example.com'), await tokenOf('sales@example.com')]
  const spent = async (work: () => Promise<Told>, from = Date.now()): Promise<Spent> => {
    const before = delay(Math.max(0, from - Date.now())).then(() => usedBy(pid))
    const told = await work()
    return { told, processor: (usedBy(pid) - (await before)) / 1e6 }
  }
  const lanes = (duration = seconds): Promise<Spent> =>
    spent(() => load({ port, seconds: duration, bodies, token: flooder, lanes: 32 }))
  const row = (who: string, told: readonly Told[], shares: readonly string[] = ['', '']): void => {
    const asked = told.map(({ sent }) => sent / seconds)
    const refused = told.map(({ statuses, sent }) => (statuses[503] ?? 0) / sent)
    rows.push([
      `${what}: ${who}`,
      middle(asked).toFixed(0),
      middle(told.map(rateOf)).toFixed(0),
      ...shares,
      percent(middle(refused)),
      ...[0, 1].map((at) => `${middle(told.map(({ times }) => times[at]!)).toFixed(0)} ms`),
      `${Math.max(...told.map(({ times }) => times[2]!)).toFixed(0)} ms`,
    ])
    process.stderr.write(
      `${rows.at(-1)!.join('   ')}   ${JSON.stringify(told.map(({ statuses }) => statuses))}\n`,
    )
  }
  /** Beside what it did just before and just after. */
  const besides = (some: readonly Spent[], full: readonly Spent[]): string[] =>
    [({ told }: Spent) => rateOf(told), ({ told, processor }: Spent) => good(told) / processor].map((of) =>
      percent(middle(some.map((one, at) => (2 * of(one)) / (of(full[at]!) + of(full[at + 1]!))))),
    )

  // What is compiled the first time is not what is measured.
  await lanes(5)
  const full = [await lanes()]
  const flooding = { port, bodies, token: flooder, rate: 3 * rateOf(full[0]!.told), connections: 1000 }
  await load({ ...flooding, seconds: 5 })
  const floods: { readonly flood: Spent; readonly user: Told; readonly health: Told }[] = []
  while (floods.length < rounds) {
    const when = { port, seconds, at: Date.now() + 5000 }
    const [flood, user, health] = await Promise.all([
      spent(() => load({ ...flooding, ...when }), when.at),
      load({ ...when, bodies, token: worker, rate: 20 }),
      load({ ...when, bodies: [], rate: 20, anew: true }),
    ])
    floods.push({ flood, user, health })
    full.push(await lanes())
  }
  const whole = (some: readonly Spent[]): Told[] => some.map(({ told }) => told)
  const flood = floods.map((round) => round.flood)
  row('all that it can do, in 32 lanes', whole(full), ['100 %', '100 %'])
  row('one floods with three times that', whole(flood), besides(flood, full))
  const users = floods.map(({ user }) => user)
  row('another user meanwhile', users)
  const health = floods.map((round) => round.health)
  row('`/healthz` meanwhile', health)
  const sockets = await slowBodies(port, 5000)
  const beside = [await lanes()]
  for (const socket of sockets) socket.destroy()
  await delay(1000)
  row('in 32 lanes beside 5,000 slow bodies', whole(beside), besides(beside, [full.at(-1)!, await lanes()]))
  await stopServerProcesses()
}

function good({ statuses }: Told): number {
  return statuses[200] ?? 0
}

function rateOf(told: Told): number {
  return good(told) / told.seconds
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function message(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

async function load(asked: Asked): Promise<Told> {
  const program = join(import.meta.dirname, 'load.ts')
  const args = ['-c', '1', process.execPath, '--import', 'tsx', program, JSON.stringify(asked)]
  const { stdout } = await promisify(execFile)('taskset', args)
  return JSON.parse(stdout) as Told
}

/** Connections that promise a body and send one byte of it. */
async function slowBodies(port: number, count: number): Promise<Socket[]> {
  const head = `POST ${paths.token} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ng`
  const open = (): Promise<Socket> =>
    new Promise((resolve) => {
      const from = { port, host: '127.0.0.1', localAddress: '127.0.0.2' }
      const socket = connect(from, () => socket.write(head, () => resolve(socket)))
      socket.on('error', () => resolve(socket))
    })
  const sockets: Socket[] = []
  while (sockets.length < count) {
    sockets.push(...(await Promise.all(Array.from({ length: 250 }, open))))
    // No faster than the daemon takes them from one network.
    await delay(300)
  }
  return sockets
}
