import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallOptions, modern, startServer, type TestServer } from './server.ts'
import { streamOf } from './stream.ts'
import { askName, slow, wipeTool } from './tools-for-tests.ts'

const canAsk: CallOptions = { revision: modern, capabilities: { elicitation: {} } }
const yes = { action: 'accept', content: { name: 'Ada' } }

describe('a tool that asks, in multi-round trips', () => {
  it('gets its answer with a second request that brings the request state back', async (t) => {
    const server = await startServer(t, { tools: [askName] })
    const first = await server.call('tools/call', { name: 'ask_name' }, canAsk)
    assert.equal(first.json.result.resultType, 'input_required')
    assert.equal(first.json.result.inputRequests.name.method, 'elicitation/create')
    assert.equal('ttlMs' in first.json.result, false)
    const { requestState } = first.json.result
    const second = await server.call(
      'tools/call',
      { name: 'ask_name', inputResponses: { name: yes, more: 1 }, requestState },
      { ...canAsk, id: 2 },
    )
    assert.equal(second.json.result.resultType, 'complete')
    assert.equal(second.json.result.content[0].text, 'Hello, Ada!')
  })

  it('asks again when the answer is missing or has the wrong shape', async (t) => {
    const server = await startServer(t, { tools: [askName] })
    for (const inputResponses of [
      {},
      { other: yes },
      { name: 7 },
      { name: { action: 'maybe' } },
      { name: { action: 'accept', content: {} } },
      { name: { action: 'accept', content: { name: 7 } } },
      null,
    ]) {
      const { json } = await server.call('tools/call', { name: 'ask_name', inputResponses }, canAsk)
      assert.equal(json.result.resultType, 'input_required', JSON.stringify(inputResponses))
    }
  })

  it('needs a client that declared the capability: -32021 at HTTP 400 names it', async (t) => {
    const server = await startServer(t, { tools: [askName] })
    const { status, json } = await server.call('tools/call', { name: 'ask_name' }, { revision: modern })
    assert.equal(status, 400)
    assert.equal(json.error.code, -32021)
    assert.deepEqual(json.error.data, { requiredCapabilities: { elicitation: {} } })
  })
})

