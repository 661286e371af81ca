/** Connections by the thousand: held open without a word, or opened one after the other. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { operate } from '../../src/cli/control.ts'
import { paths } from '../../src/oauth/urls.ts'
import { watchedDaemon } from './lag.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const settings = { 'max_concurrent_requests: 1000': 'max_concurrent_requests: 50' }
/** Ten for each of them. */
const room = 500

interface Held {
  readonly socket: Socket
  closed: boolean
}

/** A connection of somebody else's than ours, who says nothing. */
function hold(t: TestContext, port: number): Held {
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  const held: Held = { socket, closed: false }
  socket
    .resume()
    .on('error', () => {})
    .on('close', () => (held.closed = true))
  t.after(() => socket.destroy())
  return held
}

/** The status of a request over a connection of its own; 0 when it was hung up on. */
function ask(port: number, path: string, token?: string): Promise<number> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  return new Promise((resolve) => {
    const method = token === undefined ? 'GET' : 'POST'
    request({ agent: false, port, host: '127.0.0.1', path, method, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', () => resolve(0))
      .end(token && JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  })
}

describe('connections', () => {
  it('that are held open give way to whoever comes, and are not kept for long', async (t) => {
    const { daemon } = await watchedDaemon(t, settings)
    const port = Number(new URL(daemon.url).port)
    const token = await tokenOf(daemon, 'sales@example.com')
    // Somebody who has been working over the same connection since before.
    const before = connect(port, '127.0.0.1')
    t.after(() => before.destroy())
    let answers = ''
    before.on('data', (data: Buffer) => (answers += data.toString())).on('error', () => {})
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const ping = (): void =>
      void before.write(
        `POST ${paths.mcp} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    const answered = async (count: number): Promise<void> => {
      while (answers.split('HTTP/1.1 200 ').length <= count) {
        assert.ok(!before.destroyed, answers)
        await delay(10)
      }
    }
    ping()
    await answered(1)

    const held: Held[] = []
    const stillOpen = (): number => held.filter(({ closed }) => !closed).length
    for (let n = 0; n < 30; n++) {
      held.push(...Array.from({ length: 100 }, () => hold(t, port)))
      assert.equal(await ask(port, paths.mcp, token), 200)
      assert.equal(await ask(port, '/healthz'), 200)
    }
    ping()
    await answered(2)
    while (stillOpen() > room) await delay(10)
    t.diagnostic(`${stillOpen()} of ${held.length} are open`)
    const { site, state } = daemon
    const metrics = await operate({ site, state, json: true }, 'metrics', {})
    const [, told] = /^assistant_core_connections_closed_total (\d+)$/m.exec(metrics.text) ?? []
    assert.ok(Number(told) >= held.length - room, told)
    // The log tells of a second at once, when it is over.
    while (!daemon.output().stdout.includes('"msg":"too many connections: some were closed"')) await delay(50)
    // Whoever says nothing has fifteen seconds.
    for (let second = 0; second < 40 && stillOpen() > 0; second++) await delay(1000)
    assert.equal(stillOpen(), 0)
  })

  it('that come as fast as they can keep nobody else from being served', async (t) => {
    const { daemon } = await watchedDaemon(t, settings)
    const port = Number(new URL(daemon.url).port)
    const token = await tokenOf(daemon, 'sales@example.com')
    let opened = 0
    const ending = new AbortController()
    const flood = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        const { socket } = hold(t, port)
        opened++
        await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
        socket.destroy()
      }
    }
    const floods = Array.from({ length: 50 }, flood)
    const statuses: number[] = []
    for (let n = 0; n < 50; n++) statuses.push(await ask(port, paths.mcp, token), await ask(port, '/healthz'))
    ending.abort()
    await Promise.all(floods)
    t.diagnostic(`${opened} were opened meanwhile`)
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.ok(opened > room)
  })
})
