/** Streams of clients that lost their connection go on where they broke, at whichever daemon the client comes back to. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { systemClock } from '#leaf/clock.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import type { Store } from '#state/store.ts'
import { afterwards, until } from '../../packages/state/test/state-folder.ts'
import { defineTool, type Tool } from '../../src/tools/tool.ts'
import { silent } from '../documents/trading-company.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../helpers/postgres.ts'
import { modern, type Options, requestOf, startServer, type TestServer } from './server.ts'

const revision = '2025-11-25'

/** A tool that tells its progress, a step when it is let go on, and its runs. */
function steps() {
  const waiting: (() => void)[] = []
  let runs = 0
  const tool: Tool = defineTool({
    name: 'count',
    title: 'Count',
    description: 'Counts to three.',
    category: 'read_only',
    input: { type: 'object', properties: {} },
    run: async (_, { progress }) => {
      runs++
      for (let n = 1; n <= 3; n++) {
        progress(n, 3)
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      return 'counted'
    },
  })
  const step = async (): Promise<void> => {
    await until(() => waiting.length > 0)
    waiting.shift()!()
  }
  return { tool, step, runs: () => runs }
}

describe('a stream that broke', { timeout: 60_000 }, () => {
  it('goes on at the daemon that runs the call, with what was missed and then the answer', async (t) => {
    const counting = steps()
    const server = await startServer(t, { tools: [counting.tool] })
    const [first, last] = await broken(server, counting)
    await counting.step()
    const resumed = await resume(server, first.id)
    await counting.step()
    assert.deepEqual(await resumed.rest(), [...last, 'progress 3', 'counted'])
    assert.equal(counting.runs(), 1)
    assert.deepEqual(
      server.events.map(({ type, status }) => `${type} ${status}`),
      ['stream.resume ok', 'tool.call ok'],
    )
    assert.deepEqual(await (await resume(server, first.id)).rest(), [...last, 'progress 3', 'counted'])
  })

  it('is resumed by nobody else: not by another user, client, conversation, or with other roles', async (t) => {
    const counting = steps()
    const server = await startServer(t, {
      tools: [counting.tool],
      principals: {
        other: { user: 'other@example.com' },
        app: { client: { id: 'app', name: 'App' } },
        fewer: { roleKey: 'Fewer', roles: new Set(['Fewer']) },
      },
    })
    const [{ id }] = await broken(server, counting)
    for (const [name, value] of [
      ['authorization', 'Bearer other'],
      ['authorization', 'Bearer app'],
      ['authorization', 'Bearer fewer'],
      ['mcp-session-id', 'another'],
    ] as const)
      assert.equal((await get(server, { 'last-event-id': id, [name]: value })).status, 400)
    for (const wrong of [`${'x'.repeat(22)}.1`, 'nonsense', id.replace('.', '')])
      assert.equal((await get(server, { 'last-event-id': wrong })).status, 400)
    assert.deepEqual(
      server.events.map(({ type, status }) => `${type} ${status}`),
      Array.from({ length: 7 }, () => 'stream.resume denied'),
    )
    await counting.step()
    await counting.step()
  })

  it('has no event ids where its revision has none', async (t) => {
    const counting = steps()
    const server = await startServer(t, { tools: [counting.tool] })
    for (const old of ['2024-11-05', modern]) {
      const stream = await begin(server, old)
      for (let n = 0; n < 3; n++) await counting.step()
      const text = await stream.text()
      assert.match(text, /counted/)
      assert.doesNotMatch(text, /^id:/m)
    }
  })

  it('about lists goes on with what changed meanwhile, and only that', async (t) => {
    const [one, two] = [steps().tool, { ...steps().tool, name: 'count_again' }]
    const server = await startServer(t, { tools: [one] })
    const left = events(await get(server, {}))
    const { id } = await left.next()
    await left.leave()
    const same = events(await get(server, { 'last-event-id': id }))
    const primed = await same.next()
    assert.equal(primed.data, '', 'nothing has changed, so nothing is told')
    server.reload({ tools: [one, two] })
    assert.match((await same.next()).data, /tools\/list_changed/)
    await same.leave()

    const elsewhere = await startServer(t, { tools: [one, two] })
    const late = events(await get(elsewhere, { 'last-event-id': primed.id }))
    await late.next()
    const told = await late.next()
    assert.match(told.data, /notifications\/tools\/list_changed/)
    await late.leave()
    const again = events(await get(elsewhere, { 'last-event-id': told.id }))
    assert.equal((await again.next()).data, '')
    elsewhere.reload({ tools: [two] })
    assert.match((await again.next()).data, /tools\/list_changed/)
    await again.leave()
  })
})

describe('a stream that broke at one of two daemons', { skip: noPostgres, timeout: 120_000 }, () => {
  const postgres = suitePostgres()

  it('goes on at the other, also where the one has not noticed that it broke', async (t) => {
    const counting = steps()
    const [one, two] = await startTwo(t, postgres, { tools: [counting.tool] })
    for (const isNoticed of [true, false]) {
      const [first, last] = await broken(one, counting, isNoticed)
      const resumed = await resume(two, first.id)
      await counting.step()
      await counting.step()
      assert.deepEqual(await resumed.rest(), [...last, 'progress 3', 'counted'])
      const late = await resume(two, first.id)
      assert.deepEqual(await late.rest(), [...last, 'progress 3', 'counted'])
    }
    const foreign = await broken(one, counting)
    const asOther = { 'last-event-id': foreign[0].id, authorization: 'Bearer other' }
    assert.equal((await get(two, asOther)).status, 400)
    await counting.step()
    await counting.step()
  })

  it('is resumed by the official SDK client, whose every request another answers', async (t) => {
    const counting = steps()
    const [one, two] = await startTwo(t, postgres, { tools: [counting.tool] })
    const streams: { cut(): void }[] = []
    const asked: string[] = []
    // Every request goes to the other daemon than the one before.
    const alternating = async (_: string | URL, init?: RequestInit): Promise<Response> => {
      const server = asked.length % 2 === 0 ? one : two
      asked.push(`${init?.method} ${new Headers(init?.headers).get('last-event-id') === null ? '' : 'on'}`)
      const answer = await fetch(server.url, init)
      if (!/event-stream/.test(answer.headers.get('content-type') ?? '') || !answer.body) return answer
      const { body, cut } = cuttable(answer.body)
      streams.push({ cut })
      return new Response(body, answer)
    }
    const client = new Client({ name: 'lossy', version: '1' })
    const reconnectionOptions = {
      initialReconnectionDelay: 10,
      maxReconnectionDelay: 50,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 10,
    }
    const transport = new StreamableHTTPClientTransport(new URL(one.url), {
      fetch: alternating,
      reconnectionOptions,
    })
    await client.connect(transport)
    const seen: number[] = []
    const calling = client.callTool({ name: 'count', arguments: {} }, undefined, {
      onprogress: ({ progress }) => void seen.push(progress),
    })
    await until(() => seen.length === 1)
    streams.at(-1)!.cut()
    await counting.step()
    await until(() => seen.length === 2)
    streams.at(-1)!.cut()
    await counting.step()
    await counting.step()
    const { content } = (await calling) as { content: { text: string }[] }
    assert.equal(content[0]!.text, 'counted')
    assert.deepEqual(seen, [1, 2, 3])
    assert.equal(counting.runs(), 1)
    assert.ok(asked.filter((one) => one === 'GET on').length >= 2)
    await client.close()
  })
})

async function startTwo(
  t: TestContext,
  postgres: TestPostgres,
  options: Options,
): Promise<readonly [TestServer, TestServer]> {
  const url = await postgres.newDatabase()
  const start = async (): Promise<TestServer> => {
    const store: Store = await openPostgresStore({ url, clock: systemClock, log: silent })
    afterwards(t, () => store.close())
    const principals = { other: { user: 'other@example.com' } }
    return await startServer(t, { ...options, store, principals })
  }
  return [await start(), await start()]
}

/** Calls the tool; returns the stream of the answer. */
async function begin(server: TestServer, version = revision): Promise<Response> {
  const meta = { progressToken: 'p' }
  const { body, headers } = requestOf(
    'tools/call',
    { name: 'count', arguments: {} },
    { revision: version, meta },
  )
  return await fetch(server.url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
}

/** Begins a call and loses its connection after the first progress; returns that event, and what was sent unheard. */
async function broken(
  server: TestServer,
  counting: ReturnType<typeof steps>,
  isNoticed = true,
): Promise<readonly [{ id: string; data: string }, readonly string[]]> {
  const stream = events(await begin(server))
  const primed = await stream.next()
  assert.match(primed.id, /\.0$/)
  assert.equal(primed.data, '')
  const first = await stream.next()
  assert.equal(wordOf(first.data), 'progress 1')
  if (isNoticed) await stream.leave()
  await counting.step()
  return [first, ['progress 2']]
}

async function get(server: TestServer, headers: Record<string, string>): Promise<Response> {
  return await fetch(server.url, {
    headers: { accept: 'text/event-stream', 'mcp-protocol-version': revision, ...headers },
  })
}

async function resume(server: TestServer, id: string) {
  const answer = await get(server, { 'last-event-id': id })
  assert.equal(answer.status, 200, answer.status === 200 ? '' : await answer.text())
  return events(answer)
}

/** Reads the events of a stream. */
function events(answer: Response) {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<{ id: string; data: string } | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end === -1) {
        const { done, value } = await reader.read()
        if (done) return undefined
        text += value
        continue
      }
      const block = text.slice(0, end)
      text = text.slice(end + 2)
      const part = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
      if (/^data:/m.test(block)) return { id: part('id'), data: part('data') }
    }
  }
  return {
    next: async () => (await next())!,
    leave: () => reader.cancel(),
    /** What is told until the stream ends. */
    rest: async (): Promise<string[]> => {
      const words: string[] = []
      for (let one = await next(); one; one = await next()) words.push(wordOf(one.data))
      return words
    },
  }
}

function wordOf(data: string): string {
  const { params, result } = JSON.parse(data)
  return result ? result.content[0].text : `progress ${params.progress}`
}

/** A stream that can be made to break. */
function cuttable(from: ReadableStream<Uint8Array>) {
  const reader = from.getReader()
  let cut = (): void => undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      cut = () => {
        controller.error(new Error('the network is gone'))
        void reader.cancel()
      }
    },
    pull: async (controller) => {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => reader.cancel(),
  })
  return { body, cut: () => cut() }
}