describe('a request state', () => {
  const runs: unknown[] = []
  const setup = async (
    t: Parameters<typeof startServer>[0],
    clock?: { now(): number },
  ): Promise<TestServer> => {
    runs.length = 0
    return startServer(t, {
      tools: [wipeTool(runs), askName],
      confirm: { wipe: 'client' },
      ...(clock && { clock }),
    })
  }
  const call = { name: 'wipe', arguments: { thing: 'disk' } }
  const answer = { 'assistant_core.confirm': { action: 'accept', content: { confirm: true } } }

  it('lets a confirmed call through, once', async (t) => {
    const server = await setup(t)
    const first = await server.call('tools/call', call, canAsk)
    assert.match(
      first.json.result.inputRequests['assistant_core.confirm'].params.message,
      /\{"thing":"disk"\}/,
    )
    const { requestState } = first.json.result
    const retry = { ...call, inputResponses: answer, requestState }
    const done = await server.call('tools/call', retry, canAsk)
    assert.equal(done.json.result.content[0].text, 'wiped')
    const replay = await server.call('tools/call', retry, canAsk)
    assert.equal(replay.json.error.code, -32602)
    assert.equal(replay.status, 200)
    assert.deepEqual(runs, [{ thing: 'disk' }])
    assert.deepEqual(
      server.events
        .filter(({ type }) => type === 'tool.confirm')
        .map(({ status, target }) => [status, target]),
      [['ok', 'wipe']],
    )
  })

  it('is good for nobody else, no other tool, no other arguments, not changed and not later', async (t) => {
    let now = 1_000_000
    const server = await setup(t, { now: () => now })
    const fresh = async (): Promise<string> =>
      (await server.call('tools/call', call, canAsk)).json.result.requestState as string
    const refused = async (params: object, options: CallOptions): Promise<void> => {
      const { json } = await server.call('tools/call', { inputResponses: answer, ...params }, options)
      assert.equal(json.error?.code, -32602, JSON.stringify(params))
    }
    await refused({ ...call, requestState: `${await fresh()}x` }, canAsk)
    await refused({ ...call, requestState: 'x' }, canAsk)
    await refused({ ...call, requestState: 7 }, canAsk)
    await refused({ ...call, requestState: await fresh() }, { ...canAsk, token: 'other' })
    await refused({ name: 'wipe', arguments: { thing: 'everything' }, requestState: await fresh() }, canAsk)
    await refused({ name: 'ask_name', requestState: await fresh() }, canAsk)
    const old = await fresh()
    now += 600_001
    await refused({ ...call, requestState: old }, canAsk)
    assert.deepEqual(runs, [])
  })

  it('is needed: an answer that nobody asked for confirms nothing', async (t) => {
    const server = await setup(t)
    const { json } = await server.call('tools/call', { ...call, inputResponses: answer }, canAsk)
    assert.equal(json.result.resultType, 'input_required')
    assert.deepEqual(runs, [])
  })

  it('ends the call when the person says no', async (t) => {
    const server = await setup(t)
    for (const no of [
      { action: 'decline' },
      { action: 'cancel' },
      { action: 'accept', content: { confirm: false } },
    ]) {
      const first = await server.call('tools/call', call, canAsk)
      const { json } = await server.call(
        'tools/call',
        {
          ...call,
          inputResponses: { 'assistant_core.confirm': no },
          requestState: first.json.result.requestState,
        },
        canAsk,
      )
      assert.equal(json.result.isError, true)
      assert.match(json.result.content[0].text, /did not allow/)
    }
    assert.deepEqual(runs, [])
    // What the person said, and how the call ended.
    assert.deepEqual(
      server.events.map(({ type, status, success }) => [type, status, success]),
      [1, 2, 3].flatMap(() => [
        ['tool.confirm', 'denied', undefined],
        ['tool.call', 'denied', false],
      ]),
    )
  })
})

describe('a tool that asks a legacy client', () => {
  const greet = async (
    server: TestServer,
    capabilities: object,
    revision = '2025-06-18',
  ): Promise<string> => {
    const { headers } = await server.call('initialize', { protocolVersion: revision, capabilities })
    return headers.get('mcp-session-id')!
  }

  it('puts its question on the stream of the call and gets the answer from another POST', async (t) => {
    const server = await startServer(t, { tools: [askName] })
    const session = await greet(server, { elicitation: {} })
    const headers = { 'mcp-session-id': session }
    const stream = await streamOf(t, server.url, 'tools/call', { name: 'ask_name' }, { headers })
    assert.match(stream.headers.get('content-type')!, /^text\/event-stream/)
    const question = await stream.next()
    assert.equal(question.method, 'elicitation/create')

    // Another user's answer is dropped.
    const answer = JSON.stringify({ jsonrpc: '2.0', id: question.id, result: yes })
    const stranger = await server.send(answer, { authorization: 'Bearer other' })
    assert.equal(stranger.status, 202)
    assert.equal((await server.send(answer, headers)).status, 202)
    const result = await stream.next()
    assert.equal(result.result.content[0].text, 'Hello, Ada!')
    assert.equal(await stream.next(), undefined)
  })

  it('fails plainly when the client refuses, cannot be asked, or takes no stream', async (t) => {
    const server = await startServer(t, { tools: [askName] })
    const session = await greet(server, { elicitation: {} })
    const headers = { 'mcp-session-id': session }
    const stream = await streamOf(t, server.url, 'tools/call', { name: 'ask_name' }, { headers })
    const { id } = await stream.next()
    await server.send(
      JSON.stringify({ jsonrpc: '2.0', id, error: { code: -1, message: 'no time' } }),
      headers,
    )
    const refused = await stream.next()
    assert.equal(refused.result.isError, true)
    assert.match(refused.result.content[0].text, /the client refused: no time/)

    const mute = await greet(server, {})
    const others: CallOptions[] = [
      { headers: { 'mcp-session-id': mute } },
      { headers: {} },
      { headers: { ...headers, accept: 'application/json' } },
    ]
    for (const options of others) {
      const { json } = await server.call('tools/call', { name: 'ask_name' }, options)
      assert.equal(json.result.isError, true)
      assert.match(json.result.content[0].text, /cannot be asked/)
    }
  })

  it('confirms a destructive tool through elicitation', async (t) => {
    const runs: unknown[] = []
    const server = await startServer(t, { tools: [wipeTool(runs)], confirm: { wipe: 'client' } })
    const session = await greet(server, { elicitation: {} })
    const options = { headers: { 'mcp-session-id': session } }
    for (const [content, text] of [
      [{ confirm: false }, /did not allow/],
      [{ confirm: true }, /wiped/],
    ] as const) {
      const stream = await streamOf(
        t,
        server.url,
        'tools/call',
        { name: 'wipe', arguments: { thing: 'a' } },
        options,
      )
      const { id, params } = await stream.next()
      assert.equal(params.requestedSchema.properties.confirm.type, 'boolean')
      await server.send(
        JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept', content } }),
        options.headers,
      )
      assert.match((await stream.next()).result.content[0].text, text)
    }
    assert.equal(runs.length, 1)
  })
})

