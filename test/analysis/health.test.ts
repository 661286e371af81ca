/** The real daemon stays itself while its sandboxes are attacked: it answers others as before. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type RunningDaemon, startDaemon } from '../helpers/daemon.ts'
import { withoutPython, withoutSql } from './machine.ts'

const attacks: [tool: string, args: Record<string, unknown>][] = [
  ['run_python_code', { code: 'while True: pass', timeout: 3 }],
  ['run_python_code', { code: 'x = []\nwhile True: x.append(bytearray(1 << 20))', timeout: 3 }],
  ['run_python_code', { code: 'import os\nwhile True: os.write(1, b"x" * 65536)', timeout: 3 }],
  ['run_python_code', { code: 'import os\nwhile True: os.write(3, b"{}" * 9999)', timeout: 3 }],
  [
    'run_python_code',
    { code: 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass', timeout: 3 },
  ],
  ['query_and_analyze', { query: `SELECT length(repeat('x', 2000000000))` }],
  [
    'query_and_analyze',
    { query: 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3' },
  ],
  ['query_and_analyze', { query: 'SELECT list(range) FROM range(1000000000)' }],
]

describe('the health of the daemon', { skip: withoutSql || withoutPython }, () => {
  it('is the same during attacks, and nothing of them stays', async (t) => {
    const daemon = await startDaemon(t)
    const issued = await daemon.cli(['tokens', 'issue', '--user', 'admin@example.com', '--json'])
    assert.equal(issued.code, 0, issued.stderr)
    const token = (JSON.parse(issued.stdout) as { access_token: string }).access_token
    const before = median(await answers(daemon, wait(1500)))
    const attacked = Promise.all(attacks.map(([name, args]) => callTool(daemon, token, name, args)))
    const during = median(await answers(daemon, attacked))
    for (const [index, text] of (await attacked).entries())
      assert.match(text, /"isError":true/, `${JSON.stringify(attacks[index])}: ${text}`)
    // A machine that is busy anyway answers late before the attack, too.
    assert.ok(during <= Math.max(100, before * 8), `${before} ms before, ${during} ms during the attacks`)
    const fine = await callTool(daemon, token, 'query_and_analyze', { query: 'SELECT 41 + 1 AS answer' })
    assert.match(fine, /42/)
    assert.equal(await daemon.stop(), 0)
  })
})

/** How long /healthz takes, again and again, in milliseconds, until something else is done. */
async function answers(daemon: RunningDaemon, until: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const end = { reached: false }
  void until.finally(() => (end.reached = true))
  while (!end.reached || times.length < 10) {
    const started = performance.now()
    assert.equal((await fetch(`${daemon.url}/healthz`)).status, 200)
    times.push(performance.now() - started)
    await wait(50)
  }
  return times
}

async function callTool(daemon: RunningDaemon, token: string, name: string, args: unknown): Promise<string> {
  const response = await fetch(`${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
  return await response.text()
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)]!
}
