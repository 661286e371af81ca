/** Regular expressions that stop V8 for ever: none of their authors stops the daemon. Each call has twenty seconds. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { copyOfShippedSite, runCli, startDaemon } from '../helpers/daemon.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

/** V8 takes some seconds for 31 characters, and twice as long for each one more. */
const evil = '^(a+)+$'
const text = `${'a'.repeat(60)}!`

/** An MCP server whose tools have such inputs. */
async function upstreamOf(t: TestContext, inputs: Readonly<Record<string, unknown>>): Promise<number> {
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'u', version: '1' },
    },
    'tools/list': {
      tools: Object.entries(inputs).map(([name, properties]) => ({
        name,
        description: 'Answers that it was called.',
        inputSchema: { type: 'object', properties },
      })),
    },
    'tools/call': { content: [{ type: 'text', text: 'the upstream server was asked' }] },
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const { id, method } = JSON.parse(body) as { id?: number; method: string }
      response.setHeader('content-type', 'application/json')
      response.end(id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

const httpTool = (properties: string): string => `tool: lookup
type: http
description: Looks up what has such a code.
url: http://127.0.0.1:1/
allow_private: true
input:
  type: object
  properties:
    ${properties}
`

function siteWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const site = copyOfShippedSite(t)
  const tools = join(site, 'config/tools.yaml')
  writeFileSync(
    tools,
    readFileSync(tools, 'utf8').replace(/^ {6}- list_documents$/m, '$&\n      - lookup\n      - other_*'),
  )
  mkdirSync(join(site, 'config/tools'), { recursive: true })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(site, name), content)
  return site
}

describe('a pattern that V8 takes for ever with', () => {
  it('stops nobody: in a tool of the site, in one of an upstream server, in a prompt', async (t) => {
    const port = await upstreamOf(t, {
      probe: { code: { type: 'string', pattern: evil } },
      tree: {
        tree: {
          type: 'object',
          anyOf: ['x', 'y'].map((key) => ({
            properties: { x: { $ref: '#/properties/tree' } },
            required: [key],
          })),
        },
      },
      names: { codes: { type: 'object', propertyNames: { pattern: evil } } },
      ahead: { code: { type: 'string', pattern: '^(?!b)a' } },
      turned: { code: { type: 'string', not: { pattern: '^(?!b)a' } } },
    })
    const nested = `codes: { type: object, patternProperties: { '${evil}': true }, propertyNames: { pattern: '${evil}' }, additionalProperties: false }`
    const site = siteWith(t, {
      'config/tools/lookup.yaml': httpTool(
        `code: { type: string, pattern: '${evil}' }\n    ${nested}\n    link: { type: string, format: url }`,
      ),
      'config/tools/other.yaml': `upstream: Other\ntype: mcp\nurl: http://127.0.0.1:${port}/\nallow_private: true\n`,
      'prompts/evil.md': `---\ntitle: Evil\nstatus: Published\nvisibility: Public\narguments:\n  - { argument_name: code, validation_regex: '(a+)+' }\n---\n{{ code }}\n`,
    })
    const daemon = await startDaemon(t, { site })
    const token = await tokenOf(daemon, 'sales@example.com')
    const ask = async (method: string, params: object): Promise<string> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const signal = AbortSignal.timeout(20_000)
      return await (await fetch(daemon.url + paths.mcp, { method: 'POST', headers, body, signal })).text()
    }
    const call = (name: string, args: object): Promise<string> => ask('tools/call', { name, arguments: args })

    assert.match(await call('lookup', { code: text }), /-32602.*does not match/)
    assert.match(await call('lookup', { codes: { [text]: 1 } }), /-32602/)
    // The square of its length: V8 needed minutes for it.
    assert.match(await call('lookup', { link: `http://${':'.repeat(900_000)}` }), /-32602.*valid url/)
    assert.match(await call('other_probe', { code: text }), /-32602.*does not match/)
    assert.match(await call('other_probe', { code: 'aa' }), /the upstream server was asked/)
    assert.match(await call('other_names', { codes: { [text]: 1 } }), /-32602/)
    // Each level of it was checked twice as often as the one around it.
    const tree = Array.from({ length: 60 }).reduce<unknown>((inner) => ({ x: inner }), 7)
    assert.match(await call('other_tree', { tree }), /-32602.*refers to itself takes too long/)
    assert.match(await ask('prompts/get', { name: 'evil', arguments: { code: text } }), /does not match/)
    assert.match(await ask('prompts/get', { name: 'evil', arguments: { code: 'aaa' } }), /aaa/)
    assert.equal((await fetch(`${daemon.url}/healthz`)).status, 200)

    // What cannot be read is the upstream's to check, unless leaving it out would refuse what it allows.
    assert.match(await call('other_ahead', { code: 'b' }), /the upstream server was asked/)
    const listed = await ask('tools/list', {})
    assert.match(listed, /other_ahead/)
    assert.doesNotMatch(listed, /\(\?!b\)|other_turned/)
    const { stdout } = daemon.output()
    assert.match(
      stdout,
      /other_ahead.*properties\.code\.pattern.*look ahead, behind or back.*left to the upstream server/,
    )
    assert.match(stdout, /other_turned.*look ahead.*cannot be offered/)
    const events = await daemon.cli(['audit', 'search', '--type', 'tool.call', '--json'])
    assert.match(events.stdout, /"lookup"/)
    assert.match(events.stdout, /invalid/)
  })

  it('is refused by check at its place where no linear engine reads it', async (t) => {
    const site = siteWith(t, {
      'config/tools/lookup.yaml': httpTool("code: { type: string, pattern: '^(?!b)a' }"),
    })
    const { code, stderr } = await runCli(['check', '--site', site])
    assert.equal(code, 78)
    assert.match(
      stderr,
      /lookup\.yaml:9:36 input\.properties\.code\.pattern: is not a usable pattern: \(\?! takes more than linear/,
    )
  })
})
