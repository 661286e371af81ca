/** The units as systemd itself judges them, and how they come onto a machine and leave it. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createProgram } from '../../src/cli/main.ts'
import { folders } from '../cli/running-service.ts'
import { launcher, projectRoot, runCli, temporaryFolder } from '../helpers/daemon.ts'
import { blocksOf, commandsOf } from '../helpers/readme.ts'
import { manualSteps } from './manual.ts'
import { freePort } from '../helpers/free-port.ts'

const units = join(projectRoot, 'systemd')
const analyze = spawnSync('systemd-analyze', ['--version']).error ? 'systemd-analyze is not installed' : false
const activate = spawnSync('systemd-socket-activate', ['--version']).error
  ? 'systemd-socket-activate is not installed'
  : false
const caddy = spawnSync('caddy', ['version']).error ? 'caddy is not installed' : false

describe('the systemd units', () => {
  it('are accepted by systemd-analyze verify', { skip: analyze }, (t) => {
    const folder = temporaryFolder(t)
    const names = readdirSync(units).filter((name) => /\.(service|socket|timer)$/.test(name))
    assert.equal(names.length, 4)
    for (const name of names) {
      const text = readFileSync(join(units, name), 'utf8').replaceAll('/usr/bin/assistant-core', '/bin/true')
      writeFileSync(join(folder, name), text)
    }
    const checked = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', ...names.map((name) => join(folder, name))],
      {
        encoding: 'utf8',
      },
    )
    const own = checked.stderr.split('\n').filter((line) => line.includes('assistant-core'))
    assert.deepEqual([own, checked.status], [[], 0])
  })

  it('keep the exposure that the manual claims', { skip: analyze }, () => {
    for (const [name, most] of [
      ['assistant-core.service', 3],
      ['assistant-core-backup.service', 1],
    ] as const) {
      const checked = spawnSync('systemd-analyze', ['security', '--offline=true', join(units, name)], {
        encoding: 'utf8',
      })
      const score = Number(/exposure level for \S+: ([\d.]+)/.exec(checked.stdout)?.[1])
      assert.ok(score <= most, `${name}: ${score}`)
    }
  })

  it('let Node guard its code with protection keys, and refuse a system call instead of killing for it', () => {
    for (const name of ['assistant-core.service', 'assistant-core-backup.service']) {
      const text = readFileSync(join(units, name), 'utf8')
      assert.match(text, /^SystemCallFilter=(.* )?@pkey$/m, name)
      assert.match(text, /^SystemCallErrorNumber=EPERM$/m, name)
    }
  })

  it('leave bubblewrap what it does: name its host, and end its namespaces under /proc/sys', () => {
    const text = readFileSync(join(units, 'assistant-core.service'), 'utf8')
    assert.match(text, /^SystemCallFilter=.* sethostname$/m)
    assert.doesNotMatch(text, /^(ProtectHostname|ProtectKernelTunables)=/m)
  })

  it('name only commands and settings that exist', () => {
    const commands = new Set(createProgram().every.map(({ path }) => path.join(' ')))
    for (const name of readdirSync(units).filter((one) => one.endsWith('.service'))) {
      const text = readFileSync(join(units, name), 'utf8')
      for (const [, command] of text.matchAll(/\/usr\/bin\/assistant-core (\w+)/g))
        assert.ok(commands.has(command!), `${name}: ${command}`)
    }
  })
})

describe('the manuals', () => {
  it('name only commands, options and files that exist', () => {
    const program = createProgram()
    const commands = new Map(program.every.map((command) => [command.path.join(' '), command]))
    for (const [name, least] of [
      ['README.md', 10],
      ['systemd/README.md', 10],
      ['docs/several-daemons.md', 2],
    ] as const) {
      const path = join(projectRoot, name)
      const text = readFileSync(path, 'utf8')
      const lines = [...text.matchAll(/(?:^|`|; )assistant-core(?:ctl)? ([^`;\n]+)/gm)].map((match) =>
        match[1]!.replace(/\s+#.*/, '').split(' '),
      )
      assert.ok(lines.length >= least, name)
      for (const words of lines.filter(([first]) => first !== 'help')) {
        const node = commands.get(words.slice(0, 2).join(' ')) ?? commands.get(words[0]!)
        assert.ok(node, words.join(' '))
        const known = new Set(
          [...node.options, ...program.options].flatMap(({ long, short }) => [long, short]),
        )
        for (const word of words.filter((one) => one.startsWith('-')))
          assert.ok(known.has(word), words.join(' '))
      }
      for (const [, file] of text.matchAll(/\]\(([^)#]+)\)/g))
        assert.ok(existsSync(join(dirname(path), file!)), file)
    }
  })

  it('have no command that the walk over a Debian server does not take', () => {
    const steps = manualSteps().flatMap((step) => (step.kind === 'command' ? [step.line] : []))
    const text = readFileSync(join(units, 'README.md'), 'utf8')
    const blocks = blocksOf(text).filter(({ language }) => language !== 'yaml')
    for (const line of blocks.flatMap(commandsOf)) assert.ok(steps.includes(line), line)
    assert.ok(steps.length >= 30, steps.join('\n'))
  })
})

