/**
 * The gate: while everything runs that strangers and users without rights may send, the daemon's own thread is never
 * late by much. Its own monitor is asked, so the load of this process and of other tests counts as little as can be.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { costly, endless } from '../../packages/jinja/test/hostile-templates.ts'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { paths } from '../../src/oauth/urls.ts'
import type { RunningDaemon } from '../helpers/daemon.ts'
import { tokenOf, watchedDaemon, type Lag } from './lag.ts'

/**
 * What is allowed on a machine that does nothing else. Where others run, a thread that is ready waits for its turn: the
 * kernel counts that, and as much longer may everything take. What an idle daemon was late by in the same run comes on
 * top, since its monitor's own interval is in it; and one round of three must hold, since what the code does it does
 * each time, and what the machine does it does not.
 */
const allowed = { p99: 50, max: 250 }
const rounds = 3

const templates = [
  ...endless,
  ...costly,
  '{{ ("a "*500000)|wordwrap(1)|length }}',
  '{% for i in range(20000) %}{% set x=(9**19000)//(7**9000) %}{% endfor %}',
  '{% set s = "a" * 400000 %}{% for i in range(100000) %}{% set n = s.count("ab") + s.find("ba") %}{% endfor %}',
  `{{ ${'('.repeat(30_000)}1${')'.repeat(30_000)} }}`,
]

const many = (piece: string, bytes: number): string => piece.repeat(Math.floor(bytes / piece.length))

/** Bodies that are cheap to send and were costly to read. */
const bodies = [
  `[${many('[],', 4_000_000)}1]`,
  `[${many('1,', 4_000_000)}1]`,
  `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[${many('{},', 2_000_000)}1]}}`,
  many('[', 4_000_000),
  `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"sales_analysis","arguments":{"a":[${many('1.0,', 3_000_000)}1]}}}`,
  `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"${many('\\\\u0041', 3_000_000)}"}}`,
]

const percents = '%a'.repeat(60)
const calls: readonly [tool: string, args: Record<string, unknown>][] = [
  ['list_documents', { doctype: 'Customer', filters: { customer_name: ['like', `${percents}b%`] } }],
  ['list_documents', { doctype: 'Customer', filters: { name: ['in', many('x ', 100_000).split(' ')] } }],
  ['list_documents', { doctype: 'Customer', filters: { name: ['like', many('%', 100_000)] } }],
  ['get_document', { doctype: 'Customer', name: many('x', 1_000_000) }],
  ['create_document', { doctype: 'Note', data: { title: many('x', 1_000_000) }, dry_run: true }],
]

describe('the event loop', () => {
  it('is not held up by anything that callers write', async (t) => {
    const { daemon, lag } = await watchedDaemon(t, {
      'enabled: true\n  # MCP requests': 'enabled: false\n  # MCP',
    })
    const users = ['sales@example.com', 'admin@example.com', 'hr@example.com']
    const [first = '', ...tokens] = await Promise.all(users.map((user) => tokenOf(daemon, user)))
    const told: string[] = []
    // What is done once, at the first call of its kind, is not what is measured.
    await attack(daemon, [first, ...tokens], 10)
    for (let round = 1; round <= rounds; round++) {
      await lag()
      await wait(3000)
      const idle = await lag()
      const statuses = await attack(daemon, [first, ...tokens], 1)
      const under = await lag()
      told.push(`idle ${shown(idle)}, under attack ${shown(under)}`)
      assert.ok(!statuses.has(500), JSON.stringify([...statuses]))
      assert.ok((statuses.get(400) ?? 0) > templates.length / 2, JSON.stringify([...statuses]))
      const { slowness } = under
      const holds = ({ p99, max }: typeof allowed): boolean =>
        under.p99 < p99 * slowness + idle.p99 && under.max < max * slowness + idle.max
      if (holds(allowed)) break
      assert.ok(round < rounds, told.join('; '))
    }
    t.diagnostic(told.join('; '))
  })
})

function shown({ p99, max, slowness }: Lag): string {
  return `p99 ${Math.round(p99)} ms, max ${Math.round(max)} ms (${slowness.toFixed(1)} × slower for others)`
}

/** Sends it all, or one in so many, and counts the answers by status. */
async function attack(
  daemon: RunningDaemon,
  tokens: readonly string[],
  step: number,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  const send = async (path: string, token: string, body: string): Promise<void> => {
    const response = await fetch(daemon.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body,
    })
    await response.text()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
  }
  const previews = async (token: string, mine: readonly string[]): Promise<void> => {
    for (const template_content of mine)
      await send(`${promptMethodPrefix}preview_template`, token, JSON.stringify({ template_content }))
  }
  const chosen = templates.filter((_, index) => index % step === 0)
  await Promise.all([
    ...tokens.map((token, mine) =>
      previews(
        token,
        chosen.filter((_, index) => index % tokens.length === mine),
      ),
    ),
    (async () => {
      for (const body of bodies) await send(paths.mcp, tokens[0]!, body)
      for (const [name, args] of calls) {
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
        await send(paths.mcp, tokens[0]!, JSON.stringify(message))
      }
    })(),
  ])
  return statuses
}
