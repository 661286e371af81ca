/**
 * What is left of the service when three times as much is asked of it as it can do, and while 5,000 slow bodies are held
 * open: `node --import tsx bench/overload/overload.ts [seconds]`. The daemon has one core for itself; the load, on the
 * other, are processes of their own (`load.ts`) that wait for no answer. One user floods, another works as always, and
 * somebody asks `/healthz`. What the daemon can do is measured first, in the same run, with the same calls.
 */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { paths } from '../../src/oauth/urls.ts'
import { startService, stopServerProcesses, table, usedBy } from '../server-process.ts'
import type { Asked, Told } from './load.ts'

const seconds = Number(process.argv[2] ?? 10)
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

async function measure(what: string, bodies: readonly string[], rows: string[][]): Promise<void> {
  const { port, pid, tokenOf } = await startService(join(folder, what.replaceAll(' ', '-')))
  const [flooder, worker] = [await tokenOf('admin@example.com'), await tokenOf('sales@example.com')]
  const lanes = (duration: number): Promise<Told> =>
    load({ port, seconds: duration, bodies, token: flooder, lanes: 32 })
  /** What came of it, and the processor time that it took from that moment on. */
  const spent = async <T>(
    work: () => Promise<T>,
    from = Date.now(),
  ): Promise<{ told: T; processor: number }> => {
    const before = delay(Math.max(0, from - Date.now())).then(() => usedBy(pid))
    const told = await work()
    return { told, processor: (usedBy(pid) - (await before)) / 1e6 }
  }
  let full: { readonly rate: number; readonly aProcessorSecond: number } | undefined
  const row = (who: string, told: Told, processor?: number): void => {
    const good = told.statuses[200] ?? 0
    const rate = good / told.seconds
    full ??= { rate, aProcessorSecond: good / processor! }
    const percent = (part: number, of: number): string => `${Math.round((part / of) * 100)} %`
    rows.push([
      `${what}: ${who}`,
      (told.sent / seconds).toFixed(0),
      rate.toFixed(0),
      processor === undefined ? '' : percent(rate, full.rate),
      processor === undefined ? '' : percent(good / processor, full.aProcessorSecond),
      percent(told.statuses[503] ?? 0, told.sent),
      ...told.times.map((time) => `${time.toFixed(0)} ms`),
    ])
    process.stderr.write(`${rows.at(-1)!.join('   ')}   ${JSON.stringify(told.statuses)}\n`)
  }
  await lanes(5)
  const alone = await spent(() => lanes(seconds))
  row('all that it can do, in 32 lanes', alone.told, alone.processor)
  const flooding = { port, bodies, token: flooder, rate: (3 * (alone.told.statuses[200] ?? 0)) / seconds }
  // As with the lanes, what is compiled the first time is not what is measured.
  await load({ ...flooding, seconds: 5, connections: 1000 })
  const when = { port, seconds, at: Date.now() + 5000 }
  const { told: together, processor } = await spent(
    () =>
      Promise.all([
        load({ ...flooding, ...when, connections: 1000 }),
        load({ ...when, bodies, token: worker, rate: 20 }),
        load({ ...when, bodies: [], rate: 20, anew: true }),
      ]),
    when.at,
  )
  row('one floods with three times that', together[0], processor)
  row('another user meanwhile', together[1])
  row('`/healthz` meanwhile', together[2])
  // By now there are thousands of notes more than at first.
  full = undefined
  const again = await spent(() => lanes(seconds))
  row('in 32 lanes once more', again.told, again.processor)
  const sockets = await slowBodies(port, 5000)
  const beside = await spent(() => lanes(seconds))
  row('in 32 lanes beside 5,000 slow bodies', beside.told, beside.processor)
  for (const socket of sockets) socket.destroy()
  await stopServerProcesses()
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