describe('assistant-corectl', () => {
  it('works on the site and the state of the units, as their user', () => {
    const script = readFileSync(join(units, 'assistant-corectl'), 'utf8')
    const service = readFileSync(join(units, 'assistant-core.service'), 'utf8')
    for (const [, setting] of service.matchAll(/^Environment=(ASSISTANT_CORE_\S+)$/gm))
      assert.match(script, new RegExp(`^${setting}$`, 'm'))
    assert.match(service, /^User=assistant-core$/m)
    assert.match(script, / --reuid=assistant-core --regid=assistant-core /)
  })
})

describe('the Caddyfile', () => {
  it('is accepted by Caddy', { skip: caddy }, (t) => {
    const env = { ...process.env, HOME: temporaryFolder(t) }
    const args = ['validate', '--adapter', 'caddyfile', '--config', join(units, 'Caddyfile')]
    const checked = spawnSync('caddy', args, { encoding: 'utf8', env })
    assert.equal(checked.status, 0, checked.stderr)
  })
})

describe('install --systemd', () => {
  it('makes what the service may read, whatever umask root has', async (t) => {
    const root = join(temporaryFolder(t), 'root')
    const before = process.umask(0o077)
    t.after(() => process.umask(before))
    assert.equal((await runCli(['install', '--systemd', '--root', root])).code, 0)
    const mode = (path: string): number => statSync(join(root, path)).mode & 0o777
    for (const folder of [
      'etc',
      'etc/assistant-core',
      'etc/assistant-core/config',
      'etc/assistant-core/prompts',
    ])
      assert.equal(mode(folder), 0o755, folder)
    for (const file of ['etc/assistant-core/config/users.yaml', 'etc/systemd/system/assistant-core.service'])
      assert.equal(mode(file), 0o644, file)
    assert.equal(mode('usr/local/sbin/assistant-corectl'), 0o755)
  })

  it('makes the unit of one of several daemons, which differs from that of the only one in its port and its state alone', async (t) => {
    const root = join(temporaryFolder(t), 'root')
    assert.equal((await runCli(['install', '--systemd', '--root', root])).code, 0)
    const lines = (name: string): string[] =>
      readFileSync(join(root, 'etc/systemd/system', name), 'utf8').split('\n')
    const one = new Set(lines('assistant-core.service'))
    const several = lines('assistant-core@.service').filter((line) => !one.has(line) && !line.startsWith('#'))
    assert.deepEqual(several, [
      'Description=assistant-core on port %i: MCP server and OAuth 2.0 authorization server',
      'Environment=ASSISTANT_CORE_STATE=/var/lib/assistant-core-%i',
      'StateDirectory=assistant-core-%i',
      `ExecStart=${launcher} serve --port %i`,
    ])
    if (analyze) return
    const unit = join(root, 'etc/systemd/system/assistant-core@.service')
    const checked = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
    assert.deepEqual(
      [checked.stderr.split('\n').filter((line) => line.includes('core@')), checked.status],
      [[], 0],
    )
  })

  it('begins with an empty site, or as the template that is named', async (t) => {
    const install = async (...flags: string[]): Promise<string[]> => {
      const root = join(temporaryFolder(t), 'root')
      assert.equal((await runCli(['install', '--systemd', '--root', root, ...flags])).code, 0)
      return readdirSync(join(root, 'etc/assistant-core/config'))
    }
    assert.deepEqual(
      (await install()).filter((name) => ['doctypes', 'seeds', 'reports'].includes(name)),
      [],
    )
    assert.ok((await install('--template', 'trading')).includes('seeds'))
  })

  it('says what it replaces, and after an upgrade what an upgrade needs', async (t) => {
    const root = join(temporaryFolder(t), 'root')
    assert.equal((await runCli(['install', '--systemd', '--root', root])).code, 0)
    appendFileSync(join(root, 'etc/systemd/system/assistant-core.service'), '# of another version\n')
    const planned = await runCli(['install', '--systemd', '--root', root, '--dry-run'])
    assert.match(planned.stdout, /^write .*assistant-core\.service +\(replaces another version\)$/m)
    const done = await runCli(['install', '--systemd', '--root', root])
    assert.match(done.stderr, /systemctl restart assistant-core\.service/)
    assert.doesNotMatch(done.stderr, /set the public address/)
  })

  it('says what it will do, does it, keeps what is yours, and uninstall reverses it', async (t) => {
    const root = join(temporaryFolder(t), 'root')
    const paths = (): string[] =>
      existsSync(root)
        ? readdirSync(root, { recursive: true, withFileTypes: true })
            .filter((entry) => entry.isFile())
            .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
            .sort()
        : []
    const planned = await runCli(['install', '--systemd', '--root', root, '--dry-run', '--json'])
    assert.equal(planned.code, 0, planned.stderr)
    assert.deepEqual(paths(), [])
    const { steps } = JSON.parse(planned.stdout) as { steps: { action: string; what: string }[] }
    const written = steps
      .filter(({ action }) => action === 'write')
      .map(({ what }) => what.slice(root.length))

    assert.equal((await runCli(['install', '--systemd', '--root', root])).code, 0)
    const own = paths().filter((path) => !path.startsWith('/etc/assistant-core/'))
    assert.deepEqual(own, written.filter((path) => path !== '/etc/assistant-core').sort())
    assert.ok(existsSync(join(root, 'etc/assistant-core/config/settings.yaml')))
    const service = readFileSync(join(root, 'etc/systemd/system/assistant-core.service'), 'utf8')
    assert.ok(
      service.includes(`ExecStart=${launcher} serve`),
      'the unit starts the program that installed it',
    )

    const again = await runCli(['install', '--systemd', '--root', root, '--dry-run', '--json'])
    assert.doesNotMatch(again.stdout, /"write"/)

    appendFileSync(join(root, 'etc/systemd/system/assistant-core.service'), '# mine\n')
    const removal = ['uninstall', '--systemd', '--root', root, '--dry-run', '--json']
    const disabling = /systemctl disable assistant-core@\.service/
    assert.match((await runCli(removal)).stdout, disabling)
    assert.equal((await runCli(['uninstall', '--systemd', '--root', root])).code, 0)
    assert.deepEqual(
      paths().filter((path) => !path.startsWith('/etc/assistant-core/')),
      ['/etc/systemd/system/assistant-core.service'],
    )
    assert.ok(existsSync(join(root, 'etc/assistant-core/config/settings.yaml')))
    // Disabling a unit that is not there failed, as after a release that wrote none, and the rest stayed.
    assert.doesNotMatch((await runCli(removal)).stdout, disabling)
  })
})

describe('the socket unit', () => {
  it('hands its port to the service', { skip: activate }, async (t) => {
    const { site, state } = folders(t)
    const port = await freePort()
    mkdirSync(state, { recursive: true, mode: 0o700 })
    const args = [
      '-l',
      `127.0.0.1:${port}`,
      `-E`,
      `PATH=${process.env['PATH']}`,
      launcher,
      'serve',
      '--site',
      site,
      '--state',
      state,
    ]
    const child = spawn('systemd-socket-activate', args, { stdio: 'ignore' })
    t.after(() => child.kill('SIGKILL'))
    const deadline = Date.now() + 60_000
    let status = 0
    while (status !== 200 && Date.now() < deadline) {
      // The first connection starts the service and waits in the socket until it accepts.
      status = await fetch(`http://127.0.0.1:${port}/healthz`).then(
        (response) => response.status,
        () => 0,
      )
      if (status !== 200) await delay(100)
    }
    assert.equal(status, 200)
    child.kill('SIGTERM')
    await new Promise((ended) => child.once('close', ended))
  })
})
