/** What a sandboxed program says is never worth more of the daemon's time than an honest call. */
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { Python, type PythonResult } from '#sandbox/python/python.ts'
import { Sql } from '#sandbox/sql/sql.ts'
import {
  allGone,
  descendants,
  isolation,
  settings,
  signal,
  tablesOf,
  withoutPython,
  withoutSql,
} from '../../packages/sandbox/test/machine.ts'

// A busy machine stalls everybody for a moment; the attacks stalled for one to fifty seconds.
const longestStall = 400
const write = `import os
def w(b):
    v = memoryview(b)
    while v: v = v[os.write(3, v):]
`

/** The longest time in which the event loop did not turn while something ran, in milliseconds. */
async function stallDuring<T>(work: () => Promise<T>): Promise<{ result: T; stall: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const result = await work()
  delay.disable()
  return { result, stall: delay.max / 1e6 }
}

describe('a message of a sandboxed program', { skip: withoutPython }, () => {
  const python = new Python(isolation, settings.python)
  const called: number[] = []
  before(() => python.probe())
  after(async () => {
    await python.close()
    assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
  })

  const run = (code: string): Promise<PythonResult> =>
    python.run({
      code,
      timeout: 10_000,
      signal: signal(),
      callTool: (_, args) => {
        called.push(JSON.stringify(args).length)
        return Promise.resolve({ text: '"done"', isError: false })
      },
    })

  const floods: [name: string, code: string][] = [
    [
      '45 MB of empty lists',
      `${write}w(b'{"call":"list_documents","arguments":{"a":[')\nfor i in range(15): w(b'[],' * 1000000)\nw(b'[]]}\\n')\nos.read(3, 300)`,
    ],
    [
      '4 MB of numbers',
      `${write}w(b'{"call":"list_documents","arguments":{"a":[' + b'1,' * 2000000 + b'1]}}\\n')\nos.read(3, 300)`,
    ],
    [
      'as many values as fit',
      `${write}w(b'{"call":"list_documents","arguments":{"a":[' + b'1,' * 125000 + b'1]}}\\n')\nos.read(3, 300)`,
    ],
    [
      'depth',
      `${write}w(b'{"call":"a","arguments":{"a":' + b'[' * 100000 + b']' * 100000 + b'}}\\n')\nos.read(3, 300)`,
    ],
    [
      'an announcement of more bytes than any image',
      `${write}w(b'#4000000000\\n' + b'x' * 1000000)\nos.read(3, 300)`,
    ],
    ['bytes that nobody asked for', `${write}w(b'#5\\nxxxxx')\nos.read(3, 300)`],
    ['messages that wait', `${write}while True: w(b'{"call":"a","arguments":{}}\\n' * 10000)`],
  ]
  for (const [name, code] of floods)
    it(`of ${name} costs the daemon nothing`, async () => {
      const memory = process.memoryUsage().rss
      const { result, stall } = await stallDuring(() => run(code))
      assert.equal(result.error?.type, 'Stopped', JSON.stringify(result.error))
      assert.ok(stall < longestStall, `${stall} ms`)
      assert.ok(process.memoryUsage().rss - memory < 64e6)
    })

  it('that is too large for a call is refused where it is made, in words', async () => {
    called.length = 0
    for (const values of ['[0] * 2_000_000', '["x" * 1000] * 1000']) {
      const { result, stall } = await stallDuring(() =>
        run(`tools.list_documents('Customer', filters={'name': ['in', ${values}]})`),
      )
      assert.equal(result.error?.type, 'ToolError')
      assert.match(result.error.message, /arguments of list_documents are too large: at most 262144 bytes/)
      assert.ok(stall < longestStall, `${stall} ms`)
    }
    assert.deepEqual(called, [])
    const { error } = await run(
      `tools.list_documents('Customer', filters={'name': ['in', ['C%d' % i for i in range(10000)]]})`,
    )
    assert.equal(error, undefined)
    assert.equal(called.length, 1)
  })

  it('gives an honest end in full: text of escapes, a picture of bytes, what is too large by name', async () => {
    const { error, result, variables, problems } = await python.run({
      code: `a = list(range(1000))\nb = 'x' * 1_000_000\nc = {'ü\\ud800': '\\x00'}\n'\\x01' * 20_000`,
      returnVariables: ['a', 'b', 'c'],
      signal: signal(),
    })
    assert.equal(error, undefined)
    assert.match(result ?? '', /^'\\x01/)
    assert.equal((variables['a'] as number[]).length, 1000)
    assert.deepEqual(variables['c'], { 'ü\ud800': '\0' })
    assert.deepEqual(problems, { b: 'is too large to return; return a part or a summary of it' })
  })
})

describe('an answer of the SQL process', { skip: withoutSql }, () => {
  const sql = new Sql(isolation, settings.sql)
  after(() => sql.close())
  const query = (statement: string) =>
    sql.query({ sql: statement, tables: tablesOf({}), maxRows: 10_000, signal: signal() })

  it('is read a part at a time', async () => {
    const { result, stall } = await stallDuring(() =>
      query(`SELECT range AS n, repeat('"', 300) AS s FROM range(10000)`),
    )
    assert.equal(result.rows.length, 10_000)
    assert.equal(result.rows[9999]?.[0], 9999)
    assert.ok(stall < longestStall, `${stall} ms`)
  })

  it('has no row that would hold everybody up, and says which one', async () => {
    const { stall } = await stallDuring(() =>
      assert.rejects(query(`SELECT repeat('"', 3900000) s`), {
        code: 'invalid',
        message: /^row 1 has 7800004 bytes, more than the \d+ that a row may have; select fewer columns/,
      }),
    )
    assert.ok(stall < longestStall, `${stall} ms`)
    assert.equal((await query('SELECT 1')).rows.length, 1)
  })
})
