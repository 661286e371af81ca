/** The official SDK clients, which we did not write, decide whether we speak the protocol. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { promptOf, skillOf, startServer, type TestServer } from './server.ts'
import { add, askName, echo, slow, wipeTool } from './tools-for-tests.ts'

const info = { name: 'test', version: '1' }
const runs: unknown[] = []

function start(t: Parameters<typeof startServer>[0]): Promise<TestServer> {
  return startServer(t, {
    tools: [echo, add, askName, slow, wipeTool(runs)],
    confirm: { wipe: 'client' },
    prompts: [promptOf('greet')],
    skills: [skillOf('demo', { 'SKILL.md': '# Demo' })],
  })
}

/** What the person at the client says to a form. */
function answerTo(params: unknown): Record<string, string | boolean> {
  return JSON.stringify(params).includes('"confirm"') ? { confirm: true } : { name: 'Ada' }
}

describe('the SDK client of version 1', () => {
  it('walks through everything it knows', async (t) => {
    const server = await start(t)
    const client = new Client(info, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, (request) => ({
      action: 'accept',
      content: answerTo(request.params),
    }))
    const transport = new StreamableHTTPClientTransport(new URL(server.url))
    await client.connect(transport)
    t.after(() => client.close())
    assert.equal(client.getServerVersion()?.version, '9.9.9')
    assert.match(client.getInstructions() ?? '', /demo/)

    assert.equal((await client.listTools()).tools.length, 5)
    const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
    assert.deepEqual(sum.structuredContent, { sum: 3 })
    const hello = await client.callTool({ name: 'ask_name', arguments: {} })
    assert.deepEqual(hello.content, [{ type: 'text', text: 'Hello, Ada!' }])
    await client.callTool({ name: 'wipe', arguments: { thing: 'disk' } })
    assert.equal(runs.length, 1)
    const progress: number[] = []
    await client.callTool({ name: 'slow', arguments: {} }, undefined, {
      onprogress: (report) => void progress.push(report.progress),
    })
    assert.deepEqual(progress, [0, 1, 2])
    const prompt = await client.getPrompt({ name: 'greet', arguments: { who: 'moon' } })
    assert.deepEqual(prompt.messages[0]!.content, { type: 'text', text: 'Hello moon' })
    assert.equal((await client.listPrompts()).prompts[0]!.title, 'Prompt greet')
    const read = await client.readResource({ uri: 'skill://demo/SKILL.md' })
    assert.equal((read.contents[0] as { text: string }).text, '# Demo')
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1)
    const completion = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: 'w' },
    })
    assert.deepEqual(completion.completion.values, ['world'])
    await client.setLoggingLevel('info')
    await client.ping()
    // The code reaches the caller only because the error came with HTTP 200.
    await assert.rejects(client.callTool({ name: 'nothing', arguments: {} }), { code: -32602 })
  })
})

describe('a client that cancels a call', () => {
  const cancelling = async (
    client: object,
    call: (signal: AbortSignal, onprogress?: () => void) => Promise<unknown>,
    server: TestServer,
  ): Promise<void> => {
    const errors: string[] = []
    Object.assign(client, { onerror: (error: Error) => void errors.push(error.message) })
    for (const withProgress of [false, true]) {
      const told = server.events.length
      const controller = new AbortController()
      const ended = call(controller.signal, withProgress ? () => undefined : undefined)
      // The call has to be running before it can be cancelled.
      await new Promise((resolve) => setTimeout(resolve, 200))
      controller.abort('enough')
      await assert.rejects(ended)
      while (server.events.length === told) await new Promise((resolve) => setTimeout(resolve, 10))
      assert.equal(server.events.at(-1)!.status, 'cancelled')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.deepEqual(errors, [])
  }
  const waiting = { name: 'slow', arguments: { wait: true } }

  it('hears nothing more of it: version 1 of the SDK', async (t) => {
    const server = await start(t)
    const client = new Client(info)
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)))
    t.after(() => client.close())
    await cancelling(
      client,
      (signal, onprogress) =>
        client.callTool(waiting, undefined, { signal, ...(onprogress && { onprogress }) }),
      server,
    )
  })

  it('hears nothing more of it: version 2 of the SDK, with a revision of 2025', async (t) => {
    const server = await start(t)
    const client = new ModernClient(info)
    await client.connect(new ModernTransport(new URL(server.url)))
    t.after(() => client.close())
    await cancelling(
      client,
      (signal, onprogress) => client.callTool(waiting, { signal, ...(onprogress && { onprogress }) }),
      server,
    )
  })
})

describe('a client of a 2025 revision', () => {
  it('is told at once when a prompt is edited', async (t) => {
    const server = await start(t)
    const client = new Client(info)
    const told: string[] = []
    client.fallbackNotificationHandler = async ({ method }) => void told.push(method)
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)))
    t.after(() => client.close())
    assert.deepEqual(client.getServerCapabilities()?.prompts, { listChanged: true })
    while (server.subscriptions.size === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    server.reload({ prompts: [promptOf('greet', { title: 'Edited' })] })
    while (!told.includes('notifications/prompts/list_changed'))
      await new Promise((resolve) => setTimeout(resolve, 10))
  })
})

describe('the SDK client of version 2', () => {
  const modes = [
    ['by default', undefined, '2025-11-25'],
    ['when it finds out itself', 'auto', '2026-07-28'],
    ['pinned to 2026-07-28', { pin: '2026-07-28' }, '2026-07-28'],
  ] as const
  for (const [title, mode, revision] of modes) {
    it(`works ${title}`, async (t) => {
      runs.length = 0
      const server = await start(t)
      const client = new ModernClient(info, {
        capabilities: { elicitation: {} },
        ...(mode && { versionNegotiation: { mode } }),
      })
      client.setRequestHandler('elicitation/create', (request) => ({
        action: 'accept',
        content: answerTo(request.params),
      }))
      await client.connect(new ModernTransport(new URL(server.url)))
      t.after(() => client.close())
      assert.equal(client.getNegotiatedProtocolVersion(), revision)
      assert.equal((await client.listTools()).tools.length, 5)
      const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
      assert.deepEqual(sum.structuredContent, { sum: 3 })
      const hello = await client.callTool({ name: 'ask_name', arguments: {} })
      assert.deepEqual(hello.content, [{ type: 'text', text: 'Hello, Ada!' }])
      await client.callTool({ name: 'wipe', arguments: { thing: 'disk' } })
      assert.equal(runs.length, 1)
      const prompt = await client.getPrompt({ name: 'greet', arguments: { who: 'moon' } })
      assert.deepEqual(prompt.messages[0]!.content, { type: 'text', text: 'Hello moon' })
      const read = await client.readResource({ uri: 'skill://demo/SKILL.md' })
      assert.equal((read.contents[0] as { text: string }).text, '# Demo')
    })
  }
})
