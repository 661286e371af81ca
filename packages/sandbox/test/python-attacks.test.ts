import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { Python, type PythonProgram, type PythonResult } from '#sandbox/python/python.ts'
import { allGone, descendants, isolation, settings, signal, turnsDuring, withoutPython } from './machine.ts'

const limits = {
  ...settings.python,
  memory_mb: 256,
  scratch_mb: 16,
  max_output_bytes: 100_000,
  max_tool_calls: 20,
}

describe('Python attacks', { skip: withoutPython }, () => {
  const python = new Python(isolation, limits)
  let visits = 0
  const server = createServer((_, response) => {
    visits++
    response.end('inside')
  })
  before(async () => {
    process.env['ATTACK_SECRET'] = 'in-the-environment'
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await python.probe()
  })
  after(async () => {
    delete process.env['ATTACK_SECRET']
    server.close()
    await python.close()
  })

  const run = (code: string, more: Partial<PythonProgram> = {}): Promise<PythonResult> =>
    python.run({ code, timeout: 5000, signal: signal(), ...more })

  /** The value of an expression after statements, with any exception as its type's name. */
  const value = async (statements: string, expression: string): Promise<string> => {
    const indented = statements
      .split('\n')
      .map((line) => `    ${line}`)
      .join('\n')
    const { result, error } = await run(
      `try:\n${indented}\n    r = ${expression}\nexcept BaseException as e:\n    r = type(e).__name__\nr`,
    )
    return result ?? error?.type ?? 'None'
  }

  const denied: [name: string, statements: string, expression: string][] = [
    ['reading the password file', '', `open('/etc/passwd').read()`],
    ['reading the daemon’s own files', '', `open(${JSON.stringify(import.meta.filename)}).read()`],
    ['listing home folders', 'import os', `os.listdir('/root') + os.listdir('/home')`],
    ['the environment of the first process', '', `open('/proc/1/environ').read()`],
    ['its own memory map', '', `open('/proc/self/maps').read()`],
    ['the system’s settings', '', `open('/sys/kernel/notes', 'rb').read()`],
    ['writing to the system', '', `open('/usr/x', 'w')`],
    ['writing beside the program', '', `open('/x', 'w')`],
    ['writing shared memory', '', `open('/dev/shm/x', 'w')`],
    [
      'a link to the outside',
      `import os\nos.symlink('/etc/passwd', '/tmp/link')`,
      `open('/tmp/link').read()`,
    ],
    ['devices', 'import os', `os.mknod('/tmp/dev', 0o600 | 0o060000, os.makedev(8, 0))`],
    ['another user', 'import os', 'os.setuid(0)'],
    ['a new root', 'import os', `os.chroot('/tmp')`],
    ['forking', 'import os', 'os.fork()'],
    ['a session, which would weigh on its own', 'import os', 'os.setsid()'],
    ['running programs', 'import subprocess', `subprocess.run(['/usr/bin/id'], capture_output=True).stdout`],
    ['a shell', 'import os', `'' if os.system('id > /tmp/id') == 0 else 1 / 0`],
    [
      'processes of multiprocessing',
      'import multiprocessing\np = multiprocessing.Process(target=print)',
      'p.start()',
    ],
    ['raw sockets', 'import socket', 'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'],
    ['packet sockets', 'import socket', 'socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'],
    ['netlink', 'import socket', 'socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'],
    ['the hypervisor’s sockets', 'import socket', 'socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)'],
    ['the metadata address', 'import socket', `socket.create_connection(('169.254.169.254', 80), 1)`],
    ['names', 'import socket', `socket.getaddrinfo('example.com', 80)`],
    ['anonymous files', 'import os', `os.memfd_create('x')`],
    ['large files', `f = open('/tmp/big', 'wb')`, `[f.write(b'x' * 1048576) for _ in range(64)]`],
    ['many files', '', `[open('/tmp/f%d' % n, 'w') for n in range(1000)]`],
    ['raising its limits', 'import resource', `resource.setrlimit(resource.RLIMIT_AS, (-1, -1))`],
    ['a large allocation', '', `len(bytearray(4 << 30))`],
    ['a shared mapping', 'import mmap', `len(mmap.mmap(-1, 4 << 30))`],
  ]
  for (const [name, statements, expression] of denied)
    it(`denies ${name}`, async () => {
      const answer = await value(statements, expression)
      assert.match(answer, /^'?(\w*Error|gaierror)'?$/, `${expression} gave ${answer.slice(0, 300)}`)
    })

  it('denies the system calls of escapes', async () => {
    // ptrace(attach, 1), unshare(user), mount, keyctl, bpf, io_uring_setup, setns, clone(new user), process_vm_readv
    const numbers: Record<string, number[][]> = {
      x64: [
        [101, 16, 1, 0, 0],
        [272, 0x10000000],
        [165, 0, 0, 0, 0, 0],
        [250, 0],
        [321, 0, 0, 0],
        [425, 1, 0],
        [308, 0, 0],
        [56, 0x10000000, 0, 0, 0, 0],
        [310, 1, 0, 0, 0, 0, 0],
        [57],
      ],
      arm64: [
        [117, 16, 1, 0, 0],
        [97, 0x10000000],
        [40, 0, 0, 0, 0, 0],
        [219, 0],
        [280, 0, 0, 0],
        [425, 1, 0],
        [268, 0, 0],
        [220, 0x10000000, 0, 0, 0, 0],
        [270, 1, 0, 0, 0, 0, 0],
      ],
    }
    const calls = numbers[process.arch]
    assert.ok(calls, `no system call filter for ${process.arch}`)
    const { variables, error } = await run(
      `import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nr = []\nfor call in ${JSON.stringify(calls)}:\n    ctypes.set_errno(0)\n    r.append([call[0], libc.syscall(*call), ctypes.get_errno()])`,
      { returnVariables: ['r'] },
    )
    assert.equal(error, undefined, error?.traceback)
    for (const [number, result, errno] of variables['r'] as number[][]) {
      assert.deepEqual([result, errno], [-1, 1], `system call ${number}`)
    }
  })

  it('has no environment but its own, and is nobody', async () => {
    const { result } = await run('import os, getpass\n(sorted(os.environ), os.getuid(), os.getcwd())')
    assert.match(result ?? '', /^\(\['HOME', 'LANG', 'MPLBACKEND', [^\]]*\], 65534, '\/tmp'\)$/)
    assert.doesNotMatch(result ?? '', /SECRET/)
  })

  it('holds no descriptor but its input, its output and the channel', async () => {
    const { result } = await run(
      'import os\ndef is_open(fd):\n    try:\n        os.fstat(fd)\n        return True\n    except OSError:\n        return False\n[fd for fd in range(4096) if is_open(fd)]',
    )
    assert.equal(result, '[0, 1, 2, 3]')
  })

  it('reaches no server of this machine', async () => {
    const { port } = server.address() as AddressInfo
    const { error } = await run(
      `import urllib.request\nurllib.request.urlopen('http://127.0.0.1:${port}/', timeout=2).read()`,
    )
    assert.match(error?.type ?? '', /URLError/)
    assert.equal(visits, 0)
  })

  it('sees and harms no process outside', async () => {
    const { error, output } = await run(
      `import os\nfor pid in (${process.pid}, ${process.ppid}, 1, -1):\n    try:\n        os.kill(pid, 9)\n        print(pid, 'sent')\n    except OSError as e:\n        print(pid, type(e).__name__)`,
    )
    // kill(-1) may end the program itself; nothing outside is ever hit.
    assert.ok(error?.type === 'Stopped' || !/^\d{2,} sent/m.test(output.replace(/^1 sent$/m, '')), output)
    assert.equal((await run('1')).result, '1')
  })

  const bombs: [name: string, code: string][] = [
    ['a loop', 'while True: pass'],
    [
      'a loop that swallows its end',
      'def f():\n    while True:\n        try:\n            while True: len("x")\n        except BaseException:\n            pass\nf()',
    ],
    ['a long C call', 'sum(range(10 ** 12))'],
    ['a big number', 'x = 7 ** (10 ** 9)'],
    [
      'sleeping',
      'import time, signal\nsignal.alarm(0)\nsignal.setitimer(signal.ITIMER_REAL, 0)\ntime.sleep(100)',
    ],
    ['memory', 'x = []\nwhile True: x.append(bytearray(1 << 20))'],
    [
      'memory in files',
      `n = 0\nwhile True:\n    n += 1\n    open('/tmp/%d' % n, 'wb').write(b'x' * (8 << 20))`,
    ],
    [
      'memory in pipes',
      'import os, fcntl\np = []\nwhile True:\n    r, w = os.pipe()\n    p.append((r, w))\n    fcntl.fcntl(w, 1031, 1 << 20)\n    os.set_blocking(w, False)\n    os.write(w, b"x" * (1 << 20))',
    ],
    [
      'threads',
      'import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(100,)).start()',
    ],
    ['recursion', 'def f(): return f()\nimport sys\nsys.setrecursionlimit(10 ** 9)\nf()'],
    ['output', 'while True: print("x" * 1000)'],
    ['output past the runner', 'import os\nwhile True: os.write(1, b"x" * 65536)'],
    ['errors past the runner', 'import os\nwhile True: os.write(2, b"x" * 65536)'],
    ['a crash', 'import ctypes\nctypes.string_at(1)'],
    ['a stop', 'import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)'],
    ['an abrupt end', 'import os\nos._exit(0)'],
    ['closed descriptors', 'import os\nos.closerange(0, 100)'],
    ['an endless exit', 'import atexit, sys\ntry:\n    sys.exit(0)\nfinally:\n    while True: pass'],
    [
      'an endless variable',
      'class D(dict):\n    def items(self):\n        while True: yield ("a", 1)\nx = D()',
    ],
    ['an endless text', 'class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E()'],
  ]
  for (const [name, code] of bombs)
    it(`contains a bomb of ${name} while the event loop turns`, async () => {
      const { turns, milliseconds } = await turnsDuring(async () => {
        const { error, output } = await run(code, { timeout: 1000, returnVariables: ['x'] })
        assert.ok(error || output.length <= limits.max_output_bytes)
        assert.ok(output.length <= limits.max_output_bytes)
      })
      assert.ok(milliseconds < 30_000)
      assert.ok(turns + 2 >= Math.min(5, milliseconds / 100), `${turns} turns in ${milliseconds} ms`)
    })

  const lies: [name: string, message: string][] = [
    ['no JSON', 'x'],
    ['no object', '1'],
    ['an unknown message', '{"exec": "id"}'],
    ['a tool that is a path', '{"call": "../../x", "arguments": {}}'],
    ['arguments that are none', '{"call": "a", "arguments": [1]}'],
    ['a result of another shape', '{"done": {"error": null}}'],
    [
      'an image that is a page',
      '{"done": {"error": null, "result": null, "variables": {}, "problems": {}, "images": 1, "written": 0, "dropped": 0}}\n#8\n<script>',
    ],
    ['deep nesting', '['.repeat(100_000)],
  ]
  for (const [name, message] of lies)
    it(`believes no message of ${name}`, async () => {
      const calls: string[] = []
      const { error } = await run(
        `import os, time\nos.write(3, ${JSON.stringify(message)}.encode() + b"\\n")\ntime.sleep(3)`,
        {
          callTool: (tool) => {
            calls.push(tool)
            return Promise.resolve({ text: '', isError: false })
          },
        },
      )
      assert.equal(error?.type, 'Stopped')
      assert.deepEqual(calls, [])
    })

  it('takes a forged result for what it is: the program’s own', async () => {
    const forged = {
      error: null,
      result: 'forged',
      variables: { __proto__x: 1 },
      problems: {},
      images: 0,
      written: 10 ** 9,
      dropped: 0,
    }
    const message = JSON.stringify({ done: { ...forged, variables: {} } }).replace(
      '"variables":{}',
      '"variables":{"__proto__":{"polluted":1},"a":1}',
    )
    const { result, variables } = await run(
      `import os, time\nos.write(3, ${JSON.stringify(message)}.encode() + b"\\n")\ntime.sleep(3)`,
    )
    assert.equal(result, 'forged')
    assert.deepEqual(variables, { a: 1 })
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })

  it('ends a message that never ends, and a flood of them', async () => {
    const endless = await run('import os\nwhile True: os.write(3, b"x" * 65536)', { timeout: 10_000 })
    assert.equal(endless.error?.message, 'the program sent too large a message and was stopped')
    const flood = await run(
      `import os\nwhile True: os.write(3, b'{"call": "a", "arguments": {}}\\n' * 100)`,
      {
        callTool: () => Promise.resolve({ text: 'x', isError: false }),
      },
    )
    assert.equal(flood.error?.message, 'the program called tools more than 20 times and was stopped')
    assert.equal(flood.toolCalls, 21)
  })

  it('runs no pickle of a program: what comes back is JSON', async () => {
    const { variables } = await run(
      `class P:\n    def __reduce__(self):\n        return (print, ('unpickled',))\n    def __repr__(self):\n        return 'P'\nx = P()`,
      { returnVariables: ['x'] },
    )
    assert.equal(typeof variables['x'], 'string')
    assert.doesNotMatch(readFileSync(new URL('../src/python/python.ts', import.meta.url), 'utf8'), /pickle/)
  })

  it('leaves no process behind, not even zombies', async () => {
    await python.close()
    assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
  })
})
