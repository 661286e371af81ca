/** An MCP server made with the official SDK, on its standard streams; `http` as an argument makes it listen. */
import { createServer } from 'node:http'
import process from 'node:process'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js'

const $schema = 'http://json-schema.org/draft-07/schema#'
const nothing = { type: 'object' as const, properties: {}, $schema }
const message = {
  type: 'object' as const,
  properties: { message: { type: 'string' } },
  required: ['message'],
  $schema,
}

const tools = [
  { name: 'echo', title: 'Echo', description: 'Says what it was told.', inputSchema: message },
  {
    name: 'fail',
    description: 'Always fails, politely.',
    inputSchema: nothing,
    annotations: { destructiveHint: true },
  },
  { name: 'environment', description: 'Tells its environment.', inputSchema: nothing },
  { name: 'slow', description: 'Never answers at all.', inputSchema: nothing },
  {
    name: 'tangled',
    description: 'Has a schema that not all models take.',
    inputSchema: {
      ...nothing,
      properties: { where: { type: ['object', 'array'] }, node: { $ref: '#/$defs/node' } },
      $defs: { node: { type: 'object', properties: { inner: { $ref: '#/$defs/node' } } } },
    },
  },
]

const traced = (meta: Record<string, unknown> | undefined): string =>
  typeof meta?.['traceparent'] === 'string' ? ` (${meta['traceparent']})` : ''
const keyed = (meta: Record<string, unknown> | undefined): string =>
  typeof meta?.['assistant-core/idempotencyKey'] === 'string' ? ' (keyed)' : ''
const asked = (meta: Record<string, unknown> | undefined): string =>
  typeof meta?.['com.example/caller'] === 'string' ? ` by ${meta['com.example/caller']}` : ''

function server(): Server {
  const mcp = new Server({ name: 'everything', version: '1.0.0' }, { capabilities: { tools: {} } })
  // A page each, to be sure that a client asks for all of them.
  mcp.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const at = Number(params?.cursor ?? 0)
    return { tools: [tools[at]!], ...(at + 1 < tools.length && { nextCursor: String(at + 1) }) }
  })
  mcp.setRequestHandler(CallToolRequestSchema, ({ params }): CallToolResult | Promise<CallToolResult> => {
    const says = (text: string) => ({ content: [{ type: 'text' as const, text }] })
    switch (params.name) {
      case 'echo':
        return says(
          `Echo: ${String(params.arguments?.['message'])}${traced(params._meta)}${keyed(params._meta)}${asked(params._meta)}`,
        )
      case 'fail':
        return { ...says('no'), isError: true }
      case 'tangled':
        return says('untangled')
      case 'environment':
        return says(JSON.stringify({ ...process.env, pid: process.pid }))
      default:
        return new Promise(() => undefined)
    }
  })
  return mcp
}

if (process.argv[2] === 'http') {
  const http = createServer((request, response) => {
    void (async () => {
      const transport = new StreamableHTTPServerTransport({})
      await server().connect(transport)
      await transport.handleRequest(request, response)
    })()
  })
  http.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => {
    const { port } = http.address() as { port: number }
    process.stdout.write(`${port}\n`)
  })
} else await server().connect(new StdioServerTransport())
