/**
 * What calls take where the database is a network away: one person, one call after the other, at the real daemon behind a
 * proxy that makes a round trip take as long as it is told. `node --import tsx bench/mcp/far-database.ts [milliseconds]`
 */
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import type { TestContext } from 'node:test'
import { folders } from '../../test/cli/running-service.ts'
import { startDaemon } from '../../test/helpers/daemon.ts'
import { inDatabase, startPostgres } from '../../test/helpers/postgres.ts'
import { startSlowProxy } from '../../test/helpers/slow-proxy.ts'

const delay = Number(process.argv[2] ?? 14)
const calls = 60
const steps: (() => unknown)[] = []
const t = { after: (step: () => unknown) => void steps.push(step) } as unknown as TestContext

const postgres = await startPostgres(t, { durable: true })
const proxy = await startSlowProxy(postgres.port, delay)
const address = new URL(await postgres.newDatabase())
address.port = String(proxy.port)
const { site, state } = folders(t, inDatabase(t, address.href))
const daemon = await startDaemon(t, { site, state })
const issued = await daemon.cli(['tokens', 'issue', '--user', 'sales@example.com', '--json'])
const { access_token: token } = JSON.parse(issued.stdout) as { access_token: string }

async function ask(method: string, params: object): Promise<string> {
  const answer = await fetch(`${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await answer.text()
  if (answer.status !== 200 || text.includes('"isError":true')) throw new Error(text)
  return text
}

const call = (name: string, args: object): Promise<string> =>
  ask('tools/call', { name, arguments: { doctype: 'Note', ...args } })
const create = (): Promise<string> => call('create_document', { data: { title: 'A note' } })
const name = /\\"name\\":\\"([^\\]+)/.exec(await create())![1]
const rows: string[] = []
for (const [what, work] of [
  ['ping', () => ask('ping', {})],
  ['get_document', () => call('get_document', { name })],
  ['list_documents', () => call('list_documents', {})],
  ['create_document', create],
] as const) {
  for (let n = 0; n < 5; n++) await work()
  const took: number[] = []
  for (let n = 0; n < calls; n++) {
    const begun = performance.now()
    await work()
    took.push(performance.now() - begun)
  }
  const median = took.sort((a, b) => a - b)[calls / 2]!
  rows.push(`| ${what} | ${median.toFixed(0)} | ${(median / delay).toFixed(1)} |`)
}
process.stdout.write(
  [`| call, ${delay} ms | median ms | in round trips |`, '|---|---|---|', ...rows, ''].join('\n'),
)
for (const step of steps.reverse()) await step()
process.exit(0)
