/**
 * One source of load, a process of its own: `load.ts {"port": …, "bodies": […], …}` prints what came of it. Calls come
 * at a rate and wait for no answer, each over a connection that is free or a new one; or in lanes, each waiting for its own.
 */
import { connect, type Socket } from 'node:net'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { paths } from '../../../src/oauth/urls.ts'

/** What is asked for. */
export interface Asked {
  readonly port: number
  readonly seconds: number
  /** Bodies of calls, one after the other; without any `/healthz` is asked. */
  readonly bodies: readonly string[]
  readonly token?: string
  /** Calls a second; without it as many lanes as `lanes` says. */
  readonly rate?: number
  readonly lanes?: number
  /** When it begins, in milliseconds since the epoch: sources that belong together begin together. */
  readonly at?: number
  /** Opened before that. */
  readonly connections?: number
  /** Each call over a connection of its own, as what watches a service does. */
  readonly anew?: boolean
}

/** What came of it. */
export interface Told {
  readonly sent: number
  /** Answers of each status; 0 is a connection that failed or could not be had, 1 an answer that says that the call failed. */
  readonly statuses: Readonly<Record<string, number>>
  /** How long those answered 200 took: the middle one, 99 of 100, all; in milliseconds. */
  readonly times: readonly number[]
  /** From the first to the last answer. */
  readonly seconds: number
}

const asked = JSON.parse(process.argv[2]!) as Asked
const mostConnections = asked.connections ?? 4000
const authorization = asked.token === undefined ? '' : `Authorization: Bearer ${asked.token}\r\n`
const requests = asked.bodies.map((body) =>
  Buffer.from(
    `POST ${paths.mcp} HTTP/1.1\r\nHost: localhost\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  ),
)
if (requests.length === 0) requests.push(Buffer.from('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'))

const idle: Connection[] = []
let open = 0
let sent = 0
const statuses: Record<string, number> = {}
const times: number[] = []

/** A connection that answers one call at a time. */
class Connection {
  readonly opened: Promise<this>
  readonly #socket: Socket
  #answered: ((status: number) => void) | undefined
  #status = 0
  /** Bytes of the body still to come; -1 while the head is. */
  #left = -1
  #head = ''
  #closes = false

  constructor() {
    open++
    this.#socket = connect(asked.port, '127.0.0.1').setNoDelay(true)
    this.opened = new Promise((resolve) => this.#socket.once('connect', () => resolve(this)))
    this.#socket.on('data', (data: Buffer) => this.#read(data))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      open--
      const at = idle.indexOf(this)
      if (at >= 0) idle.splice(at, 1)
      this.#done(0)
    })
  }

  call(bytes: Buffer): Promise<number> {
    this.#socket.write(bytes)
    return new Promise((resolve) => (this.#answered = resolve))
  }

  end(): void {
    this.#socket.destroy()
  }

  #read(data: Buffer): void {
    let body = data.length
    if (this.#left < 0) {
      this.#head += data.toString('latin1')
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return
      this.#status = Number(this.#head.slice(9, 12))
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#head) ?? []
      if (length === undefined) throw new Error(`no length: ${this.#head}`)
      this.#left = Number(length)
      this.#closes = /\r\nconnection: close/i.test(this.#head)
      body = this.#head.length - end - 4
      this.#head = ''
    }
    if (data.includes('"isError":true') || data.includes('"error":{')) this.#status = 1
    this.#left -= body
    if (this.#left > 0) return
    this.#left = -1
    this.#done(this.#status)
  }

  #done(status: number): void {
    const answered = this.#answered
    this.#answered = undefined
    if (asked.anew) this.end()
    else if (status !== 0 && !this.#closes) idle.push(this)
    answered?.(status)
  }
}

async function call(): Promise<void> {
  const bytes = requests[sent++ % requests.length]!
  const began = performance.now()
  const status = await (idle.pop() ?? new Connection()).call(bytes)
  if (status === 200) times.push(performance.now() - began)
  count(status)
}

function count(status: number, calls = 1): void {
  statuses[status] = (statuses[status] ?? 0) + calls
}

for (let n = 0; n < (asked.connections ?? 0); n += 50) {
  idle.push(...(await Promise.all(Array.from({ length: 50 }, () => new Connection().opened))))
  await delay(100)
}
await delay(Math.max(0, (asked.at ?? 0) - Date.now()))
const began = performance.now()
const end = began + asked.seconds * 1000
const calls = new Set<Promise<void>>()
const { rate, lanes = 1 } = asked
if (rate === undefined)
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (performance.now() < end) await call()
    }),
  )
else
  while (performance.now() < end) {
    const due = ((performance.now() - began) / 1000) * rate
    while (sent < due) {
      // Told at once: what cannot even be sent must cost the machine nothing that the daemon needs.
      if (idle.length === 0 && open >= mostConnections) {
        const rest = Math.ceil(due) - sent
        count(0, rest)
        sent += rest
        break
      }
      const one: Promise<void> = call().finally(() => calls.delete(one))
      calls.add(one)
    }
    await delay(1)
  }
await Promise.all(calls)
const seconds = (performance.now() - began) / 1000
for (const connection of idle) connection.end()
times.sort((a, b) => a - b)
const told: Told = {
  sent,
  statuses,
  times: [0.5, 0.99, 1].map(
    (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? -1,
  ),
  seconds,
}
process.stdout.write(JSON.stringify(told), () => process.exit())
