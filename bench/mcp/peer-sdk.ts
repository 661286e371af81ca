/** A peer: the official SDK's low-level server, stateless, JSON answers, no authentication, no audit; it gives the same tools. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

const answers = JSON.parse(process.env['FLOOR_ANSWERS'] ?? '{}') as Record<string, string>
const resultOf = (method: string): Record<string, unknown> =>
  (JSON.parse(answers[method] ?? '{"result":{}}') as { result: Record<string, unknown> }).result

const list = resultOf('tools/list')
const call = resultOf('tools/call')
const prompt = resultOf('prompts/get')

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const server = new Server({ name: 'peer', version: '1' }, { capabilities: { tools: {}, prompts: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => list)
  server.setRequestHandler(CallToolRequestSchema, () => call)
  server.setRequestHandler(GetPromptRequestSchema, () => prompt)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  })
  res.on('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(req, res)
}

const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()))
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(
    `${JSON.stringify({ msg: 'listening', port: (server.address() as AddressInfo).port })}\n`,
  )
})
