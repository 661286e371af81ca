/** Connections that send their headers and then hardly anything: they cost nobody a place, and do not stay. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import { startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const attackers = 5000

interface Slow {
  readonly socket: Socket
  answer: string
  closed: boolean
}

/** One connection, from another network than ours, that promises a body and sends one byte of it; it may be hung up on. */
function slowBody(t: TestContext, port: number): Promise<Slow> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  const slow: Slow = { socket, answer: '', closed: false }
  socket.on('data', (chunk: Buffer) => (slow.answer += chunk.toString()))
  socket.on('close', () => (slow.closed = true))
  t.after(() => socket.destroy())
  const head = [
    `POST ${paths.token} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/x-www-form-urlencoded',
    'Content-Length: 1000',
    '',
    'g',
  ]
  return new Promise((resolve) => {
    socket.on('error', () => {}).once('close', () => resolve(slow))
    socket.once('connect', () => socket.write(head.join('\r\n'), () => resolve(slow)))
  })
}

function ping(daemon: RunningDaemon, token: string): Promise<number> {
  return fetch(daemon.url + paths.mcp, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  }).then(async (response) => {
    await response.text()
    return response.status
  })
}

/** Answers of three seconds, by status; how many is for the reader, since this process holds the attack as well. */
async function goodput(daemon: RunningDaemon, token: string): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  const end = Date.now() + 3000
  const work = async (): Promise<void> => {
    while (Date.now() < end) {
      const status = await ping(daemon, token)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      // Within the budget of a token, however fast the machine is.
      await delay(40)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  return statuses
}

describe('slow bodies', () => {
  it(`from ${attackers} connections take no place from MCP or sign-in, and are cut off`, async (t) => {
    const daemon = await startDaemon(t)
    const port = Number(new URL(daemon.url).port)
    const token = await tokenOf(daemon, 'sales@example.com')
    await goodput(daemon, token)
    const before = await goodput(daemon, token)

    const slow: Slow[] = []
    for (let n = 0; n < attackers; n += 250)
      slow.push(...(await Promise.all(Array.from({ length: 250 }, () => slowBody(t, port)))))
    const under = await goodput(daemon, token)
    t.diagnostic(
      `answers in 3 s: ${JSON.stringify([...before])} before, ${JSON.stringify([...under])} under attack`,
    )
    assert.deepEqual([...under.keys()], [200], 'every call is answered')
    assert.equal((await fetch(`${daemon.url}${pages.signIn.path}`)).status, 200)
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: 'none',
      client_id: 'none',
    })
    assert.equal((await fetch(daemon.url + paths.token, { method: 'POST', body: form })).status, 401)

    for (let second = 0; second < 30 && slow.some((one) => !one.closed); second++) await delay(1000)
    assert.equal(slow.filter((one) => !one.closed).length, 0, 'none is held longer than it takes')
    assert.match(slow[0]!.answer, /^HTTP\/1\.1 408 /)
    assert.match(slow[0]!.answer, /the body did not come in time/)
  })

  it('that come steadily are waited for', async (t) => {
    const daemon = await startDaemon(t)
    const token = await tokenOf(daemon, 'sales@example.com')
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: { pad: 'x'.repeat(40_000) },
    })
    const { port } = new URL(daemon.url)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const status = await new Promise<number>((resolve, reject) => {
      const outgoing = request(
        {
          port,
          host: '127.0.0.1',
          path: paths.mcp,
          method: 'POST',
          headers: { ...headers, Authorization: `Bearer ${token}` },
        },
        (response) => resolve(response.statusCode ?? 0),
      )
      outgoing.on('error', reject)
      const send = async (): Promise<void> => {
        for (let at = 0; at < body.length; at += 3000) {
          outgoing.write(body.slice(at, at + 3000))
          await delay(1000)
        }
        outgoing.end()
      }
      void send()
    })
    assert.equal(status, 200)
  })
})
