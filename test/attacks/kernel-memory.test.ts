/** A program costs the machine no memory that no limit counts, and has nothing of the programs beside it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { Files } from '#sandbox/files/files.ts'
import { Python, type PythonResult } from '#sandbox/python/python.ts'
import { join } from 'node:path'
import { viewForWorker } from '#sandbox/isolation/node-program.ts'
import { spawnChild } from '#sandbox/isolation/spawned.ts'
import {
  allGone,
  caller,
  descendants,
  isolation,
  settings,
  signal,
  withoutPython,
  withoutSql,
} from '../../packages/sandbox/test/machine.ts'

describe('a program beside others', { skip: withoutPython }, () => {
  const python = new Python(isolation, settings.python)
  before(() => python.probe())
  after(async () => {
    await python.close()
    assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
  })
  const run = (code: string, owner = 'a', timeout = 10_000): Promise<PythonResult> =>
    python.run({ code, owner, timeout, signal: signal() })

  it('makes ten thousand files and folders, not three million', async () => {
    const slab = (): number =>
      Number(/^Slab:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024
    const earlier = slab()
    const { result, error } = await run(
      `import os\nn = 0\ntry:\n  while True:\n    os.mkdir(f'/tmp/i{n}')\n    n += 1\nexcept OSError as e:\n  r = (n, e.errno)\nr`,
    )
    assert.equal(error, undefined)
    const [made, errno] = JSON.parse((result ?? '').replace('(', '[').replace(')', ']')) as [number, number]
    assert.ok(made > 1000 && made < 10_001, result)
    assert.equal(errno, 28)
    assert.ok(slab() - earlier < 300e6)
  })

  it('neither sees, signals, nor hears another', async () => {
    const victim = run(
      `import time, os\nopen('/tmp/secret', 'w').write('x')\nimport socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0meet'); s.listen()\ntime.sleep(3)\n'survived'`,
      'victim',
    )
    const { result, error, output } = await run(
      `import os, signal, socket, time
time.sleep(1)
seen = []
for target in (0, -1, *range(2, 3000)):
    try:
        os.kill(target, signal.SIGKILL if target > 0 or target == -1 else signal.SIGTERM)
        seen.append(target)
    except ProcessLookupError: pass
    except PermissionError: seen.append(('may not', target))
try: socket.socket(socket.AF_UNIX).connect('\\0meet'); seen.append('heard')
except OSError: pass
for path in ('/tmp', '/proc', '/tmp/calls'):
    try: seen += os.listdir(path)
    except OSError: pass
seen`,
      'attacker',
    )
    assert.equal(error, undefined, output)
    assert.ok(['[]', '[0]'].includes(result ?? ''), result)
    assert.equal((await victim).result, `'survived'`)
  })

  it('has no privilege, no namespace to make, and no numbers of the one before', async () => {
    const { result } = await run(
      `import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, *arguments): return getattr(libc, name)(*arguments)
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
libc.capget(header, data)
(list(data), tried('unshare', 0x10000000), tried('unshare', 0x20000), tried('mount', b'tmpfs', b'/tmp', b'tmpfs', 0, None),
 tried('umount2', b'/tmp', 2), libc.prctl(39, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0), os.getpgrp() == os.getpid())`,
    )
    assert.equal(result, '([0, 0, 0, 0, 0, 0], -1, -1, -1, -1, 1, 2, True)')
    const draws = await Promise.all([1, 2, 3].map(() => run('(random.random(), np.random.rand())')))
    assert.equal(new Set(draws.map((draw) => draw.result)).size, 3)
  })

  it('is a fork of the interpreter that waits, one after the other, with as many threads as it may have', async () => {
    const sandboxes = () => descendants().filter((pid) => comm(pid) === 'bwrap')
    const before = sandboxes()
    assert.ok(before.length > 0)
    for (let n = 0; n < 10; n++) {
      assert.equal((await run('len(pd.DataFrame([1]))')).result, '1')
      assert.deepEqual(sandboxes(), before)
    }
    const { result } = await run(
      `import threading, time\nfor _ in range(40): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\nthreading.active_count()`,
    )
    assert.equal(result, '41')
  })

  it('finds another interpreter when the one before was taken away', async () => {
    const killed = run('import time\ntime.sleep(5)')
    await new Promise((resolve) => setTimeout(resolve, 500))
    for (const pid of descendants())
      try {
        if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('runner.py')) process.kill(pid, 'SIGKILL')
      } catch {
        // The first of them took it along.
      }
    assert.equal((await killed).error?.type, 'Stopped')
    assert.equal((await run('1 + 1')).result, '2')
  })
})

/** Tries to make a folder in each folder that it sees, and says in which it could. */
const tryEverywhere = `
import os
made = []
for place, folders, _ in os.walk('/'):
    if place.count('/') > 6: folders.clear()
    try:
        os.mkdir(os.path.join(place, 'mine'))
        made.append(place)
    except OSError: pass
print(made, os.path.isdir('/tmp'))
`

describe('what reads files, draws charts or runs SQL', { skip: withoutPython }, () => {
  const source = join(import.meta.dirname, '../../packages/sandbox/src')
  const kinds: [what: string, worker: string, packages: string[]][] = [
    ['files', 'files/worker.mjs', ['yauzl', 'saxes', 'csv-parse/sync', 'unpdf']],
    ['charts', 'charts/worker.mjs', ['vega', 'vega-lite']],
    ['SQL', 'sql/worker.mjs', withoutSql ? [] : ['@duckdb/node-api']],
  ]
  for (const [what, worker, packages] of kinds)
    it(`has no place to make a file in, whatever code runs there (${what})`, async () => {
      const child = spawnChild({
        isolation,
        view: viewForWorker(join(source, worker), packages),
        program: ['/usr/bin/python3', '-I', '-c', tryEverywhere],
        limits: { fileBytes: 0, openFiles: 64 },
        maxMessageBytes: 1000,
        maxOutputBytes: 10_000,
      })
      await child.finished
      assert.equal(child.output.toString(), '[] True\n', child.status)
    })

  it('has none in the command that reads images either', async () => {
    const ocr_command = ['/usr/bin/python3', '-I', '-c', tryEverywhere]
    const files = new Files(isolation, { ...settings.files, ocr_command })
    assert.equal(await files.readImage(Buffer.alloc(1), 'en', caller()), '[] True')
  })
})

function comm(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}
