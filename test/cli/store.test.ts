/** Backup, restore and verification as the operator meets them. */
import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { smallDisk } from '../../packages/state/test/state-folder.ts'
import { runCli, temporaryFolder } from '../helpers/daemon.ts'
import { shapeOf } from './golden.ts'
import { runService } from './running-service.ts'

const timeout = 300_000

describe('backup and restore', () => {
  it('take the audit log along when asked to, and it goes on as one chain', { timeout }, async (t) => {
    const service = await runService(t)
    await operate(service.options, 'api_keys.create', { user: 'sales@example.com' })
    const folder = temporaryFolder(t)
    const [file, log] = [join(folder, 'one.backup'), join(folder, 'audit')]
    const cli = (...args: string[]): ReturnType<typeof runCli> => runCli([...args, '--site', service.site])
    const made = await cli('backup', file, '--audit', log, '--state', service.state, '--json')
    assert.equal(made.code, 0, made.stderr)
    const { audit } = JSON.parse(made.stdout) as { audit: { lines: number; ok: boolean } }
    assert.ok(audit.ok && audit.lines > 0)

    const other = join(folder, 'other')
    const none = await cli('restore', file, '--audit', join(folder, 'nowhere'), '--state', other)
    assert.deepEqual([none.code, /no copy of an audit log/.test(none.stderr)], [1, true], none.stderr)
    assert.ok(!existsSync(other), 'nothing is restored without the log that was asked for')

    const restored = await cli('restore', file, '--audit', log, '--state', other)
    assert.equal(restored.code, 0, restored.stderr)
    const verified = await cli('audit', 'verify', '--state', other, '--json')
    assert.equal(verified.code, 0, verified.stdout + verified.stderr)
    const found = await cli('audit', 'search', '--type', 'cli.run', '--state', other)
    assert.match(found.stdout, /api_keys\.create/)

    const [name] = readdirSync(log).filter((one) => one.startsWith('audit-'))
    const path = join(log, name!)
    writeFileSync(path, readFileSync(path, 'utf8').replace('api_keys', 'API_keys'))
    const third = join(folder, 'third')
    const damaged = await cli('restore', file, '--audit', log, '--state', third)
    assert.deepEqual([damaged.code, /copy of the audit log is damaged/.test(damaged.stderr)], [1, true])
    assert.ok(!existsSync(third), 'a damaged log changes nothing')
  })

  it(
    'are no tampering: the new log tells where the old one had ended, with and without it',
    { timeout },
    async (t) => {
      const service = await runService(t)
      await operate(service.options, 'api_keys.create', { user: 'sales@example.com' })
      const folder = temporaryFolder(t)
      const [file, log] = [join(folder, 'one.backup'), join(folder, 'audit')]
      const cli = (...args: string[]): ReturnType<typeof runCli> => runCli([...args, '--site', service.site])
      // The log that is brought may be older than the state, and then lacks what came between.
      await service.daemon.services.audit.changeKey()
      assert.equal(
        (await cli('backup', join(folder, 'first.backup'), '--audit', log, '--state', service.state)).code,
        0,
      )
      await operate(service.options, 'api_keys.create', { user: 'sales@example.com' })
      await service.daemon.services.audit.changeKey()
      assert.equal((await cli('backup', file, '--state', service.state)).code, 0)
      for (const [name, brought, begins] of [
        ['without', [], 'this log begins at'],
        ['with', ['--audit', log], 'this log goes on from'],
      ] as const) {
        const state = join(folder, name)
        const restored = await cli('restore', file, ...brought, '--state', state)
        assert.equal(restored.code, 0, restored.stderr)
        const options = { ...service.options, state }
        for (const time of ['at once', 'after another start']) {
          const { ok, faults, notes } = await operate(options, 'audit.verify', {})
          assert.ok(ok, `${name}, ${time}: ${faults.join()}`)
          assert.match(
            notes.join('\n'),
            new RegExp(`${begins} the restore, .* of the backup one\\.backup of .*to line \\d+ \\(log, key `),
          )
          await operate(options, 'api_keys.create', { user: 'sales@example.com' })
        }
        const verified = await cli('audit', 'verify', '--state', state)
        assert.equal(verified.code, 0, verified.stdout)
        assert.match(verified.stdout, /note: .*the restore/)
      }
    },
  )

  it('take the state of a running daemon to another folder, whole', { timeout }, async (t) => {
    const service = await runService(t)
    const { api_key: key } = await operate(service.options, 'api_keys.create', {
      user: 'sales@example.com',
    })
    const folder = temporaryFolder(t)
    const file = join(folder, 'one.backup')
    const cli = (...args: string[]): ReturnType<typeof runCli> => runCli([...args, '--site', service.site])

    const made = await cli('backup', file, '--state', service.state, '--json')
    assert.equal(made.code, 0, made.stderr)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(Object.keys(shapeOf(JSON.parse(made.stdout)) as object), [
      'file',
      'ok',
      'schema',
      'time',
      'documents',
      'last',
      'bytes',
      'faults',
      'notes',
      'audit',
    ])
    const again = await cli('backup', file, '--state', service.state)
    assert.deepEqual([again.code, /exists already/.test(again.stderr)], [1, true])

    const inUse = await cli('restore', file, '--state', service.state, '--move-aside')
    assert.deepEqual([inUse.code, /in use by process/.test(inUse.stderr)], [1, true], inUse.stderr)

    const other = join(folder, 'other')
    // What the operator laid there is no state, and stays.
    const secret = join(other, 'secrets/database-url')
    mkdirSync(join(other, 'secrets'), { recursive: true, mode: 0o700 })
    writeFileSync(secret, 'postgresql://')
    assert.equal((await cli('restore', file, '--state', other)).code, 0)
    const keys = await operate({ ...service.options, state: other }, 'api_keys.list', {})
    assert.deepEqual(
      keys.map(({ api_key }) => api_key),
      [key],
    )

    const before = readdirSync(other).sort()
    const full = await cli('restore', file, '--state', other)
    assert.deepEqual(
      [full.code, /--move-aside/.test(full.stderr), readdirSync(other).sort()],
      [1, true, before],
    )

    const damaged = join(folder, 'damaged.backup')
    const bytes = readFileSync(file)
    bytes[Math.floor(bytes.length / 2)]! ^= 1
    writeFileSync(damaged, bytes)
    const refused = await cli('restore', damaged, '--state', other, '--move-aside')
    assert.deepEqual(
      [refused.code, readdirSync(other).sort()],
      [1, before],
      'a damaged backup changes nothing',
    )
    const checked = await cli('store', 'verify', '--file', damaged, '--json')
    assert.deepEqual([checked.code, (JSON.parse(checked.stdout) as { ok: boolean }).ok], [1, false])

    const newer = join(folder, 'newer.backup')
    writeFileSync(newer, readFileSync(file, 'utf8').replace(/"format":\d+/, '"format":999'))
    const future = await cli('restore', newer, '--state', join(folder, 'future'))
    assert.equal(future.code, 1)
    assert.ok(!existsSync(join(folder, 'future')), 'a newer backup makes nothing')

    const moved = await cli('restore', file, '--state', other, '--move-aside', '--json')
    assert.equal(moved.code, 0, moved.stderr)
    const { moved_to: movedTo } = JSON.parse(moved.stdout) as { moved_to: string }
    assert.deepEqual(
      readdirSync(movedTo)
        .filter((name) => name !== 'lock')
        .sort(),
      before.filter((name) => name !== 'lock' && name !== 'secrets'),
    )
    assert.equal(readFileSync(secret, 'utf8'), 'postgresql://')
  })

  it('that find no room say so in words', { timeout }, async (t) => {
    const service = await runService(t)
    const disk = await smallDisk(t, 100_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const told = 'assistant-core: error: there is no room left for what is written\n'
    const place = ['--state', service.state, '--site', service.site]
    const made = await runCli(['backup', join(disk.folder, 'one.backup'), ...place])
    assert.deepEqual([made.code, made.stderr, readdirSync(disk.folder)], [1, told, []])
    const [whole, state] = [join(temporaryFolder(t), 'whole.backup'), join(disk.folder, 'state')]
    assert.equal((await runCli(['backup', whole, ...place])).code, 0)
    mkdirSync(state)
    writeFileSync(join(state, 'snapshot.jsonl'), 'old')
    const restored = await runCli([
      'restore',
      whole,
      '--move-aside',
      '--state',
      state,
      '--site',
      service.site,
    ])
    assert.equal(restored.code, 1)
    const movedTo = /"moved_to":"([^"]+)"/.exec(restored.stderr)![1]!
    assert.equal(readFileSync(join(movedTo, 'snapshot.jsonl'), 'utf8'), 'old')
    assert.ok(restored.stderr.endsWith(told), restored.stderr)
  })

  it(
    'may lie, with its log, in the state that is moved aside: both are found there',
    { timeout },
    async (t) => {
      const service = await runService(t)
      const key = await operate(service.options, 'api_keys.create', { user: 'sales@example.com' })
      const folder = temporaryFolder(t)
      const state = join(folder, 'state')
      const cli = (...args: string[]): ReturnType<typeof runCli> => runCli([...args, '--site', service.site])
      const [made, log] = [join(folder, 'made.backup'), join(folder, 'audit')]
      assert.equal((await cli('backup', made, '--audit', log, '--state', service.state)).code, 0)
      assert.equal((await cli('restore', made, '--audit', log, '--state', state)).code, 0)
      const inside = join(state, 'before-schema-1.backup')
      copyFileSync(made, inside)
      const restored = await cli(
        'restore',
        inside,
        '--audit',
        join(state, 'audit'),
        '--state',
        state,
        '--move-aside',
      )
      assert.equal(restored.code, 0, restored.stderr)
      const options = { ...service.options, state }
      assert.equal((await operate(options, 'api_keys.list', {}))[0]?.api_key, key.api_key)
      const { ok, faults, lines } = await operate(options, 'audit.verify', {})
      assert.deepEqual([ok, faults], [true, []])
      assert.ok(lines > 2, 'the log goes on')
    },
  )
})
