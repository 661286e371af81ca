/**
 * What is left of the service when three times as much is asked of it as it can do, and while 5,000 slow bodies are
 * held open: `node --import tsx bench/overload/overload.ts [seconds]`. One user floods, another works as always.
 */
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import process from 'node:process'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { paths } from '../../src/oauth/urls.ts'
import { tokenOf, watchedDaemon } from '../../test/attacks/lag.ts'

const seconds = Number(process.argv[2] ?? 5)
const lanes = 32
const closing: (() => unknown)[] = []
const context = { after: (close: () => unknown) => closing.unshift(close) } as unknown as TestContext
const { daemon } = await watchedDaemon(context, {
  'enabled: true\n  # MCP requests': 'enabled: false\n  # MCP',
})
const flooder = await tokenOf(daemon, 'admin@example.com')
const worker = await tokenOf(daemon, 'sales@example.com')
const { port } = new URL(daemon.url)
const agent = new Agent({ keepAlive: true })
const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'list_documents', arguments: { doctype: 'Customer', limit: 5 } },
})

await closedLoop(1)
const capacity = await closedLoop(seconds)
console.log(`capacity: ${capacity.toFixed(0)} calls a second in ${lanes} lanes`)

const { good, shed, health, others } = await overload(capacity * 3)
const share = (part: number, of: number): string => `${Math.round((part / of) * 100)} %`
console.log(`at 3 × capacity: ${good.toFixed(0)} a second answered (${share(good, capacity)}), ${shed} shed`)
console.log(`/healthz: ${health.length} asked, ${Math.max(...health).toFixed(0)} ms at most`)
const served = others.filter(({ status }) => status === 200)
const times = served.map(({ ms }) => ms).sort((a, b) => a - b)
console.log(
  `another user: ${served.length} of ${others.length} answered, median ${times[times.length >> 1]?.toFixed(0)} ms`,
)

const sockets = await slowBodies(5000)
const under = await closedLoop(seconds)
console.log(`with 5,000 slow bodies: ${under.toFixed(0)} calls a second (${share(under, capacity)})`)
for (const socket of sockets) socket.destroy()
agent.destroy()
for (const close of closing) await close()

/** One call over a connection that is kept; 0 when none could be had. */
function call(token: string, path: string = paths.mcp): Promise<{ status: number; ms: number }> {
  const began = performance.now()
  const method = path === paths.mcp ? 'POST' : 'GET'
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` }
  return new Promise((resolve) => {
    const done = (status: number): void => resolve({ status, ms: performance.now() - began })
    request({ agent, port, host: '127.0.0.1', path, method, headers }, (response) => {
      response.resume().on('end', () => done(response.statusCode ?? 0))
    })
      .on('error', () => done(0))
      .end(method === 'POST' ? body : undefined)
  })
}

/** Calls a second when each lane waits for its answer. */
async function closedLoop(duration: number): Promise<number> {
  const end = performance.now() + duration * 1000
  let count = 0
  const work = async (): Promise<void> => {
    while (performance.now() < end) if ((await call(flooder)).status === 200) count++
  }
  await Promise.all(Array.from({ length: lanes }, work))
  return count / duration
}

/** Calls at a rate that waits for nobody; beside it another user, and /healthz. */
async function overload(rate: number) {
  const answers: Promise<{ status: number; ms: number }>[] = []
  const others: { status: number; ms: number }[] = []
  const health: number[] = []
  const began = performance.now()
  const end = began + seconds * 1000
  const every = async (milliseconds: number, work: () => Promise<void>): Promise<void> => {
    while (performance.now() < end) await Promise.all([work(), delay(milliseconds)])
  }
  const flood = async (): Promise<void> => {
    while (performance.now() < end) {
      const due = ((performance.now() - began) / 1000) * rate
      while (answers.length < due) answers.push(call(flooder))
      await delay(5)
    }
  }
  await Promise.all([
    flood(),
    every(50, async () => void others.push(await call(worker))),
    every(100, async () => void health.push((await call(worker, '/healthz')).ms)),
  ])
  const all = await Promise.all(answers)
  const took = (performance.now() - began) / 1000
  const count = (status: number): number => all.filter((answer) => answer.status === status).length
  return { good: count(200) / took, shed: count(503), health, others }
}

/** Connections that promise a body and send one byte of it. */
async function slowBodies(count: number): Promise<Socket[]> {
  const head = `POST ${paths.token} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ng`
  const open = (): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(head, () => resolve(socket)))
      socket.on('error', () => resolve(socket))
    })
  const sockets: Socket[] = []
  while (sockets.length < count) sockets.push(...(await Promise.all(Array.from({ length: 250 }, open))))
  return sockets
}
