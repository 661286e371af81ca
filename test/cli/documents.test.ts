/** Documents from files and into them, as an operator types it: with and without a daemon, and after a kill. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { ImportReport } from '../../src/documents/importing/import-file.ts'
import { barText } from '#commands/terminal.ts'
import { launcher, runCli, temporaryFolder } from '../helpers/daemon.ts'
import { folders, runService } from './running-service.ts'

const timeout = 120_000

function customers(count: number): string {
  const lines = Array.from({ length: count }, (_, n) =>
    n % 400 === 399 ? `Import ${n},Nowhere` : `Import ${n},North`,
  )
  return `${['customer_name,territory', ...lines].join('\n')}\n`
}

function eventsIn(state: string, type: string): number {
  const folder = join(state, 'audit')
  if (!existsSync(folder)) return 0
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  return text.split(`"type":"${type}"`).length - 1
}

describe('documents import and export', () => {
  it(
    'shows what it would do, does it, refuses to do it twice, and gives it out again',
    { timeout },
    async (t) => {
      const service = await runService(t)
      const file = join(temporaryFolder(t), 'customers.csv')
      writeFileSync(file, 'Customer Name,Territory,Noise\n"=1+1, Ltd",North,x\nOther,Nowhere,y\n')
      const cli = (...args: string[]): ReturnType<typeof runCli> =>
        runCli([...args, '--site', service.site, '--state', service.state])
      const dry = await cli('documents', 'import', 'Customer', file)
      assert.equal(dry.code, 1)
      assert.match(dry.stderr, /^Customer Name +customer_name +alike/m)
      assert.match(dry.stderr, /^Noise +- +no field is named so/m)
      assert.match(dry.stdout, /2 rows: 1 would be created, 0 would be changed, 0 as they are, 1 with faults/)
      assert.match(dry.stdout, /customers\.csv:3:7: territory: must be one of North/)
      assert.match(dry.stdout, /nothing was kept; --write keeps it/)
      const kept = await cli('documents', 'import', 'Customer', file, '--write')
      assert.match(kept.stdout, /2 rows: 1 created/)
      const again = await cli('documents', 'import', 'Customer', file, '--write')
      assert.deepEqual([again.code, /was imported at .* already; --again/.test(again.stderr)], [1, true])
      const out = await cli(
        'documents',
        'export',
        'Customer',
        '--user',
        'sales@example.com',
        '--filters',
        '{"customer_name": "=1+1, Ltd"}',
        '--fields',
        'territory,credit_limit',
      )
      assert.equal(out.stdout, 'name,territory,credit_limit\r\n"\'=1+1, Ltd",North,[masked]\r\n')
      const whole = await cli(
        'documents',
        'export',
        'Customer',
        '--user',
        'sales@example.com',
        '--format',
        'jsonl',
        '--filters',
        '{"customer_name": "=1+1, Ltd"}',
      )
      assert.equal((JSON.parse(whole.stdout) as { name: string }).name, '=1+1, Ltd')
      const told = await cli(
        'audit',
        'search',
        '--type',
        'document.export',
        '--document',
        'Customer/=1+1, Ltd',
        '--json',
      )
      assert.equal(told.stdout.trim().split('\n').length, 2)
      const denied = await cli('documents', 'export', 'Opportunity', '--user', 'hr@example.com')
      assert.deepEqual([denied.code, denied.stdout], [1, ''])
      assert.match(denied.stderr, /unknown doctype "Opportunity"/)
    },
  )

  it(
    'goes on where it was killed: nothing twice, nothing missing, every fault once',
    { timeout },
    async (t) => {
      const where = folders(t)
      const file = join(temporaryFolder(t), 'many.csv')
      writeFileSync(file, customers(1600))
      const args = [
        'documents',
        'import',
        'Customer',
        file,
        '--write',
        '--json',
        '--site',
        where.site,
        '--state',
        where.state,
      ]
      const child = spawn(launcher, args, { stdio: 'ignore' })
      const ended = once(child, 'exit')
      while (eventsIn(where.state, 'document.import') < 2 && child.exitCode === null) await setTimeout(5)
      child.kill('SIGKILL')
      const [, signal] = (await ended) as [number | null, string | null]
      assert.equal(signal, 'SIGKILL', 'it was killed before it was done')
      const { code, stdout, stderr } = await runCli(args)
      assert.equal(code, 1, stderr)
      const report = JSON.parse(stdout) as ImportReport
      assert.ok(report.resumed_at > 0)
      assert.deepEqual([report.created, report.faulty], [1596, 4])
      const lines = readFileSync(report.faults_file!, 'utf8').trim().split('\n').slice(1)
      assert.deepEqual(
        lines.map((line) => Number(line.split(',')[0])),
        Array.from({ length: 4 }, (_, n) => 401 + n * 400),
      )
      const { stdout: out } = await runCli([
        'documents',
        'export',
        'Customer',
        '--user',
        'admin@example.com',
        '--filters',
        '{"customer_name": ["like", "Import %"]}',
        '--fields',
        'name',
        '--site',
        where.site,
        '--state',
        where.state,
      ])
      const names = out.trim().split('\r\n').slice(1)
      assert.deepEqual([names.length, new Set(names).size], [1596, 1596])
    },
  )

  it('draws how far it is, how fast, and how long it still takes', () => {
    assert.equal(
      barText('import', { done: 5000, all: 20_000, since: 1000 }, 2000),
      'import [#####---------------] 25 %, 5000 of 20000, 2000 a second, 8 s left',
    )
    assert.match(barText('import', { done: 1, all: 1000, since: 0 }, 1000), /1 a second, 17 min left$/)
  })
})
