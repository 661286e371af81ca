/**
 * The peers, each in the stateless set-up that its own manual shows, with the answers that it is given in
 * `FLOOR_ANSWERS`; none of them authenticates, checks a permission or audits. `node peer.mjs NAME`
 */
import { createServer } from 'node:http'
import process from 'node:process'

const answers = JSON.parse(process.env.FLOOR_ANSWERS)
const resultOf = (method) => JSON.parse(answers[method]).result
const { tools } = resultOf('tools/list')
const called = (name) => resultOf(`tools/call ${name}`)
const prompt = resultOf('prompts/get')
const resource = resultOf('resources/read')
const uri = resource.contents[0].uri

const said = (port) => process.stdout.write(`${JSON.stringify({ msg: 'listening', port })}\n`)
const listen = (server) => server.listen(0, '127.0.0.1', () => said(server.address().port))

const answering = (answer) =>
  createServer((request, response) => void answer(request, response).catch(() => response.destroy()))

const peers = {
  async koa() {
    const { default: Koa } = await import('koa')
    const bytes = new Map(Object.entries(answers).map(([method, text]) => [method, Buffer.from(text)]))
    const app = new Koa()
    app.use(async (ctx) => {
      const chunks = []
      for await (const chunk of ctx.req) chunks.push(chunk)
      ctx.type = 'application/json'
      const { method, params } = JSON.parse(Buffer.concat(chunks).toString())
      ctx.body = bytes.get(method === 'tools/call' ? `${method} ${params.name}` : method)
    })
    const callback = app.callback()
    listen(createServer((request, response) => void callback(request, response)))
  },

  async 'mcp-lite'() {
    const { McpServer, StreamableHttpTransport } = await import('mcp-lite')
    const { Hono } = await import('hono')
    const { serve } = await import('@hono/node-server')
    const mcp = new McpServer({ name: 'peer', version: '1' })
    for (const { name, description, inputSchema } of tools)
      mcp.tool(name, { description, inputSchema, handler: () => called(name) })
    mcp.prompt('sales_analysis', {
      description: prompt.description,
      handler: () => ({ messages: prompt.messages }),
    })
    mcp.resource(uri, { description: 'a skill' }, async () => resource)
    const handler = new StreamableHttpTransport().bind(mcp)
    const app = new Hono()
    app.all('/', (c) => handler(c.req.raw))
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => said(port))
  },

  async 'sdk-v1'() {
    const { Server } = await import('@modelcontextprotocol/sdk/server/index.js')
    const { StreamableHTTPServerTransport } =
      await import('@modelcontextprotocol/sdk/server/streamableHttp.js')
    const types = await import('@modelcontextprotocol/sdk/types.js')
    const made = () => {
      const server = new Server(
        { name: 'peer', version: '1' },
        { capabilities: { tools: {}, prompts: {}, resources: {} } },
      )
      server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools }))
      server.setRequestHandler(types.CallToolRequestSchema, ({ params }) => called(params.name))
      server.setRequestHandler(types.GetPromptRequestSchema, () => prompt)
      server.setRequestHandler(types.ReadResourceRequestSchema, () => resource)
      return server
    }
    listen(
      answering(async (request, response) => {
        const server = made()
        const transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: undefined,
          enableJsonResponse: true,
        })
        response.on('close', () => void server.close())
        await server.connect(transport)
        await transport.handleRequest(request, response)
      }),
    )
  },

  async 'sdk-v2'() {
    const { Server } = await import('@modelcontextprotocol/server')
    const { NodeStreamableHTTPServerTransport } = await import('@modelcontextprotocol/node')
    const made = () => {
      const server = new Server(
        { name: 'peer', version: '1' },
        { capabilities: { tools: {}, prompts: {}, resources: {} } },
      )
      server.setRequestHandler('tools/list', () => ({ tools }))
      server.setRequestHandler('tools/call', ({ params }) => called(params.name))
      server.setRequestHandler('prompts/get', () => prompt)
      server.setRequestHandler('resources/read', () => resource)
      return server
    }
    listen(
      answering(async (request, response) => {
        const server = made()
        const transport = new NodeStreamableHTTPServerTransport({
          sessionIdGenerator: undefined,
          enableJsonResponse: true,
        })
        response.on('close', () => void server.close())
        await server.connect(transport)
        await transport.handleRequest(request, response)
      }),
    )
  },

  async fastmcp() {
    const { FastMCP } = await import('fastmcp')
    const { z } = await import('zod')
    const server = new FastMCP({ name: 'peer', version: '1.0.0', health: { enabled: false } })
    for (const { name, description, inputSchema } of tools)
      server.addTool({
        name,
        description,
        parameters: z.fromJSONSchema(inputSchema),
        execute: async () => called(name),
      })
    server.addPrompt({
      name: 'sales_analysis',
      description: prompt.description,
      arguments: [{ name: 'analysis_focus' }],
      load: async () => prompt.messages[0].content.text,
    })
    server.addResource({
      uri,
      name: 'skill',
      mimeType: 'text/markdown',
      load: async () => ({ text: resource.contents[0].text }),
    })
    const port = Number(process.env.PEER_PORT)
    await server.start({
      transportType: 'httpStream',
      httpStream: { port, host: '127.0.0.1', endpoint: '/', stateless: true, enableJsonResponse: true },
    })
    said(port)
  },
}

await peers[process.argv[2]]()
