import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Agent, request } from 'node:http'
import { Stop } from '#leaf/stop.ts'
import { RunningCalls } from '../../src/mcp/running.ts'
import { fullCollections } from '../helpers/full-collections.ts'
import { skillOf, startServer } from './server.ts'
import { echo } from './tools-for-tests.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

describe('abandoned handshakes', () => {
  it('leave nothing behind: ten thousand of them keep the memory flat', async (t) => {
    const server = await startServer(t, {
      tools: [echo],
      skills: [skillOf('demo', { 'SKILL.md': '# Demo' })],
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    t.after(() => agent.destroy())
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: { elicitation: {} },
        clientInfo: { name: 'gone', version: '1' },
      },
    })
    const initialize = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const req = request(
          server.url,
          { method: 'POST', agent, headers: { 'content-type': 'application/json' } },
          (res) => {
            res.resume()
            res.on('end', () => resolve(res.statusCode!))
          },
        )
        req.on('error', reject)
        req.end(body)
      })
    const many = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 100) {
        const statuses = await Promise.all(Array.from({ length: 100 }, initialize))
        assert.ok(statuses.every((status) => status === 200))
      }
    }
    const heap = (): number => {
      collect()
      return process.memoryUsage().heapUsed
    }
    await many(2000)
    const before = heap()
    await many(10_000)
    const grown = heap() - before
    // Ten thousand sessions of even 200 bytes would be 2 MB.
    assert.ok(grown < 1_500_000, `${grown} bytes more than before`)
  })
})

describe('what ran', () => {
  it('leaves nothing to a full collection where all calls bear one id, which kept their requests until then', async () => {
    const store = { hear: () => undefined }
    const collections = async (ids: (call: number) => number): Promise<number> => {
      const running = new RunningCalls(store as never, {} as never)
      const leaving: (() => void)[] = []
      let next = 0
      return await fullCollections((count) => {
        for (const end = next + count; next < end; next++) {
          const principal = { user: 'sales@example.com', held: Array.from({ length: 100 }, () => next) }
          leaving.push(running.add(principal as never, ids(next), new Stop()))
          if (leaving.length > 16) leaving.shift()!()
        }
      })
    }
    const [one, own] = [await collections(() => 1), await collections((call) => call)]
    assert.ok(
      one <= own + 2,
      `${one} full collections where the id is one, and ${own} where each has its own`,
    )
  })
})
