/** The official client, in a process of its own because the authorities that Node trusts are read at its start: `mcp-over-tls-child.ts URL TOKEN`. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const [url = '', token = ''] = process.argv.slice(2)
const client = new Client({ name: 'over-tls', version: '1.0.0' })
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  }),
)
const { tools } = await client.listTools()
const called = await client.callTool({ name: 'list_documents', arguments: { doctype: 'Customer', limit: 2 } })
console.log(JSON.stringify({ tools: tools.length, called }))
await client.close()
