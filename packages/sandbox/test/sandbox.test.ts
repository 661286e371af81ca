import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type AnalysisProbe, openAnalysis } from '#sandbox/sandbox.ts'
import { probeIsolation } from '#sandbox/isolation/bubblewrap.ts'
import { type Child, ChildEnded } from '#sandbox/isolation/child.ts'
import { seccompProgram } from '#sandbox/isolation/seccomp.ts'
import { Spare } from '#sandbox/isolation/spare.ts'
import { spawnChild } from '#sandbox/isolation/spawned.ts'
import { silent } from '../../../test/documents/trading-company.ts'
import {
  allGone,
  descendants,
  isolation,
  isolations,
  noSandbox,
  openDescriptors,
  programs,
  settings,
  withoutSandbox,
} from './machine.ts'

const view = { show: [], environment: {}, scratchBytes: 1 << 20 }
const limits = { fileBytes: 1 << 20, openFiles: 64 }

function shell(script: string, way = noSandbox, more = {}): Child {
  return spawnChild({
    isolation: way,
    view,
    program: ['/bin/sh', '-c', script],
    limits,
    maxMessageBytes: 1000,
    maxOutputBytes: 1000,
    ...more,
  })
}

/** A folder with a program named bwrap that does this. */
function fakeBwrap(t: TestContext, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bwrap-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'bwrap'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, 'bwrap'), 0o755)
  chmodSync(folder, 0o755)
  return folder
}

describe('the probe of the sandbox', { skip: process.platform === 'linux' ? false : 'needs Linux' }, () => {
  it('says that bubblewrap is not installed, and how to install it', async () => {
    assert.deepEqual(await probeIsolation('/nonexistent'), {
      kind: 'process',
      reason: 'bubblewrap is not installed (no bwrap in /nonexistent)',
      mend: 'apt-get install bubblewrap',
    })
  })

  it('repeats what bubblewrap said when it cannot start, and what allows it', async (t) => {
    const denied = await probeIsolation(
      fakeBwrap(t, 'echo "bwrap: No permissions to create new namespace" >&2; exit 1'),
    )
    assert.ok(denied.kind === 'process')
    assert.equal(denied.reason, 'bubblewrap cannot start: bwrap: No permissions to create new namespace')
    assert.match(denied.mend, /user namespaces|userns/)
  })

  it('asks for a newer one when it does not know an option', async (t) => {
    const old = await probeIsolation(
      fakeBwrap(t, 'echo "bwrap: Unknown option --disable-userns" >&2; exit 1'),
    )
    assert.ok(old.kind === 'process')
    assert.equal(old.mend, 'install bubblewrap 0.8 or newer')
  })

  it('tells doctor about each part, with nothing left running', async () => {
    const analysis = await openAnalysis({
      log: silent,
      isolation: noSandbox,
      settings: { ...settings, python: { ...settings.python, enabled: false } },
    })
    assert.deepEqual(
      analysis.probes.map(({ name }) => name),
      ['sandbox', 'sql', 'python', 'files', 'charts'],
    )
    assert.deepEqual(analysis.probes[2], {
      name: 'python',
      ok: false,
      detail: 'Python is switched off',
      mend: 'set analysis.python.enabled to true',
    })
    await analysis.close()
    assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
  })

  it(
    'answers a daemon that is root of a namespace with one id, where nobody else can be run as',
    { skip: withoutSandbox || (process.getuid?.() === 0 ? false : 'needs root') },
    () => {
      const told = [process.execPath, '--import', 'tsx', join(import.meta.dirname, 'isolation-child.ts')]
      for (const closed of [[], ['--disable-userns']]) {
        const { stdout, stderr } = spawnSync(
          isolation.kind === 'bubblewrap' ? isolation.path : '',
          ['--unshare-user', ...closed, '--dev-bind', '/', '/', '--proc', '/proc', ...told],
          { encoding: 'utf8' },
        )
        assert.doesNotMatch(stderr, /EINVAL/)
        const probes = JSON.parse(stdout) as AnalysisProbe[]
        const python = probes.find(({ name }) => name === 'python')
        assert.equal(python?.ok, closed.length === 0, stdout)
        if (closed.length > 0) assert.match(python?.detail ?? '', /^bubblewrap cannot start: /)
        assert.ok(probes.find(({ name }) => name === 'sql')?.ok)
      }
    },
  )

  it('does not offer Python with an interpreter that is not there', { skip: withoutSandbox }, async () => {
    const analysis = await openAnalysis({
      log: silent,
      isolation,
      settings: { ...settings, python: { ...settings.python, interpreter: '/usr/bin/no-such-python' } },
    })
    assert.ok('unavailable' in analysis.python)
    assert.equal(analysis.python.unavailable, 'there is no /usr/bin/no-such-python')
    await analysis.close()
  })
})

