/** A cgroup for each job: what is written where, since few machines let a test divide the real ones. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openAnalysis } from '#sandbox/sandbox.ts'
import { Python } from '#sandbox/python/python.ts'
import { Cgroups } from '#sandbox/isolation/cgroups.ts'
import { Sql } from '#sandbox/sql/sql.ts'
import { createLog } from '#leaf/log.ts'
import { Shown } from '../../../src/core/shown.ts'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { searchAudit } from '#audit/finding/search.ts'
import { analysisTools } from '../../../src/tools/analysing/analysis-tools.ts'
import { turnOf } from '../../../src/tools/tool.ts'
import { startAudit } from '../../audit/test/audit-folder.ts'
import { someone } from '../../../test/documents/trading-company.ts'
import { openOffice } from '../../../test/tools/offices.ts'
import { isolation, noSandbox, settings, signal, tablesOf, withoutPython, withoutSql } from './machine.ts'

/** What the kernel shows of a unit with `Delegate=yes`: a folder with a few files. */
function unit(t: TestContext, controllers = 'cpu io memory pids', line = '0::/system.slice/unit') {
  const root = mkdtempSync(join(tmpdir(), 'assistant-core-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const folder = join(root, 'system.slice/unit')
  mkdirSync(folder, { recursive: true })
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  write('cgroup.controllers', `${controllers}\n`)
  write('cgroup.procs', `${process.pid}\n`)
  write('cgroup.subtree_control', '')
  const own = join(root, 'own')
  writeFileSync(own, `1:name=systemd:/\n${line}\n`)
  const read = (...path: string[]): string => readFileSync(join(folder, ...path), 'utf8').trim()
  const jobs = (): string[] => readdirSync(folder).filter((name) => name.startsWith('job-'))
  return { folder, read, jobs, open: () => Cgroups.open({ root, own }) }
}

describe('the cgroup of the daemon', () => {
  it('is divided where it is its own: the daemon goes into a leaf, and what was left goes', (t) => {
    const { folder, read, open, jobs } = unit(t)
    mkdirSync(join(folder, 'job-7'))
    assert.ok(open() instanceof Cgroups)
    assert.equal(read('daemon', 'cgroup.procs'), String(process.pid))
    assert.equal(read('cgroup.subtree_control'), '+memory +pids')
    assert.deepEqual(jobs(), [])
  })

  it('is left alone where it is not, and why is said', (t) => {
    const shared = unit(t)
    writeFileSync(join(shared.folder, 'cgroup.procs'), `1\n${process.pid}\n`)
    for (const [given, why] of [
      [shared, /other programs are in/],
      [unit(t, 'cpu io'), /has no memory and pids controller/],
      [unit(t, 'memory'), /has no pids controller/],
      [unit(t, 'memory pids', '4:memory:/unit'), /in no cgroup of version 2/],
      [unit(t, 'memory pids', '0::/elsewhere'), /not the daemon's to divide/],
    ] as const) {
      assert.match(JSON.stringify(given.open()), why)
      assert.ok(!existsSync(join(given.folder, 'daemon')))
    }
  })
})

describe('the cgroup of a job', () => {
  it('tells the cost of a program that was ended as well', { skip: withoutPython }, async (t) => {
    const { folder, open, jobs } = unit(t)
    const python = new Python({ ...isolation, cgroups: open() }, settings.python)
    t.after(() => python.close())
    await python.probe()
    const before = jobs()
    const costs: unknown[] = []
    const { error } = await python.run({
      code: 'import os\ntools.ping()\nos._exit(1)',
      signal: signal(),
      spent: (cost) => costs.push(cost),
      callTool: () => {
        const [job = ''] = jobs().filter((name) => !before.includes(name))
        writeFileSync(join(folder, job, 'cpu.stat'), 'usage_usec 2500000\n')
        writeFileSync(join(folder, job, 'memory.peak'), '671088640\n')
        return Promise.resolve({ text: '{}', isError: false })
      },
    })
    assert.equal(error?.type, 'Stopped')
    assert.deepEqual(costs, [{ cpu_seconds: 2.5, memory_bytes: 671_088_640 }])
  })

  it(
    'holds a Python program before it begins, bounds all of it, and tells its cost',
    { skip: withoutPython },
    async (t) => {
      const { folder, read, open, jobs } = unit(t)
      const python = new Python({ ...isolation, cgroups: open() }, settings.python)
      t.after(() => python.close())
      await python.probe()
      assert.match(python.bounds, /^a cgroup for each program/)
      const before = jobs()
      const principal = { ...someone('ann@example.com', 'Clerk'), shown: new Shown() }
      const { error, result } = await python.run({
        code: `import os\ntools.ping()\nos.getpid()`,
        signal: signal(),
        spent: turnOf({ principal, signal: signal() }).spent,
        callTool: () => {
          const [job = ''] = jobs().filter((name) => !before.includes(name))
          // The number is that of a process of this machine, which sees no such number itself.
          assert.match(readFileSync(`/proc/${read(job, 'cgroup.procs')}/comm`, 'utf8'), /python/)
          assert.equal(
            read(job, 'memory.max'),
            String((settings.python.memory_mb + settings.python.scratch_mb + 64) * 1_048_576),
          )
          assert.equal(read(job, 'memory.oom.group'), '1')
          assert.equal(read(job, 'pids.max'), '256')
          writeFileSync(join(folder, job, 'cpu.stat'), 'usage_usec 1250000\nuser_usec 1\n')
          writeFileSync(join(folder, job, 'memory.peak'), '140000000\n')
          return Promise.resolve({ text: '{}', isError: false })
        },
      })
      assert.equal(error, undefined)
      assert.equal(result, '1')
      assert.deepEqual(principal.shown.cost, { cpu_seconds: 1.25, memory_bytes: 140_000_000 })
    },
  )

  it('is taken away when its processes are gone, however late that is', async (t) => {
    const { folder, open, jobs } = unit(t)
    const cgroups = open()
    assert.ok(cgroups instanceof Cgroups)
    void cgroups.job({ processes: 20 }).end()
    const [name] = jobs()
    // As long as there are processes, the kernel refuses; here, as long as there are files.
    await wait(1500)
    rmSync(join(folder, name!, 'pids.max'))
    while (jobs().length > 0) await wait(20)
  })

  it('has its cost in the event of the call, as the log has it', { skip: withoutPython }, async (t) => {
    const { folder, open, jobs } = unit(t)
    const analysis = await openAnalysis({ log: createLog('silent', process.stderr), cgroups: open() })
    t.after(() => analysis.close())
    const { call, events } = await openOffice(t, {
      tools: analysisTools(analysis, { now: Date.now }),
      toolsYaml: '',
    })
    const called = call(
      { ...someone('ann@example.com', 'Assistant User', 'System Manager'), shown: new Shown() },
      'run_python_code',
      { code: 'import time\ntime.sleep(2)' },
    )
    const before = new Set(jobs())
    let started: string | undefined
    while (started === undefined) {
      await wait(20)
      started = jobs().find((name) => !before.has(name))
    }
    for (const name of jobs()) {
      writeFileSync(join(folder, name, 'cpu.stat'), 'usage_usec 1250000\nuser_usec 1\n')
      writeFileSync(join(folder, name, 'memory.peak'), '140000000\n')
    }
    const { isError, text } = await called
    assert.equal(isError, false, text)
    const { audit, folder: log } = await startAudit(t)
    for (const event of events) await audit.record(event)
    await audit.settled()
    const costs = []
    for await (const { data } of searchAudit(new FileLedger(log), { target: 'run_python_code' }))
      costs.push(data?.['cost'])
    assert.deepEqual(costs, [{ cpu_seconds: 1.25, memory_bytes: 140_000_000 }])
  })

  it('holds the process of SQL from its first step', { skip: withoutSql }, async (t) => {
    const { read, open, jobs } = unit(t)
    for (const kind of [isolation, noSandbox]) {
      const sql = new Sql({ ...kind, cgroups: open() }, settings.sql)
      const tables = tablesOf({ Customer: { columns: [{ name: 'name', type: 'text' }], rows: [['ACME']] } })
      const { rows } = await sql.query({
        sql: 'SELECT name FROM customer',
        tables,
        maxRows: 1,
        signal: signal(),
      })
      assert.deepEqual(rows, [['ACME']])
      for (const job of jobs()) {
        assert.ok(Number(read(job, 'memory.max')) > settings.sql.memory_mb * 1_048_576)
        assert.ok(Number(read(job, 'cgroup.procs')) > 1)
      }
      await sql.close()
    }
  })

  it(
    'is what doctor says that there is, or that there is none and what bounds files instead',
    { skip: withoutPython },
    async (t) => {
      const detail = async (cgroups: Cgroups | string): Promise<string> => {
        const analysis = await openAnalysis({ log: createLog('silent', process.stderr), cgroups })
        await analysis.close()
        return analysis.probes.find(({ name }) => name === 'python')?.detail ?? ''
      }
      assert.match(await detail(unit(t).open()), /; a cgroup for each program/)
      assert.match(
        await detail(unit(t, 'cpu').open()),
        /scratch bounded to 64 MB and 10000 files, without a cgroup \(the cgroup of this process has no memory and pids controller\)/,
      )
    },
  )
})
