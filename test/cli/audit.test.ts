/** The audit log as the operator meets it. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { runCli } from '../helpers/daemon.ts'
import { folders, runService } from './running-service.ts'

const timeout = 300_000

describe('the audit log of a service', () => {
  it(
    'is missed everywhere when its folder was deleted, until somebody answers for it',
    { timeout },
    async (t) => {
      const where = folders(t)
      const before = await runService(t, where)
      await operate(where.options, 'api_keys.create', { user: 'sales@example.com' })
      await before.daemon.stop()
      rmSync(join(where.state, 'audit'), { recursive: true })

      const cli = (...args: string[]): ReturnType<typeof runCli> =>
        runCli([...args, '--site', where.site, '--state', where.state])
      const offline = await cli('audit', 'verify')
      assert.equal(offline.code, 1)
      assert.match(offline.stdout, /NOT WHOLE/)

      const service = await runService(t, where)
      const ready = await fetch(`${service.url}/readyz`).then(
        (answer) => answer.json() as Promise<{ status: string; checks: { name: string; status: string }[] }>,
      )
      assert.equal(ready.status, 'not_ready')
      assert.equal(ready.checks.find(({ name }) => name === 'audit')?.status, 'failed')
      const health = await fetch(`${service.url}/healthz`).then((answer) => answer.text())
      assert.match(health, /what had been written to the log is missing/)
      const doctor = await cli('doctor', '--json')
      assert.match(doctor.stdout, /what had been written to the log is missing/)
      const status = await cli('status')
      assert.match(status.stdout, /audit loss.*line \d+ had been written/s)
      const running = await operate(where.options, 'audit.verify', {})
      assert.equal(running.ok, false)

      const accepted = await cli('audit', 'accept-loss', '--reason', 'the disk was replaced')
      assert.equal(accepted.code, 0, accepted.stderr)
      assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
      assert.match((await cli('audit', 'accept-loss', '--reason', 'again')).stdout, /nothing is missing/)
      assert.equal((await cli('audit', 'change-key')).code, 0)
      const after = await cli('audit', 'verify')
      assert.equal(after.code, 0, after.stdout)
      assert.match(after.stdout, /^whole.*note: .*the disk was replaced/s)
    },
  )

  it(
    'tells the life of a document, with fields and names of clients, in lines of 80 columns',
    { timeout },
    async (t) => {
      const where = folders(t)
      const { daemon } = await runService(t, where)
      const { audit } = daemon.services
      const { client_id: client } = await operate(where.options, 'clients.register', {
        name: 'Front desk',
        redirect_uris: ['https://desk.example.com/callback'],
        auth_method: 'client_secret_basic',
      })
      const target = 'Patient/PAT-00001'
      await audit.record({
        type: 'document.update',
        status: 'ok',
        user: 'ann@example.com',
        client: String(client),
        target,
        changes: [{ field: 'phone', from: '1', to: '2' }],
      })
      await audit.record({
        type: 'tool.call',
        status: 'ok',
        user: 'dr.lee@smile.example',
        target: 'list_documents',
        documents: [{ doctype: 'Patient', names: ['PAT-00001'], count: 7 }],
      })
      const cli = (...args: string[]): ReturnType<typeof runCli> =>
        runCli([...args, '--site', where.site, '--state', where.state])
      const life = await cli('audit', 'document', target, '--since', 'yesterday')
      const lines = life.stdout.trimEnd().split('\n')
      assert.match(lines[0]!, /ann@example\.com document\.update Patient\/PAT-00001/)
      assert.match(lines[1]!, /^ {2}phone: 1 → 2$/)
      assert.match(lines[2]!, /dr\.lee@smile\.example tool\.call list_documents$/)
      assert.equal(lines.length, 3)
      assert.ok(lines.every((line) => line.length <= 80))
      const seq = /#(\d+)/.exec(lines[0]!)![1]!
      assert.match((await cli('audit', 'show', seq)).stdout, /^client +\S+ \(Front desk\)$/m)
      assert.equal(
        (JSON.parse((await cli('audit', 'show', seq, '--json')).stdout) as { seq: number }).seq,
        Number(seq),
      )
      assert.equal((await cli('audit', 'show', '999999')).code, 1)
      const csv = await cli('audit', 'export', '--format', 'csv', '--document', target)
      assert.equal(csv.stdout.trimEnd().split('\r\n').length, 3)
      assert.equal((await cli('audit', 'search', '--document', 'Patient')).code, 1)
    },
  )

  it('is checked against what a forwarder sent away', { timeout }, async (t) => {
    const where = folders(t)
    await runService(t, where)
    const cli = (...args: string[]): ReturnType<typeof runCli> =>
      runCli([...args, '--site', where.site, '--state', where.state])
    await operate(where.options, 'audit.change_key', {})
    const head = join(where.state, 'audit/head.json')
    assert.equal((await cli('audit', 'verify', '--anchor', head)).code, 0)
    const none = await cli('audit', 'verify', '--anchor', join(where.site, 'config/settings.yaml'))
    assert.deepEqual([none.code, /neither a checkpoint/.test(none.stderr)], [1, true], none.stderr)
  })

  it(
    'says from where it was verified, and reads all of it where that is asked for',
    { timeout },
    async (t) => {
      const where = folders(t)
      await runService(t, where)
      const cli = (...args: string[]): ReturnType<typeof runCli> =>
        runCli(['audit', 'verify', ...args, '--site', where.site, '--state', where.state])
      await operate(where.options, 'audit.change_key', {})
      const whole = await cli()
      assert.doesNotMatch(whole.stdout, /read now/)
      const on = await cli()
      assert.match(
        on.stdout,
        /^whole: .*\n\d+ of them were read now, all of them last at \d{4}-.*--from-start reads all\n/,
      )
      const { from, first } = await operate(where.options, 'audit.verify', {})
      assert.ok(from > first)
      const all = await cli('--from-start')
      assert.deepEqual([all.code, all.stdout.includes('read now')], [0, false])
    },
  )
})
