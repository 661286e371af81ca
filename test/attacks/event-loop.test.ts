/**
 * The gate: while everything runs that strangers and users without rights may send, the daemon's own thread is never
 * late by much. Its own monitor is asked, so the load of this process and of other tests counts as little as can be.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { costly, endless } from '../../packages/jinja/test/hostile-templates.ts'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { paths } from '../../src/oauth/urls.ts'
import type { RunningDaemon } from '../helpers/daemon.ts'
import { own, watchedDaemon, type Lag } from './lag.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

/**
 * What is allowed, as the daemon's own monitor sees it; the 20 ms between two looks are part of it. Where the machine runs
 * something else, a thread that is ready waits for its turn: what the kernel counts of that is taken off. One round of three
 * must hold, since what the code does it does each time, and what the machine does it does not.
 */
const allowed = { p99: 60, max: 250 }
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
  // An argument that a pattern of the site's is asked about, and one for a completion.
  `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"data_quality_audit","arguments":{"doctype_name":"${many('a', 3_000_000)}"}}}`,
  `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"data_quality_audit"},"argument":{"name":"doctype_name","value":"${many('a', 3_000_000)}"}}}`,
]

const percents = '%a'.repeat(60)
const letters = Array.from('abcdefghijklmnopqrstuvwxyz')
/** Patterns, searches and conditions, which run in the daemon's own process and are bounded there. */
const calls: readonly [tool: string, args: Record<string, unknown>][] = [
  ['list_documents', { doctype: 'Customer', filters: { customer_name: ['like', `${percents}b%`] } }],
  ['list_documents', { doctype: 'Customer', filters: { name: ['in', many('x ', 100_000).split(' ')] } }],
  ['list_documents', { doctype: 'Customer', filters: { name: ['like', many('%', 100_000)] } }],
  ['list_documents', { doctype: 'Item', filters: { description: ['like', `%${many('_%', 5000)}x`] } }],
  [
    'list_documents',
    {
      doctype: 'Customer',
      filters: many('x ', 5000)
        .split(' ')
        .map((x) => ['name', 'like', `%${x}%y%`]),
    },
  ],
  [
    'count_documents',
    { doctype: 'Sales Order', filters: { name: ['not in', many('SO ', 300_000).split(' ')] } },
  ],
  ...Array.from({ length: 8 }, (): [string, Record<string, unknown>] => [
    'search_documents',
    { query: letters.join(' ') },
  ]),
  ['search_documents', { query: letters.flatMap((a) => letters.map((b) => a + b)).join(' ') }],
  ['search_documents', { query: many('a', 1_000_000) }],
  ['search_documents', { query: many('ä\u0301 ', 300_000) }],
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
      const statuses = await attack(daemon, [first, ...tokens], 1)
      const under = await lag()
      told.push(shown(under))
      assert.ok(!statuses.has(500), JSON.stringify([...statuses]))
      assert.ok((statuses.get(400) ?? 0) > templates.length / 2, JSON.stringify([...statuses]))
      if (own(under, under.p99) < allowed.p99 && own(under, under.max) < allowed.max) break
      assert.ok(round < rounds, told.join('; '))
    }
    t.diagnostic(told.join('; '))
  })
})

function shown(lag: Lag): string {
  const { p99, max } = lag
  const both = [p99, max].map(
    (late) => `${Math.round(late)} ms, ${Math.round(own(lag, late))} of them its own`,
  )
  return `p99 ${both[0]}; max ${both[1]}`
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