describe('a child process', () => {
  it('exchanges messages over its own descriptor', async () => {
    const child = shell('read line <&3; echo "{\\"got\\":$line}" >&3')
    await child.send([1, 'é'])
    assert.deepEqual(await child.receive(), { got: [1, 'é'] })
    await assert.rejects(child.receive(), ChildEnded)
  })

  it('has an empty environment', async () => {
    const child = shell('env >&1')
    await child.finished
    assert.doesNotMatch(child.output.toString(), /HOME|USER|TOKEN/)
  })

  it('is ended by what is no message, too large a message, and too much output', async () => {
    for (const [script, reason] of [
      ['echo nonsense >&3; sleep 100', 'sent what is not a message'],
      ['while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&3; done', 'sent too large a message'],
      ['while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done', 'wrote too much output'],
    ] as const) {
      const child = shell(script)
      await assert.rejects(
        child.receive(),
        (error) => error instanceof ChildEnded && error.reason === reason,
        script,
      )
      await child.ended
      assert.ok(child.output.length <= 1000)
    }
  })

  it('is killed with everything that it started, and lets go of its descriptors', async () => {
    const before = openDescriptors()
    const child = shell('sleep 1000 & sleep 1000 & echo 1 >&3; wait')
    await child.receive()
    assert.ok(descendants().length >= 3)
    child.kill()
    await child.ended
    assert.ok(await allGone())
    await wait(50)
    assert.ok(openDescriptors() <= before)
  })

  it(
    'goes after the daemon, as a group as well, once it has spoken',
    { skip: existsSync('/proc/self/autogroup') ? false : 'no groups of sessions here' },
    async () => {
      for (const way of isolations) {
        const child = shell('echo "{}" >&3; exec sleep 60', way)
        assert.deepEqual(await child.receive(), {})
        const groups = () => descendants().map((pid) => readFileSync(`/proc/${pid}/autogroup`, 'utf8'))
        while (!groups().every((group) => group.endsWith(' nice 5\n'))) await wait(20)
        assert.equal(new Set(groups()).size, 1)
        child.kill()
        await child.ended
      }
    },
  )

  it('runs with the descriptors that there are where it may have more, and never with more', async () => {
    const few = shell('ulimit -n')
    await few.finished
    assert.equal(few.output.toString().trim(), '64')
    // More than a kernel gives anybody.
    const many = shell('ulimit -n', noSandbox, { limits: { ...limits, openFiles: 2_000_000_000 } })
    await many.finished
    const [, most] = /^(\d+|unlimited)$/.exec(many.output.toString().trim()) ?? []
    assert.ok(Number(most) > 0 && Number(most) < 2_000_000_000, many.output.toString())
  })

  it('says when a program cannot be started', async () => {
    const child = spawnChild({
      isolation: noSandbox,
      view,
      program: ['/no/such/program'],
      limits,
      maxMessageBytes: 10,
      maxOutputBytes: 100,
    })
    await assert.rejects(child.receive(), ChildEnded)
    assert.match(child.status, /ended with code 127/)
  })

  it(
    'sees what it needs in a folder that is closed to others, and nothing beside it',
    { skip: withoutSandbox },
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'closed-'))
      t.after(() => rmSync(folder, { recursive: true }))
      writeFileSync(join(folder, 'shown'), 'shown', { mode: 0o600 })
      writeFileSync(join(folder, 'beside'), 'beside', { mode: 0o600 })
      const readIt = async (file: string): Promise<[string, string]> => {
        const child = spawnChild({
          isolation,
          view: { ...view, show: [join(folder, 'shown')] },
          program: ['/bin/cat', join(folder, file)],
          limits,
          maxMessageBytes: 10,
          maxOutputBytes: 1000,
        })
        await child.finished
        return [child.output.toString(), child.status]
      }
      assert.deepEqual(await readIt('shown'), ['shown', 'ended with code 0'])
      assert.deepEqual(await readIt('beside'), ['', 'ended with code 1'])
    },
  )

  it('dies with the daemon, however the daemon ends', { skip: withoutSandbox }, async () => {
    const daemon = spawn(
      process.execPath,
      ['--import', 'tsx', join(import.meta.dirname, 'dying-daemon-child.ts')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await once(daemon.stdout, 'data')
    const sleeping = () => programs().filter((program) => program.includes('sleep 98765')).length
    assert.ok(sleeping() > 0)
    daemon.kill('SIGKILL')
    await once(daemon, 'exit')
    for (let tries = 0; tries < 200 && sleeping() > 0; tries++) await wait(50)
    assert.equal(sleeping(), 0)
  })
})

describe('the system call filter', () => {
  it('is whole instructions, for the machines that it knows', () => {
    for (const machine of ['x64', 'arm64']) {
      const program = seccompProgram(machine)!
      assert.equal(program.length % 8, 0)
      assert.ok(program.length > 50 * 8)
    }
    assert.equal(seccompProgram('mips'), undefined)
  })
})

describe('a spare', () => {
  it('is made ahead, given once, and discarded at the end', async () => {
    let made = 0
    const discarded: number[] = []
    const spares = new Spare(() => {
      const number = ++made
      return Promise.resolve({ number, kill: () => void discarded.push(number) })
    })
    spares.fill()
    assert.deepEqual([(await spares.take()).number, (await spares.take()).number], [1, 2])
    assert.equal(made, 3)
    await spares.close()
    assert.deepEqual(discarded, [3])
  })

  it('that fails is made again when one is wanted, not before', async () => {
    let tries = 0
    const spares = new Spare<{ kill(): void }>(() => Promise.reject(new Error(`try ${++tries}`)))
    spares.fill()
    await wait(10)
    assert.equal(tries, 1)
    await assert.rejects(spares.take(), /try 2/)
    await spares.close()
  })
})
