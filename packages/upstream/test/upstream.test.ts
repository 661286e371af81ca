import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Upstream } from '#upstream/upstream.ts'

const clientInfo = { name: 'test', version: '1' }
const never = (): AbortSignal => new AbortController().signal
const about = { meta: {}, headers: {} }

/** A server of tools in a few lines: `answers` is a function of a message that returns a result. */
const child = (answers: string) => `
const said = []
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  said.push(message.method)
  const result = (${answers})(message, said)
  if (message.id !== undefined && result !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result.error ? result : { result }) }))
})`

function childUpstream(t: TestContext, answers: string, env: Record<string, string> = {}) {
  const ends: Error[] = []
  const command = [process.execPath, '-e', child(answers)]
  const upstream = new Upstream({
    server: { command, env: async () => env, folder: tmpdir() },
    clientInfo,
    onEnd: (error) => void ends.push(error),
  })
  t.after(() => upstream.close())
  const call = async (name: string, signal = never()): Promise<unknown> =>
    (await upstream.callTool(name, {}, signal, about)).structuredContent
  return { upstream, call, ends }
}

describe('a server as a child process', () => {
  it('is asked for every page of its tools', async (t) => {
    const { upstream } = childUpstream(
      t,
      `({ method, params }) => method === 'tools/list'
        ? { tools: [{ name: 'tool' + (params.cursor ?? 0), inputSchema: {} }], nextCursor: params.cursor === '2' ? undefined : String(Number(params.cursor ?? 0) + 1) }
        : {}`,
    )
    const tools = await upstream.listTools(never())
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['tool0', 'tool1', 'tool2'],
    )
  })

  it('is heard also where a text of it separates lines for Unicode', async (t) => {
    const { call } = childUpstream(t, `() => ({ structuredContent: { text: 'one\\u2028two\\u2029three' } })`)
    assert.deepEqual(await call('any', AbortSignal.timeout(5000)), { text: 'one\u2028two\u2029three' })
  })

  it('that never ends a line is ended before it fills our memory', async (t) => {
    const endless = `({ method }) => {
      if (method === 'tools/call') for (let n = 0; n < 40; n++) process.stdout.write('x'.repeat(1 << 20))
      return method === 'tools/call' ? undefined : {}
    }`
    const { call } = childUpstream(t, endless)
    await assert.rejects(call('any', AbortSignal.timeout(20_000)), {
      code: 'unavailable',
      message: /has ended/,
    })
  })

  it('gets the environment that it was given, and none of ours', async (t) => {
    const { call } = childUpstream(t, '() => ({ structuredContent: process.env })', { GREETING: 'hello' })
    const environment = (await call('any')) as Record<string, string>
    assert.equal(environment['GREETING'], 'hello')
    assert.deepEqual(Object.keys(environment).sort(), ['GREETING', 'PATH'])
  })

  it('that ends fails the calls on their way, tells so, and is started again by the next', async (t) => {
    const { upstream, call, ends } = childUpstream(
      t,
      `({ params }) => params?.name === 'end' ? process.exit(3) : params?.name === 'slow' ? undefined : { structuredContent: process.pid }`,
    )
    const first = await call('pid')
    const slow = call('slow')
    await assert.rejects(call('end'), { code: 'unavailable', message: 'the upstream server has ended' })
    await assert.rejects(slow, { code: 'unavailable' })
    assert.equal(ends.length, 1)
    assert.equal(upstream.isThere, false)
    assert.notEqual(await call('pid'), first)
    upstream.close()
    await wait(100)
    assert.equal(ends.length, 1, 'closing it is no end to tell of')
  })

  it('hears that a caller left, and goes on with the others', async (t) => {
    const { call } = childUpstream(
      t,
      `({ method, params }, said) => params?.name === 'slow' ? undefined : { structuredContent: said }`,
    )
    await call('connect')
    const leaving = new AbortController()
    const [left] = [call('slow', leaving.signal), void call('slow').catch(() => undefined)]
    setTimeout(() => leaving.abort(new Error('gone')), 100)
    await assert.rejects(left, /gone/)
    const said = (await call('said')) as string[]
    assert.ok(said.includes('notifications/cancelled'))
    assert.equal(said.filter((method) => method === 'initialize').length, 1, 'the connection stays')
  })

  it('does not keep a caller who left while it was being started, and hears nothing of them', async (t) => {
    const { call } = childUpstream(
      t,
      `({ params }, said) => params?.name === 'slow' ? undefined : { structuredContent: said }`,
    )
    const leaving = new AbortController()
    const left = call('slow', leaving.signal)
    leaving.abort(new Error('gone'))
    await assert.rejects(left, /gone/)
    assert.deepEqual(await call('said'), ['initialize', 'notifications/initialized', 'tools/call'])
  })

  it('that refuses is told in its own words, bounded, and stays connected', async (t) => {
    const { upstream, call } = childUpstream(
      t,
      `({ params }) => params?.name === 'no' ? { error: { code: 1, message: 'no'.repeat(1000) } } : {}`,
    )
    await assert.rejects(call('no'), (error: Error) => {
      assert.match(error.message, /^the upstream server refused: (no)+$/)
      return error.message.length < 600
    })
    assert.equal(upstream.isThere, true)
  })
})

