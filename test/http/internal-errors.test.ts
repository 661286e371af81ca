/** What breaks inside is answered with −32603 or HTTP 500 and an id that leads to its line in the log, and with nothing of it. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { paths } from '../../src/oauth/urls.ts'
import { listDoctypesTool } from '../../src/tools/reading/list-doctypes.ts'
import { mcpPath, runService, type RunningService } from '../cli/running-service.ts'

const inner = 'inner detail of /var/lib/x'
const broken = (): never => {
  throw new TypeError(inner)
}

async function tokenFor(service: RunningService): Promise<string> {
  const issued = await operate(service.options, 'tokens.issue', { user: 'sales@example.com' })
  return (issued as { access_token: string }).access_token
}

/** The answer has nothing of the error, and its id leads to a line that has it all. */
function requireTraced({ lines }: RunningService, text: string): void {
  assert.ok(!text.includes('inner detail') && !text.includes('TypeError') && !text.includes(' at '), text)
  const id = /(?:request[_ ](?:id)?["':]* *"?|Request id: <code>)([\w-]{16,})/.exec(text)?.[1]
  assert.ok(id, text)
  const told = lines.filter((line) => line['request_id'] === id && JSON.stringify(line).includes(inner))
  assert.ok(told.length > 0, `no line of ${id} tells the error`)
  assert.ok(told.some((line) => line['level'] === 'error'))
}

async function send(service: RunningService, path: string, token: string, body: object): Promise<Response> {
  return await fetch(service.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

const rpc = (method: string, params: object = {}): object => ({ jsonrpc: '2.0', id: 5, method, params })

describe('an error inside', () => {
  it('of an MCP method is JSON-RPC −32603 with HTTP 200, and of a tool a result', async (t) => {
    const service = await runService(t)
    const token = await tokenFor(service)
    const { catalogue } = service.daemon.services.site.current()
    const mocked = t.mock.method(catalogue, 'digest', broken)
    const answer = await send(service, mcpPath, token, rpc('tools/list'))
    assert.equal(answer.status, 200)
    const text = await answer.text()
    const { error, id, jsonrpc } = JSON.parse(text) as {
      error: { code: number; message: string }
      id: number
      jsonrpc: string
    }
    assert.deepEqual([jsonrpc, id, error.code], ['2.0', 5, -32603])
    assert.match(error.message, /^Internal error: see the server log for request [\w-]+$/)
    requireTraced(service, text)
    mocked.mock.restore()

    t.mock.method(listDoctypesTool, 'run', broken)
    const called = await send(
      service,
      mcpPath,
      token,
      rpc('tools/call', { name: 'list_doctypes', arguments: {} }),
    )
    const result = await called.text()
    assert.match(result, /"isError":true/)
    requireTraced(service, result)
    assert.equal((await send(service, mcpPath, token, rpc('ping'))).status, 200, 'the next one is served')
  })

  const places: readonly (readonly [
    string,
    (service: RunningService, t: TestContext) => Promise<Response>,
  ])[] = [
    [
      'before MCP',
      async (service, t) => {
        const token = await tokenFor(service)
        t.mock.method(service.daemon.services.tokens, 'find', broken)
        return await send(service, mcpPath, token, rpc('ping'))
      },
    ],
    [
      'of a method of prompts',
      async (service, t) => {
        const token = await tokenFor(service)
        t.mock.method(service.daemon.services.promptMethods.search_prompts, 'call', () =>
          Promise.reject(new TypeError(inner)),
        )
        return await send(service, `${promptMethodPrefix}search_prompts`, token, {})
      },
    ],
    [
      'of an OAuth endpoint',
      (service, t) => {
        t.mock.method(service.daemon.services.clients, 'find', broken)
        return fetch(service.url + paths.token, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'y' }),
        })
      },
    ],
    [
      'of a page',
      (service, t) => {
        t.mock.method(service.daemon.services.sessions, 'find', broken)
        const headers = { accept: 'text/html', cookie: 'ac_session=x; __Host-ac_session=x' }
        return fetch(`${service.url}/documents`, { headers })
      },
    ],
  ]
  for (const [place, ask] of places)
    it(`${place} is HTTP 500`, async (t) => {
      const service = await runService(t)
      const answer = await ask(service, t)
      assert.equal(answer.status, 500)
      requireTraced(service, await answer.text())
    })
})
