/** The gate: while everything that untrusted work has tried runs at once, the daemon answers and others work. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { withoutPython, withoutSql } from '../../packages/sandbox/test/machine.ts'
import { copyOfShippedSite, type RunningDaemon, startDaemon } from '../helpers/daemon.ts'
import { own, watchLag } from './lag.ts'
import { textOfCall, tokenOf } from '../helpers/tool-calls.ts'

/** Milliseconds, beyond what the machine lets a process wait that does nothing else. */
const longest = 250
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
  sql(`SELECT * FROM query('FROM duckdb_' || 'settings()')`),
]

/** Templates run in threads of the daemon, and charts are judged in it. */
const ofAnother: readonly [tool: string, args: Record<string, unknown>][] = [
  [
    'create_document',
    {
      doctype: 'Dashboard Chart',
      data: {
        chart_name: 'x',
        chart_type: 'bar',
        document_type: 'Lead',
        vega_lite: { mark: 'bar', transform: [{ calculate: 'test(/(a+)+$/, datum.x)', as: 'y' }] },
      },
    },
  ],
]
const template = '{% for i in range(20000) %}{% set x=(9**19000)//(7**9000) %}{% endfor %}'
/** So many calls of one user run at once, and others of the same user are refused for it. */
const lanes = 7

describe('the daemon under untrusted work', { skip: withoutSql || withoutPython }, () => {
  it('answers /healthz, and others get numbers, programs and files as before', async (t) => {
    const site = copyOfShippedSite(t)
    const users = join(site, 'config/users.yaml')
    // Somebody else who may do all that the attacker does.
    const text = readFileSync(users, 'utf8')
    writeFileSync(
      users,
      text.replace(/(email: hr@example.com[\s\S]*?roles:\n)/, '$1      - System Manager\n'),
    )
    const daemon = await startDaemon(t, { site })
    const [attacker, other, third] = await Promise.all(
      ['admin', 'hr', 'sales'].map((name) => tokenOf(daemon, `${name}@example.com`)),
    )
    const wide = await attach(daemon, attacker!, 'wide.csv', `a${','.repeat(400)}\n`.repeat(5000))
    const small = await attach(daemon, other!, 'small.csv', 'a,b\n1,2\n')
    const read = (name: string, file_name: string): [string, Record<string, unknown>] => [
      'extract_file_content',
      { operation: 'parse_data', doctype: 'Note', name, file_name },
    ]
    const control = await bareServer(t)
    const lag = watchLag(t, daemon)
    await lag()
    const [health, beside]: [number[], number[]] = [[], []]
    const end = new AbortController()
    const watching = Promise.all([
      watch(`${daemon.url}/healthz`, health, end.signal),
      watch(control, beside, end.signal),
    ])

    const answers = new Map<string, string>()
    const work = [...attacks, ...Array.from({ length: 8 }, () => read(wide, 'wide.csv'))]
    const lane = async (): Promise<void> => {
      for (let next = work.shift(); next; next = work.shift())
        answers.set(JSON.stringify(next).slice(0, 200), await textOfCall(daemon, attacker!, ...next))
    }
    const attacked = Promise.all([
      ...Array.from({ length: lanes }, lane),
      ...ofAnother.map(async (one) =>
        answers.set(JSON.stringify(one), await textOfCall(daemon, third!, ...one)),
      ),
      ...Array.from({ length: 24 }, () => preview(daemon, third!)),
    ])
    const over = attacked.then(() => true)
    let rounds = 0
    while (!(await Promise.race([over, wait(200).then(() => false)]))) {
      for (const [name, args, expected] of [
        ['count_documents', { doctype: 'Customer' }, /count/],
        ['query_and_analyze', { query: 'SELECT count(*) + 41 AS n FROM customer' }, /"data/],
        ['run_python_code', { code: '41 + 1' }, /42/],
        [...read(small, 'small.csv'), /\[1,2\]/],
      ] as const) {
        const answer = await textOfCall(daemon, other!, name, args)
        assert.doesNotMatch(answer, /"isError":true|"error":/, `${name}: ${answer}`)
        assert.match(answer, expected)
      }
      rounds++
    }
    end.abort()
    await watching
    for (const [attack, answer] of answers)
      assert.match(answer, /"isError":true|wide.csv/, `${attack}: ${answer.slice(0, 500)}`)
    assert.ok(rounds > 0)
    const under = await lag()
    const [slowest, bare] = [Math.max(...health), Math.max(...beside)].map(Math.round) as [number, number]
    const mine = Math.round(Math.min(slowest - bare, own(under, slowest)))
    const told = `/healthz took ${slowest} ms at most of ${health.length}, ${mine} of them the daemon's own; a bare server beside it ${bare} ms; the thread was late by ${Math.round(under.max)} ms at most; others made ${rounds} rounds`
    t.diagnostic(told)
    assert.ok(mine < longest, told)
    // What went before takes nothing from the one who comes after, not even from the attacker.
    assert.match(
      await textOfCall(daemon, attacker!, 'query_and_analyze', { query: 'SELECT 41 + 1 AS n' }),
      /42/,
    )
    assert.match(await textOfCall(daemon, attacker!, 'run_python_code', { code: '41 + 1' }), /42/)
    assert.equal(await daemon.stop(), 0)
  })
})

/** How long each answer of an address took, until the end. */
async function watch(url: string, times: number[], end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    const started = performance.now()
    assert.equal((await fetch(url)).status, 200)
    times.push(performance.now() - started)
    await wait(20)
  }
}

/** A server in a process of its own that does nothing: what it is late by is the machine's. */
async function bareServer(t: TestContext): Promise<string> {
  const program = `require('node:http').createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return `http://127.0.0.1:${port.toString().trim()}`
}

/** Keeps a file with a note of its own, whose name is answered. */
async function attach(daemon: RunningDaemon, token: string, file: string, text: string): Promise<string> {
  const made = await textOfCall(daemon, token, 'create_document', { doctype: 'Note', data: { title: file } })
  const [, name] = /\\"name\\":\\"([^"\\]+)\\"/.exec(made) ?? []
  assert.ok(name !== undefined, made)
  const kept = await textOfCall(daemon, token, 'attach_file', {
    doctype: 'Note',
    name,
    file_name: file,
    text,
  })
  assert.doesNotMatch(kept, /"isError":true/, kept)
  return name
}

async function preview(daemon: RunningDaemon, token: string): Promise<void> {
  const response = await fetch(`${daemon.url}${promptMethodPrefix}preview_template`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ template_content: template }),
  })
  await response.text()
  assert.ok([400, 503].includes(response.status), String(response.status))
}
