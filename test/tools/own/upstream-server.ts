/** An MCP server made with the official SDK, on its standard streams; `http` as an argument makes it listen. */
import { createServer } from 'node:http'
import process from 'node:process'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

function server(): McpServer {
  const mcp = new McpServer({ name: 'everything', version: '1.0.0' })
  mcp.registerTool(
    'echo',
    { title: 'Echo', description: 'Says what it was told.', inputSchema: { message: z.string() } },
    ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }),
  )
  mcp.registerTool(
    'fail',
    { description: 'Always fails, politely.', annotations: { destructiveHint: true } },
    () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
  )
  mcp.registerTool('environment', { description: 'Tells its environment.' }, () => ({
    content: [{ type: 'text', text: JSON.stringify(process.env) }],
  }))
  mcp.registerTool('slow', { description: 'Never answers at all.' }, () => new Promise(() => undefined))
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
  http.listen(0, '127.0.0.1', () => {
    const { port } = http.address() as { port: number }
    process.stdout.write(`${port}\n`)
  })
} else await server().connect(new StdioServerTransport())