describe('a confirmation that was waited for', () => {
  it('comes too late for a user who may not use the service any more', async (t) => {
    const runs: unknown[] = []
    const server = await startServer(t, { tools: [wipeTool(runs)], confirm: { wipe: 'client' } })
    const { headers } = await server.call('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: { elicitation: {} },
    })
    const session = { 'mcp-session-id': headers.get('mcp-session-id')! }
    const params = { name: 'wipe', arguments: { thing: 'a' } }
    const stream = await streamOf(t, server.url, 'tools/call', params, { headers: session })
    const { id } = await stream.next()
    server.disable('user@example.com')
    const result = { action: 'accept', content: { confirm: true } }
    await server.send(JSON.stringify({ jsonrpc: '2.0', id, result }), session)
    const answer = await stream.next()
    assert.equal(answer.result.isError, true)
    assert.match(answer.result.content[0].text, /not available to this user any more/)
    assert.deepEqual(runs, [])
    assert.deepEqual(
      server.events.map(({ type, status }) => [type, status]),
      [
        ['tool.confirm', 'ok'],
        ['tool.call', 'denied'],
      ],
    )
  })
})

describe('a long call', () => {
  it('streams growing progress and the log level asked for, then the answer', async (t) => {
    const server = await startServer(t, { tools: [slow] })
    await server.call('logging/setLevel', { level: 'info' }, { headers: { 'mcp-session-id': 'talk' } })
    const legacy = await server.call(
      'tools/call',
      { name: 'slow' },
      {
        meta: { progressToken: 'p' },
        headers: { 'mcp-session-id': 'talk' },
      },
    )
    const brief = (messages: any[]): unknown[] =>
      messages.map(({ method, params, result }) =>
        method && (params.progress ?? params.level) !== undefined
          ? (params.progress ?? params.level)
          : result.content[0].text,
      )
    assert.deepEqual(brief(legacy.messages), [0, 'info', 1, 2, 'finished'])
    const now = await server.call(
      'tools/call',
      { name: 'slow' },
      {
        revision: modern,
        meta: { progressToken: 7, 'io.modelcontextprotocol/logLevel': 'debug' },
      },
    )
    assert.deepEqual(brief(now.messages), [0, 'info', 'debug', 1, 2, 'finished'])
    assert.equal(now.messages[0].params.progressToken, 7)
  })

  it('is plain JSON when the client asked for nothing or takes no stream', async (t) => {
    const server = await startServer(t, { tools: [slow] })
    const plain = await server.call('tools/call', { name: 'slow' }, { revision: modern })
    assert.match(plain.headers.get('content-type')!, /^application\/json/)
    const deaf = await server.call(
      'tools/call',
      { name: 'slow' },
      {
        revision: modern,
        meta: { progressToken: 1 },
        headers: { accept: 'application/json' },
      },
    )
    assert.match(deaf.headers.get('content-type')!, /^application\/json/)
    assert.equal(deaf.json.result.content[0].text, 'finished')
  })

  it('ends when a modern client leaves, and not when a legacy one does', async (t) => {
    const ended: unknown[] = []
    const waiting = {
      ...slow,
      run: async (args: unknown, context: Parameters<typeof slow.run>[1]) => {
        try {
          return await slow.run(args, context)
        } finally {
          ended.push('ended')
        }
      },
    }
    const server = await startServer(t, { tools: [waiting] })
    const params = { name: 'slow', arguments: { wait: true } }
    const old = await streamOf(t, server.url, 'tools/call', params, { meta: { progressToken: 1 } })
    await old.next()
    old.leave()
    const now = await streamOf(t, server.url, 'tools/call', params, {
      revision: modern,
      meta: { progressToken: 1 },
    })
    await now.next()
    now.leave()
    while (ended.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    assert.deepEqual(ended, ['ended'])
  })

  it('ends when a legacy client cancels it in the same conversation, and for nobody else', async (t) => {
    const server = await startServer(t, { tools: [slow] })
    const headers = { 'mcp-session-id': 'talk' }
    const stream = await streamOf(
      t,
      server.url,
      'tools/call',
      { name: 'slow', arguments: { wait: true } },
      {
        id: 5,
        headers,
        meta: { progressToken: 1 },
      },
    )
    await stream.next()
    const cancel = (requestId: unknown, others: Record<string, string> = {}): Promise<unknown> =>
      server.send(
        JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
        { ...headers, ...others },
      )
    await cancel('5')
    await cancel(5, { authorization: 'Bearer other' })
    await cancel(5, { 'mcp-session-id': 'another' })
    await cancel(5)
    // What was cancelled is not answered: after what was said before, the stream just ends.
    let message = await stream.next()
    while (message?.method) message = await stream.next()
    assert.equal(message, undefined)
    assert.deepEqual(
      server.events.map(({ type, status, target }) => [type, status, target]),
      [['tool.call', 'cancelled', 'slow']],
    )
  })

  it('gets 202 and nothing else when it is cancelled before anything was sent', async (t) => {
    const server = await startServer(t, { tools: [slow] })
    let begun = (): void => undefined
    const started = new Promise<void>((resolve) => (begun = resolve))
    const run = slow.run.bind(slow)
    t.mock.method(slow, 'run', (args: unknown, context: Parameters<typeof slow.run>[1]) => {
      begun()
      return run(args, context)
    })
    const answer = server.call('tools/call', { name: 'slow', arguments: { wait: true } }, { id: 6 })
    await started
    await server.send(
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 6 } }),
    )
    const { status, text } = await answer
    assert.deepEqual([status, text], [202, ''])
  })

  it('goes on when two calls of one conversation have the id that is cancelled: nobody knows which is meant', async (t) => {
    const server = await startServer(t, { tools: [slow] })
    const headers = { 'mcp-session-id': 'talk' }
    const params = { name: 'slow', arguments: { wait: true } }
    const signals: AbortSignal[] = []
    const run = slow.run.bind(slow)
    t.mock.method(slow, 'run', (args: unknown, context: Parameters<typeof slow.run>[1]) => {
      signals.push(context.signal)
      return run(args, context)
    })
    const streams = [1, 2].map(() =>
      streamOf(t, server.url, 'tools/call', params, { id: 5, headers, meta: { progressToken: 1 } }),
    )
    for (const stream of await Promise.all(streams)) await stream.next()
    const cancel = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 5 },
    })
    assert.equal((await server.send(cancel, headers)).status, 202)
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, false],
    )
  })
})
