/**
 * The official client from nothing but the URL to a tool's answer: `sign-in-over-tls-child.ts URL USER PASSWORD`.
 * A process of its own, because the authorities that Node trusts are read at its start.
 */
import assert from 'node:assert/strict'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { authorizeInBrowser } from '../helpers/browser.ts'
import { Provider } from '../helpers/provider.ts'

const [address = '', username = '', password = ''] = process.argv.slice(2)
const url = new URL(address)
const provider = new Provider()
assert.equal(await auth(provider, { serverUrl: url }), 'REDIRECT')
const back = await authorizeInBrowser(provider.asked!.href, { username, password })
assert.equal(back.searchParams.get('iss'), url.origin)
assert.equal(back.searchParams.get('state'), provider.stateSent)
const authorizationCode = back.searchParams.get('code') ?? ''
assert.equal(await auth(provider, { serverUrl: url, authorizationCode }), 'AUTHORIZED')

const client = new Client({ name: 'over-tls', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }))
const { tools } = await client.listTools()
const documents = await client.callTool({
  name: 'list_documents',
  arguments: { doctype: 'Customer', limit: 2 },
})
const python = await client.callTool({ name: 'run_python_code', arguments: { code: 'print(6 * 7)' } })
console.log(JSON.stringify({ tools: tools.length, documents, python, token: provider.saved?.access_token }))
await client.close()
