/** Traces as a collector gets them, and trace ids as they stand in the log and in the audit log. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import type { AuditLine } from '#audit/audit.ts'
import { folders, mcpPath, runService, type RunningService } from '../cli/running-service.ts'
import { temporaryFolder } from '../helpers/daemon.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const other = '0af7651916cd43dd8448eb211c80319c'
const parent = (id: string, flags = '01'): string => `00-${id}-00f067aa0ba902b7-${flags}`

interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code?: number }
  readonly attributes: readonly {
    readonly key: string
    readonly value: { stringValue?: string; intValue?: number }
  }[]
}

describe('a trace context', () => {
  it('of a header reaches the log and the audit log, and one in _meta goes before it, in every revision', async (t) => {
    const service = await runService(t)
    const token = await tokenOf(service)
    await call(service, token, 'list_doctypes', { traceparent: parent(other) })
    await call(
      service,
      token,
      'list_documents',
      { traceparent: parent(other) },
      { traceparent: parent(trace) },
    )
    await call(service, token, 'count_documents', {}, { traceparent: 'nonsense' })
    assert.deepEqual(
      (await events(service, { type: 'tool.call' })).map(({ target, trace_id }) => [target, trace_id]),
      [
        ['list_doctypes', other],
        ['list_documents', trace],
        ['count_documents', undefined],
      ],
    )
    assert.deepEqual(
      (await events(service, { trace })).map(({ target }) => target),
      ['list_documents'],
    )
    const logged = service.lines
      .filter((line) => line['msg'] === 'request' && line['path'] === mcpPath)
      .map((line) => line['trace_id'])
    assert.deepEqual(logged, [other, trace, undefined])
  })
})

describe('tracing.otlp', () => {
  it('sends a span of the request, of the message under the span that the client named, and of the tool', async (t) => {
    const { spans, service, token, headers } = await traced(t)
    await call(
      service,
      token,
      'list_doctypes',
      { traceparent: parent(other) },
      { traceparent: parent(trace) },
    )
    await call(service, token, 'made_up', {}, { traceparent: parent(trace) })
    await call(service, token, 'get_document', {}, { traceparent: parent(trace) }, { doctype: 'Customer' })
    await fetch(`${service.url}/healthz`)
    await service.daemon.stop()

    const http = spans.find(({ name, traceId }) => name === 'POST mcp' && traceId === other)!
    assert.deepEqual([http.kind, http.parentSpanId], [2, '00f067aa0ba902b7'])
    assert.equal(valueOf(http, 'http.response.status_code'), 200)
    const message = spans.find(({ name }) => name === 'tools/call list_doctypes')!
    assert.deepEqual([message.traceId, message.parentSpanId], [trace, '00f067aa0ba902b7'])
    assert.deepEqual(
      message.links?.map((link) => [link.traceId, link.spanId]),
      [[other, http.spanId]],
    )
    assert.equal(valueOf(message, 'user.id'), 'sales@example.com')
    assert.equal(valueOf(message, 'mcp.method.name'), 'tools/call')
    const tool = spans.find(({ name }) => name === 'execute_tool list_doctypes')!
    assert.deepEqual([tool.traceId, tool.parentSpanId, tool.status.code], [trace, message.spanId, 0])

    const unknown = spans.find(({ name }) => name === 'tools/call made_up')!
    assert.deepEqual([unknown.status.code, valueOf(unknown, 'error.type')], [2, '-32602'])
    assert.equal(spans.filter(({ name }) => name.includes('health')).length, 0)
    assert.equal(headers[0]?.['x-collector-key'], 'of-the-file')
  })

  it('gives a request that nobody traced a trace of its own, which log and audit log name', async (t) => {
    const { spans, service, token } = await traced(t)
    await call(service, token, 'list_doctypes')
    const [event] = await events(service, { type: 'tool.call' })
    await service.daemon.stop()
    assert.match(event!.trace_id!, /^[0-9a-f]{32}$/)
    const own = spans.filter(({ traceId }) => traceId === event!.trace_id)
    assert.deepEqual(own.map(({ name }) => name).sort(), [
      'POST mcp',
      'execute_tool list_doctypes',
      'tools/call list_doctypes',
    ])
  })

  it('sends nothing of a request whose caller does not record it, and of none at a ratio of 0', async (t) => {
    const { spans, service, token } = await traced(t, '0')
    await call(service, token, 'list_doctypes', { traceparent: parent(trace, '00') })
    await call(service, token, 'list_doctypes')
    await call(service, token, 'list_documents', { traceparent: parent(other) }, {}, { doctype: 'Customer' })
    await service.daemon.stop()
    assert.deepEqual([...new Set(spans.map(({ traceId }) => traceId))], [other])
  })

  it('never sends arguments, results or tokens', async (t) => {
    const { bodies, service, token } = await traced(t)
    const filters = { customer_name: 'a-secret-argument' }
    await call(service, token, 'list_documents', {}, {}, { doctype: 'Customer', filters })
    await fetch(`${service.url}/made-up?access_token=${token}`)
    await service.daemon.stop()
    const all = bodies.join('')
    assert.match(all, /execute_tool list_documents/)
    assert.doesNotMatch(all, /a-secret-argument|made-up/)
    assert.ok(!all.includes(token))
  })

  it('that nobody answers is told in the log and holds up neither requests nor the end', async (t) => {
    const { service, token, collector } = await traced(t)
    collector.close()
    collector.closeAllConnections()
    assert.equal((await call(service, token, 'list_doctypes')).status, 200)
    await service.daemon.stop()
    assert.ok(service.lines.some((line) => line['msg'] === 'traces cannot be sent'))
  })

  it('with a line in headers_file that is no header fails the start and names the line, not its text', async (t) => {
    const file = join(temporaryFolder(t), 'headers')
    writeFileSync(file, 'X-One: 1\nsecret without a name\n')
    const where = folders(t, settings('http://localhost:1', file))
    await assert.rejects(runService(t, where), {
      message: 'tracing.headers_file: line 2 is not "Name: value"',
    })
    rmSync(file)
  })
})

/** A running service and the collector that it sends to. */
async function traced(t: TestContext, ratio = '1') {
  const spans: ExportedSpan[] = []
  const bodies: string[] = []
  const headers: Record<string, unknown>[] = []
  const collector: Server = createServer((request, response) => {
    let body = ''
    headers.push(request.headers)
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      bodies.push(body)
      const { resourceSpans } = JSON.parse(body) as {
        resourceSpans: { scopeSpans: { spans: ExportedSpan[] }[] }[]
      }
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((listening) => collector.listen(0, '127.0.0.1', listening))
  t.after(() => collector.close())
  const file = join(temporaryFolder(t), 'headers')
  writeFileSync(file, 'X-Collector-Key: of-the-file\n')
  const { port } = collector.address() as AddressInfo
  const service = await runService(t, folders(t, settings(`http://127.0.0.1:${port}/v1/traces`, file, ratio)))
  return { spans, bodies, headers, collector, service, token: await tokenOf(service) }
}

function settings(url: string, file: string, ratio = '1'): [string, string][] {
  return [
    ['  otlp: null', `  otlp: ${url}`],
    ['secrets_folder: null', `secrets_folder: ${dirname(file)}`],
    ['  headers_file: null', `  headers_file: ${basename(file)}`],
    ['  sample_ratio: 1', `  sample_ratio: ${ratio}`],
  ]
}

async function tokenOf(service: RunningService): Promise<string> {
  const issued = { user: 'sales@example.com' }
  return (await operate(service.options, 'tokens.issue', issued)).access_token
}

function call(
  service: RunningService,
  token: string,
  name: string,
  headers: Record<string, string> = {},
  meta: Record<string, string> = {},
  args: object = {},
): Promise<Response> {
  const params = { name, arguments: args, _meta: meta }
  return fetch(service.url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
}

async function events(service: RunningService, filter: object): Promise<AuditLine[]> {
  const found: AuditLine[] = []
  for await (const event of stream(service.options, 'audit.search', filter)) found.push(event)
  return found
}

function valueOf({ attributes }: ExportedSpan, name: string): unknown {
  const value = attributes.find(({ key }) => key === name)?.value
  return value?.stringValue ?? value?.intValue
}
