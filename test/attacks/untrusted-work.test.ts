/** The gate: while everything that untrusted work has tried runs at once, the daemon answers and others work. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { withoutPython, withoutSql } from '../analysis/machine.ts'
import { type RunningDaemon, startDaemon } from '../helpers/daemon.ts'

// 250 ms on a machine of its own; tests share theirs, and the attacks held everybody for seconds.
const longest = 1000
const write = 'import os\ndef w(b):\n    v = memoryview(b)\n    while v: v = v[os.write(3, v):]\n'
const python = (code: string): [string, Record<string, unknown>] => ['run_python_code', { code, timeout: 4 }]
const sql = (query: string): [string, Record<string, unknown>] => ['query_and_analyze', { query }]

const attacks: readonly [tool: string, args: Record<string, unknown>][] = [
  python('while True: pass'),
  python('x = []\nwhile True: x.append(bytearray(1 << 20))'),
  python('import os\nwhile True: os.write(1, b"x" * 65536)'),
  python(
    `${write}w(b'{"call":"list_documents","arguments":{"a":[')\nfor i in range(15): w(b'[],' * 1000000)\nw(b'[]]}\\n')\nos.read(3, 300)`,
  ),
  python(
    `${write}w(b'{"call":"list_documents","arguments":{"a":[' + b'1,' * 2000000 + b'1]}}\\n')\nos.read(3, 300)`,
  ),
  python(`tools.list_documents('Customer', filters={'name': ['in', [0] * 2_000_000]})`),
  python(`import os\nn = 0\nwhile True:\n    os.mkdir(f'/tmp/i{n}')\n    n += 1`),
  python('import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'),
  python(
    'import os, signal\nwhile True:\n  try: os.kill(0, signal.SIGKILL); os.kill(-1, signal.SIGKILL)\n  except OSError: pass',
  ),
  sql(`SELECT repeat('"', 3900000) s`),
  sql(`SELECT length(repeat('x', 2000000000))`),
  sql('SELECT list(range) FROM range(1000000000)'),
  sql(
    `SELECT count(*) FROM ${Array.from({ length: 16 }, (_, n) => `customer c${n}`).join(', ')}, range(100000)`,
  ),
  sql('SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3'),
]

describe('the daemon under untrusted work', { skip: withoutSql || withoutPython }, () => {
  it('answers /healthz, and another user gets numbers and a program as before', async (t) => {
    const daemon = await startDaemon(t)
    const attacker = await tokenOf(daemon, 'admin@example.com')
    const health: number[] = []
    const end = new AbortController()
    const watching = (async () => {
      while (!end.signal.aborted) {
        const started = performance.now()
        assert.equal((await fetch(`${daemon.url}/healthz`)).status, 200)
        health.push(performance.now() - started)
        await wait(20)
      }
    })()
    const attacked = Promise.all(attacks.map(([name, args]) => call(daemon, attacker, name, args)))
    await wait(500)
    const other = await tokenOf(daemon, 'sales@example.com')
    for (let round = 0; round < 5; round++) {
      const answer = await call(daemon, other, 'count_documents', { doctype: 'Customer' })
      assert.doesNotMatch(answer, /"isError":true/, answer)
      await wait(200)
    }
    for (const [index, answer] of (await attacked).entries())
      assert.match(
        answer,
        /"isError":true/,
        `${JSON.stringify(attacks[index]).slice(0, 200)}: ${answer.slice(0, 500)}`,
      )
    end.abort()
    await watching
    const slowest = Math.round(Math.max(...health))
    t.diagnostic(`/healthz was asked ${health.length} times and took ${slowest} ms at most`)
    assert.ok(slowest < longest, `/healthz took ${slowest} ms; ${health.length} were asked`)
    // What went before takes nothing from the one who comes after, not even from the attacker.
    assert.match(await call(daemon, attacker, 'query_and_analyze', { query: 'SELECT 41 + 1 AS n' }), /42/)
    assert.match(await call(daemon, attacker, 'run_python_code', { code: '41 + 1' }), /42/)
    assert.equal(await daemon.stop(), 0)
  })
})

async function tokenOf(daemon: RunningDaemon, user: string): Promise<string> {
  const issued = await daemon.cli(['tokens', 'issue', '--user', user, '--json'])
  assert.equal(issued.code, 0, issued.stderr)
  return (JSON.parse(issued.stdout) as { access_token: string }).access_token
}

async function call(daemon: RunningDaemon, token: string, name: string, args: unknown): Promise<string> {
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
