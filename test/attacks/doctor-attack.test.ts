/** `doctor --attack`: an operator tries the harmless part of these attacks against a service of their own. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import type { AddressInfo } from 'node:net'
import { withoutSql } from '../analysis/machine.ts'
import { runCli, startDaemon } from '../helpers/daemon.ts'
import { tokenOf } from './lag.ts'

const ofStrangers = [
  'slow_bodies',
  'registration_type',
  'redirect_uri_code',
  'redirect_uri_state',
  'redirect_uri_iss',
  'address_as_client',
  'unreachable_client',
  'repeated_authorization',
  'repeated_cookie',
]
const ofUsers = [
  'costly_templates',
  'deep_template',
  'format_string',
  'search',
  'chart',
  'sql_settings',
  'preview_budget',
]

interface Told {
  readonly ok: boolean
  readonly findings: readonly { check: string; status: string; detail: string; remedy?: string }[]
}

async function attack(url: string, token?: string): Promise<Told & { code: number | null }> {
  const flags = token === undefined ? [] : ['--token-stdin']
  const { code, stdout, stderr } = await runCli(['doctor', '--attack', url, '--json', ...flags], {
    input: `${token}\n`,
  })
  assert.notEqual(stdout, '', stderr)
  return { ...(JSON.parse(stdout) as Told), code }
}

function rows({ findings }: Told, status: string): string[] {
  return findings.filter((one) => one.status === status).map(({ check }) => check.replace('attack.', ''))
}

/** A server that thinks well of everything. */
async function yesServer(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => void response.end('ok'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('doctor --attack', () => {
  it(
    'finds that all of it holds against this program, and leaves nothing there',
    { skip: withoutSql },
    async (t) => {
      const daemon = await startDaemon(t)
      const count = async (): Promise<string> => (await daemon.cli(['clients', 'list', '--json'])).stdout
      const token = await tokenOf(daemon, 'admin@example.com')
      const before = await count()
      const told = await attack(daemon.url, token)
      assert.deepEqual(rows(told, 'ok'), [...ofStrangers, ...ofUsers], JSON.stringify(told.findings, null, 1))
      assert.ok(told.findings.every(({ detail }) => detail.startsWith('held: ')))
      assert.equal(told.code, 0)
      assert.equal(await count(), before)
      const charts = {
        method: 'tools/call',
        params: { name: 'count_documents', arguments: { doctype: 'Dashboard Chart' } },
      }
      assert.ok(charts)
    },
  )

  it('finds that none of it holds against a server that answers 200 to everything', async (t) => {
    const told = await attack(await yesServer(t), 'any')
    assert.deepEqual(
      rows(told, 'failure'),
      [...ofStrangers, ...ofUsers],
      JSON.stringify(told.findings, null, 1),
    )
    assert.ok(told.findings.every(({ detail, remedy }) => detail.startsWith('not held: ') && remedy))
    assert.equal(told.code, 1)
  })

  it('says which rows need a token, and names an address that is none or where nothing listens', async (t) => {
    const url = await yesServer(t)
    const told = await attack(url)
    assert.deepEqual(rows(told, 'unknown'), ofUsers)
    assert.deepEqual(rows(await attack(`${url}/mcp`), 'failure'), ['url'])
    assert.deepEqual(rows(await attack('http://127.0.0.1:1'), 'failure'), ['reachable'])
  })
})
