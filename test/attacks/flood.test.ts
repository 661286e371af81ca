/** One user asks for more than the service can do: who asks for little is served as before, and what is refused was not looked at. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { operate } from '../../src/cli/control.ts'
import { paths } from '../../src/oauth/urls.ts'
import type { RunningDaemon } from '../helpers/daemon.ts'
import { watchedDaemon } from './lag.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly id: string
  readonly text: string
}

const create = { name: 'create_document', arguments: { doctype: 'Note', data: { title: 'A flood' } } }
const count = { name: 'count_documents', arguments: { doctype: 'Note', filters: { title: 'A flood' } } }

interface Summed {
  readonly msg: string
  readonly count: number
  readonly request_id: string
}

/** What the log says of refusals, once it has told that many. */
async function summed(daemon: RunningDaemon, count: number): Promise<readonly Summed[]> {
  for (let tries = 0; ; tries++) {
    const lines = daemon.output().stdout.trim().split('\n')
    const told = lines
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Summed)
      .filter(({ msg }) => msg.startsWith('too many requests'))
    const sum = told.reduce((before, one) => before + one.count, 0)
    if (sum === count) return told
    assert.ok(tries < 200, `the log tells of ${sum} and not of ${count}`)
    await delay(50)
  }
}

describe('a flood of one user', () => {
  it('is refused with 503 and Retry-After before anything is done, and takes no call from another', async (t) => {
    const { daemon } = await watchedDaemon(t, {
      'enabled: true\n  # MCP requests': 'enabled: false\n  # MCP',
      'max_concurrent_requests: 1000': 'max_concurrent_requests: 100',
      // Otherwise the gate of tools refuses most of one user's calls itself.
      'max_concurrent_per_user: 8': 'max_concurrent_per_user: 1000',
    })
    const flooder = await tokenOf(daemon, 'admin@example.com')
    const worker = await tokenOf(daemon, 'sales@example.com')
    const agent = new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    const { port } = new URL(daemon.url)
    const send = (path: string, token?: string, params?: unknown): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
        const headers = { 'content-type': 'application/json', ...authorization }
        const method = params === undefined ? 'GET' : 'POST'
        request({ agent, port, host: '127.0.0.1', path, method, headers }, (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => (text += chunk.toString()))
          const { 'retry-after': retryAfter, 'x-request-id': id } = response.headers
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, retryAfter, id: String(id), text }),
          )
        })
          .on('error', reject)
          .end(params && JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
      })
    const call = (token: string, params: unknown): Promise<Answer> => send(paths.mcp, token, params)
    // Whose calls they are is known from the first one on.
    for (const token of [flooder, worker]) assert.equal((await call(token, count)).status, 200)

    const answers: Answer[] = []
    const others: Answer[] = []
    const health: Answer[] = []
    const isEnough = (): boolean =>
      others.length >= 20 && answers.some(({ status }) => status === 503) && answers.length > 500
    const flood = async (): Promise<void> => {
      while (!isEnough()) answers.push(await call(flooder, create))
    }
    const ask = async (): Promise<void> => {
      while (!isEnough()) {
        others.push(await call(worker, count))
        health.push(await send('/healthz'))
        await delay(20)
      }
    }
    await Promise.all([...Array.from({ length: 300 }, flood), ask()])

    for (const { status, text } of others) {
      assert.equal(status, 200, text)
      assert.doesNotMatch(text, /"isError":true|"error":/)
    }
    assert.ok(health.every(({ status }) => status === 200))
    const served = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    for (const { status, retryAfter, text } of refused) {
      assert.deepEqual([status, retryAfter], [503, '1'])
      assert.deepEqual(JSON.parse(text), {
        error: 'unavailable',
        message: 'too many requests are in progress',
      })
    }
    t.diagnostic(`${served.length} served, ${refused.length} refused; another user: ${others.length}`)
    for (const { text } of served) assert.doesNotMatch(text, /"isError":true|"error":/)
    // What was refused left neither a document nor a line in the log; what was served left one of each.
    const made = await call(flooder, count)
    assert.equal(Number(/\\"count\\":(\d+)/.exec(made.text)?.[1]), served.length, made.text)
    const { site, state } = daemon
    const { events } = await operate({ site, state, json: true }, 'audit.stats', {
      type: 'tool.call',
      target: 'create_document',
    })
    assert.equal(events, served.length)
    const metrics = await operate({ site, state, json: true }, 'metrics', {})
    const [, shed] = /^assistant_core_requests_shed_total (\d+)$/m.exec(metrics.text) ?? []
    assert.equal(Number(shed), refused.length)
    // The log tells all of them in a line a second, by the id of one of each.
    const told = await summed(daemon, refused.length)
    assert.ok(told.length < refused.length || refused.length === 1, String(told.length))
    const ids = new Set(refused.map(({ id }) => id))
    assert.equal(ids.size, refused.length)
    for (const { request_id: id } of told) assert.ok(ids.has(id), id)
  })
})