describe('a server over HTTP', () => {
  async function httpUpstream(
    t: TestContext,
    allowPrivate: boolean,
    body: (message: { id: number }) => string,
    type = 'text/event-stream',
  ) {
    const seen: (string | undefined)[] = []
    const http = createServer((request, response) => {
      void (async () => {
        seen.push(request.headers['mcp-session-id'] as string | undefined)
        const message = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { id?: number }
        response.writeHead(message.id === undefined ? 202 : 200, {
          'content-type': type,
          'mcp-session-id': 's1',
        })
        response.end(message.id === undefined ? '' : body(message as { id: number }))
      })()
    })
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    t.after(() => http.close())
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
    const server = { url, headers: async () => ({}), allowPrivate }
    return { upstream: new Upstream({ server, clientInfo, onEnd: () => undefined }), seen }
  }

  it('is heard in a stream of events, whatever its texts hold, and keeps its session', async (t) => {
    const answer = (id: number): string =>
      JSON.stringify({ jsonrpc: '2.0', id, result: { structuredContent: 'one\u2028two' } })
    const { upstream, seen } = await httpUpstream(
      t,
      true,
      ({ id }) =>
        `event: message\r\ndata: {"jsonrpc":"2.0","method":"ping","id":${id}}\r\n\r\n: remark\n\ndata:${answer(id)}\n\n`,
    )
    const { structuredContent } = await upstream.callTool('any', {}, never(), about)
    assert.equal(structuredContent, 'one\u2028two')
    assert.deepEqual(seen, [undefined, 's1', 's1'])
  })

  it('that answers something else has not answered, and a private one is not reached unless that was allowed', async (t) => {
    const elsewhere = await httpUpstream(t, true, () => 'it works', 'application/json')
    await assert.rejects(elsewhere.upstream.listTools(never()), {
      message: 'the upstream server did not answer',
    })
    const closed = await httpUpstream(t, false, () => '{}')
    await assert.rejects(closed.upstream.listTools(never()))
    assert.deepEqual(closed.seen, [])
  })
})

describe('a server that means ill', () => {
  for (const [what, answer] of [
    ['no result', '{}'],
    ['a result that is null', '{"result":null}'],
    ['an error that is a text', '{"error":"boom"}'],
    ['an error without words', '{"error":{"code":1,"message":{"toString":1}}}'],
  ] as const)
    it(`is refused in words where it answers ${what}, which was an error of ours, and stays connected`, async (t) => {
      const { upstream, call } = childUpstream(
        t,
        `({ method, id }) => {
          if (method !== 'tools/call') return {}
          console.log(JSON.stringify({ jsonrpc: '2.0', id, ...${answer} }))
        }`,
      )
      await assert.rejects(call('any'), {
        code: 'unavailable',
        message: /refused: with nothing that MCP knows$/,
      })
      assert.equal(upstream.isThere, true)
    })

  it('is not understood where its answer is deeper or has more values than we can read in a moment', async (t) => {
    const { call } = childUpstream(
      t,
      `({ method, id, params }) => {
        if (method !== 'tools/call') return {}
        const inside = params.name === 'deep' ? '['.repeat(200) + ']'.repeat(200) : '[' + Array(2_000_000).fill('[]').join() + ']'
        console.log('{"jsonrpc":"2.0","id":' + id + ',"result":{"structuredContent":' + inside + '}}')
      }`,
    )
    for (const [name, why] of [
      ['deep', 'nested deeper than 100 levels'],
      ['wide', 'more than is read at once'],
    ] as const)
      await assert.rejects(call(name), {
        code: 'unavailable',
        message: `the upstream server is not understood: ${why}`,
      })
  })

  it('lists no more than a model could read, however many pages it has', async (t) => {
    const { upstream } = childUpstream(
      t,
      `({ method, params }) => method === 'tools/list'
        ? { tools: [{ name: 'a', inputSchema: { x: 'x'.repeat(300_000) } }], nextCursor: String(Number(params.cursor ?? 0) + 1) }
        : { structuredContent: {} }`,
    )
    await assert.rejects(upstream.listTools(never()), {
      code: 'unavailable',
      message: 'the upstream server lists tools of more than 1000000 characters',
    })
  })
})
