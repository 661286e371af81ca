import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { Python, type PythonProgram, type PythonResult } from '#sandbox/python/python.ts'
import {
  allGone,
  descendants,
  isolation,
  openDescriptors,
  settings,
  signal,
  withoutPython,
} from './machine.ts'

const columns = [
  { name: 'name', type: 'text' },
  { name: 'total', type: 'number' },
  { name: 'day', type: 'date' },
] as const
const rows = [
  ['SO-1', 10.5, '2026-01-31'],
  ['SO-2', null, null],
]

describe('Python', { skip: withoutPython }, () => {
  const python = new Python(isolation, settings.python)
  let pandas = false
  before(async () => {
    await python.probe()
    pandas = python.versions['pandas'] !== undefined
  })
  after(() => python.close())

  const run = (code: string, more: Partial<PythonProgram> = {}): Promise<PythonResult> =>
    python.run({ code, signal: signal(), ...more })

  it('returns what is printed, the value of a last expression, and variables', async () => {
    const result = await run('print("hé")\nx = {"a": (1, 2)}\nx["a"][1] + 1', {
      returnVariables: ['x', 'missing'],
    })
    assert.equal(result.error, undefined)
    assert.equal(result.output, 'hé\n')
    assert.equal(result.result, '3')
    assert.deepEqual(result.variables, { x: { a: [1, 2] } })
    assert.deepEqual(result.problems, { missing: 'is not defined' })
  })

  it('runs ordinary Python: classes, generators, any builtin, imports, threads', async () => {
    const { output, error } = await run(`
import threading, sqlite3, csv, io, dataclasses, pickle, asyncio, functools, time
from collections import Counter

@dataclasses.dataclass
class Point:
    x: int
    def double(self):
        return Point(self.x * 2)

def numbers():
    yield from range(3)

results = []
thread = threading.Thread(target=lambda: results.append(sum(numbers())))
thread.start(); thread.join()
db = sqlite3.connect(':memory:')
print(Point(2).double(), results, any([0, 1]), all([]), repr('x'), next(iter([7])))
print(Counter('aab').most_common(1), db.execute('select 1 + 1').fetchone())
print(pickle.loads(pickle.dumps(Point(3))), asyncio.run(asyncio.sleep(0, 'async')), time.strftime('%Y', time.gmtime(0)))
with open('/tmp/note', 'w') as file:
    file.write('kept')
print(open('/tmp/note').read())
match [1, 2]:
    case [a, *rest]:
        print(a, rest)
`)
    assert.equal(error, undefined, error?.traceback)
    assert.equal(
      output,
      `Point(x=4) [3] True True 'x' 7\n[('a', 2)] (2,)\nPoint(x=3) async 1970\nkept\n1 [2]\n`,
    )
  })

  it('gives the data as dicts, and as a data frame where pandas is installed', async () => {
    const result = await run('data[0]', { data: { columns, pages: [rows] } })
    assert.equal(result.result, `{'name': 'SO-1', 'total': 10.5, 'day': '2026-01-31'}`)
    if (!pandas) return
    const frame = await run('t = [str(d) for d in df.dtypes]\ns = df.total.sum()\nf = df', {
      data: { columns, pages: [rows] },
      returnVariables: ['t', 's', 'f'],
    })
    assert.deepEqual(frame.variables, {
      t: ['object', 'float64', 'datetime64[ns]'],
      s: 10.5,
      f: {
        columns: ['name', 'total', 'day'],
        rows: [
          ['SO-1', 10.5, '2026-01-31T00:00:00'],
          ['SO-2', null, null],
        ],
        index: [0, 1],
        row_count: 2,
      },
    })
  })

  it('reads the data a part at a time, each when the one before is handed over', async () => {
    let parts = 0
    const pages = async function* (): AsyncGenerator<readonly (readonly unknown[])[]> {
      for (; parts < 40; parts++) yield Array.from({ length: 500 }, (_, n) => [`SO-${parts}-${n}`, 1, null])
    }
    const { result } = await run('[len(data), data[-1]["name"], sum(row["total"] for row in data)]', {
      data: { columns, pages: pages() },
    })
    assert.equal(result, "[20000, 'SO-39-499', 20000]")
    const none = await run('data', { data: { columns, pages: [] } })
    assert.equal(none.result, '[]')
    const broken = async function* (): AsyncGenerator<readonly (readonly unknown[])[]> {
      yield [['SO-1', 1, null]]
      throw new AppError('unavailable', 'the documents cannot be read')
    }
    await assert.rejects(run('1', { data: { columns, pages: broken() } }), {
      code: 'unavailable',
      message: 'the documents cannot be read',
    })
  })

  it('shows an error as Python does, with the lines of the program alone', async () => {
    const { error, output } = await run('def f(x):\n    return 1 / x\n\nprint("before")\nf(0)')
    assert.equal(output, 'before\n')
    assert.equal(error?.type, 'ZeroDivisionError')
    assert.equal(error.line, 2)
    assert.match(
      error.traceback,
      /^Traceback[^]*line 5, in <module>\n {4}f\(0\)[^]*line 2, in f\n {4}return 1 \/ x/,
    )
    assert.doesNotMatch(error.traceback, /runner/)
    const syntax = await run('x = 1\nfor in x')
    assert.deepEqual([syntax.error?.type, syntax.error?.line], ['SyntaxError', 2])
    const exit = await run('import sys\nsys.exit(3)')
    assert.deepEqual([exit.error?.type, exit.error?.message], ['SystemExit', '3'])
  })

  it('returns figures as PNG', async (t) => {
    const { images, error } = await run('import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()')
    if (error?.type === 'ModuleNotFoundError') return t.skip('matplotlib is not installed')
    assert.equal(error, undefined)
    assert.deepEqual(
      images.map((image) => Buffer.from(image, 'base64').subarray(1, 4).toString()),
      ['PNG'],
    )
  })

  it('answers calls of tools, in order, errors as exceptions', async () => {
    const calls: unknown[] = []
    const result = await run(
      `
a = tools.get_document('Customer', 'ACME')
b = tools.any_tool(x=1)
try:
    tools.bad()
except ToolError as error:
    c = str(error)
`,
      {
        returnVariables: ['a', 'b', 'c'],
        callTool: (name, args) => {
          calls.push([name, args])
          return Promise.resolve(
            name === 'bad'
              ? { text: 'not allowed', isError: true }
              : { text: name === 'any_tool' ? 'plain text' : '{"n":1}', isError: false },
          )
        },
      },
    )
    assert.deepEqual(result.variables, { a: { n: 1 }, b: 'plain text', c: 'not allowed' })
    assert.deepEqual(calls, [
      ['get_document', { doctype: 'Customer', name: 'ACME' }],
      ['any_tool', { x: 1 }],
      ['bad', {}],
    ])
    assert.equal(result.toolCalls, 3)
  })

  it('starts each program with nothing of the one before', async () => {
    await run('import builtins\nbuiltins.leaked = 1\nopen("/tmp/left", "w").close()')
    const { result } = await run(
      'import os, builtins\n(hasattr(builtins, "leaked"), os.path.exists("/tmp/left"))',
    )
    assert.equal(result, '(False, False)')
  })

  it('says where a program was when its time was up, and keeps what it printed', async () => {
    const { error, output } = await run('print("so far")\nwhile True:\n    x = 1', { timeout: 500 })
    assert.equal(output, 'so far\n')
    assert.equal(error?.type, 'TimeoutError')
    assert.ok(error.line === 2 || error.line === 3)
  })

  it('leaves output out when it is not wanted', async () => {
    assert.equal((await run('print("x")', { captureOutput: false })).output, '')
  })

  it('stops when its caller leaves', async () => {
    const controller = new AbortController()
    const running = python.run({ code: 'while True: pass', signal: controller.signal })
    setTimeout(() => controller.abort(), 300)
    await assert.rejects(running, { code: 'unavailable', message: 'the call was cancelled' })
    assert.equal((await run('1')).result, '1')
  })

  it('runs several at a time, the others in turn', async () => {
    const results = await Promise.all(Array.from({ length: 6 }, (_, n) => run(String(n))))
    assert.deepEqual(
      results.map(({ result }) => result),
      ['0', '1', '2', '3', '4', '5'],
    )
  })

  it('leaves no process and no descriptor behind', async () => {
    await python.close()
    assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
    const before = openDescriptors()
    const own = new Python(isolation, settings.python)
    await own.probe()
    await own.run({ code: '1', signal: signal() })
    await own.close()
    assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
    assert.ok(openDescriptors() <= before + 1, `${before} before, ${openDescriptors()} after`)
  })
})
