/** Where an operator stumbled who had read nothing but the README. */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import { createProgram } from '../../src/cli/main.ts'
import type { Finding } from '../../src/control/doctor/finding.ts'
import { initSite } from '../../src/house/new-site.ts'
import { withHelpOption } from '#commands/program.ts'
import { columns, table } from '#commands/terminal.ts'
import { systemClock } from '#leaf/clock.ts'
import { lockState } from '#state/lock.ts'
import { freePort } from '../helpers/free-port.ts'
import {
  atEnd,
  copyOfShippedSite,
  launcher,
  projectRoot,
  runCli,
  temporaryFolder,
} from '../helpers/daemon.ts'
import { folders, runService } from './running-service.ts'

const program = ['node', 'assistant-core']
const notRoot = process.getuid?.() === 0 ? false : 'only root may act as another user'

describe('a command', () => {
  it('of two words has its own help under `help`, not that of the first word', () => {
    const of = (...words: string[]): string[] =>
      withHelpOption([...program, ...words], createProgram()).slice(2)
    assert.deepEqual(of('help', 'tokens', 'issue'), ['tokens', 'issue', '--help'])
    assert.deepEqual(of('help', 'serve'), ['serve', '--help'])
    assert.deepEqual(of('help'), ['help'])
    assert.deepEqual(of('tokens', 'help', 'issue'), ['tokens', 'help', 'issue'])
  })

  it('that does not exist is named when help is asked for it, and the code is 2', async () => {
    const { code, stderr } = await runCli(['help', 'tokens', 'isue'])
    assert.equal(code, 2)
    assert.match(stderr, /unknown command 'isue'[^]*Did you mean issue\?/)
  })

  it('lets nothing through to a terminal that moves the cursor or hides, a mark of direction or a soft hyphen neither', () => {
    const rows = [{ name: 'a\u001b[2J\u061cb\u00adc' }]
    assert.equal(table(rows, columns('name')), 'NAME\na␛[2J⟨U+061C⟩b⟨U+00AD⟩c')
  })

  it('shows nothing of what a branch brings or an error quotes as anything but itself', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    initSite(site)
    for (const words of ['init --quiet', 'add --all', 'commit --quiet --message=site'])
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words.split(' ')], { cwd: site })
    writeFileSync(
      join(site, 'prompts/hello.md'),
      '---\ntitle: Hello\nvisibility: Public\n---\nDo harm.\u001b[2K\rDo good.\u202e\tEnd\n',
    )
    const { code, stdout, stderr } = await runCli(['prompts', 'diff', 'HEAD', '--site', site])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /\n\+Do harm\.␛\[2K␍Do good\.⟨U\+202E⟩\tEnd$/m)
    const failed = await runCli(['prompts', 'diff', 'no\u001b[2J', '--site', site])
    assert.equal(failed.code, 1)
    assert.match(failed.stderr, /no␛\[2J/)
    assert.doesNotMatch(failed.stderr, /\u001b/)
  })

  it('with an empty result says so in words that are words', () => {
    assert.equal(table([], [['user', () => '']]), 'no users')
    assert.equal(table([], columns('attempt: started')), 'no attempts')
  })

  it('says which of its words is not the number that it must be', async () => {
    for (const words of [
      ['audit', 'show', 'last'],
      ['prompts', 'restore', 'visit', 'first'],
    ]) {
      const { code, stderr } = await runCli(words)
      assert.equal(code, 2)
      assert.match(stderr, new RegExp(`argument value '${words.at(-1)}' is invalid.*must be a whole number`))
    }
  })

  it('that may not reach a path names the path and no line of the program', async (t) => {
    const folder = temporaryFolder(t)
    const state = join(folder, 'file')
    writeFileSync(state, 'no folder')
    const { code, stderr } = await runCli([
      'tokens',
      'list',
      '--site',
      copyOfShippedSite(t),
      '--state',
      state,
    ])
    assert.deepEqual([code, stderr], [1, `assistant-core: error: ${state} is not a folder\n`])
  })
})

describe('`check` and `reload`', () => {
  it('print every fault, the cause first and what follows from it counted, and keep the last good site', async (t) => {
    const where = folders(t)
    const { daemon } = await runService(t, where)
    const { site, state } = where
    const before = daemon.services.site.current()
    const change = (file: string, from: string | RegExp, to: string): void => {
      const text = readFileSync(join(site, file), 'utf8')
      assert.ok(text.search(from) >= 0, file)
      writeFileSync(join(site, file), text.replace(from, to))
    }
    mkdirSync(join(site, 'tools'), { recursive: true })
    writeFileSync(join(site, 'tools/double.ts'), 'export function tools(\n')
    change('config/tools.yaml', '    tools:\n', '    tools:\n      - double\n')
    change('config/settings.yaml', 'drain_seconds: 0', 'drain_seconds: soon')
    change('config/users.yaml', '- Sales User', '- Sails User')
    const lines = [
      /^  tools\/double\.ts:2:1 cannot be run: .* \(1 fault elsewhere follows from it\)$/,
      /^  config\/settings\.yaml:\d+:\d+ server\.drain_seconds: /,
      /^  config\/users\.yaml:\d+:\d+ .*unknown role "Sails User"/,
    ]
    for (const [command, begin] of [
      ['check', `assistant-core: error: the site ${site} has 3 faults:`],
      ['reload', `assistant-core: error: the site ${site} has 3 faults; the last good one stays in use:`],
    ] as const) {
      const { code, stderr } = await runCli([command, '--site', site, '--state', state])
      const [first, ...told] = stderr.trimEnd().split('\n')
      assert.deepEqual([code, first, told.length], [78, begin, lines.length], stderr)
      for (const [at, line] of lines.entries()) assert.match(told[at]!, line)
    }
    assert.equal(daemon.services.site.current(), before)
  })
})

describe('a command beside a daemon that is only starting', () => {
  it('waits for it, and does not call the state taken', async (t) => {
    const { options, state } = folders(t)
    await operate(options, 'users.list', {})
    // What a daemon does first, a good while before it listens.
    const lock = await lockState(state, systemClock)
    let released = false
    const release = (): void => {
      released = true
      lock.release()
    }
    setTimeout(release, 600)
    const users = await operate(options, 'users.list', {})
    assert.ok(released)
    assert.ok(users.length > 0)
  })
})

describe('`tokens revoke`', () => {
  it('does not take a mistyped address for success', async (t) => {
    const site = copyOfShippedSite(t)
    const run = (...args: string[]) => runCli(['tokens', 'revoke', '--site', site, ...args])
    const mistyped = await run('--user', 'sale@example.com')
    assert.deepEqual(
      [mistyped.code, mistyped.stderr],
      [1, 'assistant-core: error: no user sale@example.com\n'],
    )
    const known = await run('--user', 'Sales@example.com')
    assert.deepEqual([known.code, known.stdout], [0, '0 revoked\n'])
  })

  it('of an empty name ends nothing', async (t) => {
    const { options, site, state } = folders(t)
    await operate(options, 'tokens.issue', { user: 'sales@example.com' })
    const run = (...args: string[]) => runCli(['tokens', 'revoke', '--site', site, '--state', state, ...args])
    for (const flag of ['--user', '--client', '--token']) {
      const { code, stdout } = await run(flag, '')
      assert.ok(code === 1 || stdout === '0 revoked\n', flag)
    }
    const tokens = await operate(options, 'tokens.list', {})
    assert.deepEqual(
      tokens.map(({ status }) => status),
      ['Active'],
    )
    const audited: unknown[] = []
    for await (const event of stream(options, 'audit.search', { type: 'token.revoke' })) audited.push(event)
    assert.deepEqual(audited, [])
  })

  it('without saying whose is wrong usage', async (t) => {
    const { code, stderr } = await runCli(['tokens', 'revoke', '--site', copyOfShippedSite(t)])
    assert.deepEqual([code, stderr], [2, 'error: say which: --user, --client, --token or --all\n'])
  })
})

describe('a mistyped state', () => {
  it('is not made, backed up and called whole', async (t) => {
    const folder = temporaryFolder(t)
    const [state, file] = [join(folder, 'stat'), join(folder, 'one.backup')]
    const where = ['--site', projectRoot, '--state', state]
    for (const words of ['backup ' + file, 'audit verify', 'audit tail', 'store verify', 'tokens list']) {
      const { code, stdout, stderr } = await runCli([...words.split(' '), ...where])
      const told = `assistant-core: error: there is no state in ${state}; --state names its folder\n`
      assert.deepEqual([code, stdout, stderr], [1, '', told], words)
    }
    assert.deepEqual([existsSync(state), existsSync(file)], [false, false])
  })
})

describe('settings that do not parse', () => {
  it('stop every command before it takes the state of the defaults for that of the site', async (t) => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/settings.yaml')
    const text = readFileSync(settings, 'utf8').replace('kind: embedded', 'kind: postgres')
    writeFileSync(settings, text.replace('url_file: null', 'url_file: database-url') + 'store: {}\n')
    const file = join(temporaryFolder(t), 'one.backup')
    const asked = ['users passwd sales@example.com --password-stdin', 'api-keys list', 'serve --port 0']
    for (const words of [...asked, `backup ${file}`, 'store verify']) {
      const { code, stdout, stderr } = await runCli([...words.split(' '), '--site', site], {
        input: 'a long pass phrase',
      })
      assert.deepEqual([code, stdout], [78, ''], words)
      assert.match(stderr, /config\/settings\.yaml:\d+:1 "store" is given twice/)
    }
    assert.deepEqual([existsSync(join(site, 'var')), existsSync(file)], [false, false])
  })

  it('or are not there, as in a mistyped site, leave no folder behind', async (t) => {
    const site = join(temporaryFolder(t), 'sit')
    const { code } = await runCli(['serve', '--port', '0', '--site', site])
    assert.deepEqual([code, existsSync(site)], [78, false])
  })
})

describe('a state in a folder with a long name', () => {
  it('is refused by name where no command could reach its service', async (t) => {
    const state = join(temporaryFolder(t), 'long-'.repeat(20), 'state')
    const { code, stderr } = await runCli(['serve', '--port', '0', '--site', projectRoot, '--state', state])
    const told = `${state}/control.sock is too long for a socket; give the state a shorter path`
    assert.deepEqual([code, stderr], [1, `assistant-core: error: ${told}\n`])
  })
})

describe('a public URL', () => {
  it('of the command line or the environment is as good as that of the settings has to be', async (t) => {
    const where = ['--site', projectRoot, '--state', join(temporaryFolder(t), 'state')]
    for (const url of ['foo', 'https://Assistant.example.com', 'https://assistant.example.com/mcp']) {
      const told = `assistant-core: error: the public URL "${url}" is not scheme, host and port of a web address in lower case\n`
      const flag = await runCli(['serve', '--public-url', url, ...where])
      const named = await runCli(['status', ...where], { env: { ASSISTANT_CORE_PUBLIC_URL: url } })
      for (const { code, stdout, stderr } of [flag, named])
        assert.deepEqual([code, stdout, stderr], [78, '', told])
    }
    assert.equal(existsSync(where[3]!), false)
    const slash = await runCli(['status', '--public-url', 'https://assistant.example.com/', ...where])
    assert.match(slash.stdout, /^MCP endpoint +https:\/\/assistant\.example\.com\/api\//m)
  })
})

describe('a file of an operator', () => {
  it('that is missing or a folder is named, without lines of the program', async (t) => {
    const folder = temporaryFolder(t)
    const nowhere = join(folder, 'no', 'one.backup')
    for (const [words, told] of [
      [['restore', folder], `${folder} is no file`],
      [['restore', nowhere], `${nowhere} does not exist`],
      [['store', 'verify', '--file', folder], `${folder} is no file`],
      [['store', 'verify', '--file', nowhere], `${nowhere} does not exist`],
      [['backup', nowhere], `${nowhere}.unfinished.new, or its folder, is not there`],
    ] as const) {
      const state = words[0] === 'backup' ? mkdtempSync(join(folder, 'state-')) : join(folder, 'state')
      const { code, stderr } = await runCli([...words, '--site', projectRoot, '--state', state])
      assert.deepEqual([code, stderr], [1, `assistant-core: error: ${told}\n`], words.join(' '))
    }
    assert.equal(existsSync(join(folder, 'state')), false)
  })
})

describe('standard output that takes no more', () => {
  const full = existsSync('/dev/full') ? false : 'there is no /dev/full'

  it('is told by a command in one line', { skip: full }, () => {
    const output = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(launcher, ['manual'], { stdio: ['ignore', output, 'pipe'] })
    closeSync(output)
    assert.equal(String(stderr), 'assistant-core: error: standard output cannot be written: ENOSPC\n')
    assert.equal(status, 1)
  })

  for (const [name, skip, ends] of [
    ['a full disk', full, false],
    ['a reader that is gone', false, true],
  ] as const)
    it(`does not end a service: ${name}`, { skip }, async (t) => {
      const port = await freePort()
      const where = ['--site', copyOfShippedSite(t), '--state', join(temporaryFolder(t), 'state')]
      const output = ends ? 'pipe' : openSync('/dev/full', 'w')
      const service = spawn(launcher, ['serve', '--port', String(port), ...where], {
        stdio: ['ignore', output, 'pipe'],
      })
      atEnd(t, () => service.kill('SIGKILL'))
      const ended = once(service, 'exit')
      // It says there how it is reached, once it listens.
      await once(service.stderr!, 'data')
      service.stdout?.destroy()
      for (let line = 0; line < 3; line++) {
        assert.equal((await runCli(['users', 'cut-off', 'sales@example.com', ...where])).code, 0)
        assert.equal((await runCli(['reload', ...where])).code, 0)
        assert.equal((await fetch(`http://localhost:${port}/healthz`)).status, 200)
        appendFileSync(join(where[1]!, 'config/users.yaml'), '# a line of the log\n')
      }
      service.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
    })
})

describe('`doctor`', () => {
  it('of another user says what it may not look at, and goes on', { skip: notRoot }, async (t) => {
    const state = join(temporaryFolder(t), 'state')
    await runCli(['users', 'list', '--site', projectRoot, '--state', state])
    chmodSync(dirname(state), 0o755)
    // nobody, whose number Debian gives to no other.
    const [nobody, words] = [65534, ['doctor', '--site', projectRoot, '--state', state, '--json']]
    const asked = spawnSync(launcher, words, { uid: nobody, gid: nobody, env: { PATH: process.env['PATH'] } })
    const { findings } = JSON.parse(String(asked.stdout)) as { findings: readonly Finding[] }
    const statusOf = (name: string): string | undefined =>
      findings.find(({ check }) => check === name)?.status
    assert.deepEqual(
      ['state.mode', 'audit.holds', 'daemon.running', 'fonts'].map((name) => statusOf(name) ?? 'none'),
      ['failure', 'unknown', 'unknown', statusOf('fonts')],
    )
    assert.ok(!/no daemon runs/.test(String(asked.stdout)), 'nobody can know that')
  })
})

describe('`restore`', () => {
  it('of a file that is no backup names it, and prints nothing of it', async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'passwd')
    writeFileSync(file, 'root:x:0:0\nsecret:line\n')
    const state = join(folder, 'state')
    const { code, stdout, stderr } = await runCli(['restore', file, '--state', state])
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, `assistant-core: error: ${file} is not a backup: it does not begin as one\n`)
    assert.equal(existsSync(state), false)
  })
})

describe('`check` of the product as it comes', () => {
  it('has nothing to tell of its own skills', async () => {
    const { code, stderr } = await runCli(['check', '--site', projectRoot])
    assert.deepEqual([code, stderr], [0, ''])
  })
})

describe('`init`', () => {
  it('brings the description of the formats of prompts and skills along', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    initSite(site)
    for (const file of ['prompts/README.md', 'skills/README.md'])
      assert.equal(readFileSync(join(site, file), 'utf8'), readFileSync(join(projectRoot, file), 'utf8'))
  })
})

describe('`prompts preview` of a file', () => {
  it('warns of a variable that is no argument, which renders as nothing', async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'hello.md')
    writeFileSync(
      file,
      '---\ntitle: Hello\nvisibility: Public\narguments:\n  - { argument_name: person, default_value: you }\n---\nHello {{ persn }}.\n',
    )
    const { code, stdout, stderr } = await runCli(['prompts', 'preview', file])
    assert.deepEqual([code, stdout.trim()], [0, 'Hello .'])
    assert.match(stderr, /warning: hello\.md:7:10 template_content: "persn" is used but is not an argument/)
  })

  it('gives a program the text as it is, and a terminal nothing that hides a part of it', async (t) => {
    if (spawnSync('script', ['--version']).error) return t.skip('script is not installed')
    const file = join(temporaryFolder(t), 'hello.md')
    writeFileSync(file, '---\ntitle: Hello\nvisibility: Public\n---\nDo harm.\u001b[2K\u202eDo good.\n')
    assert.match((await runCli(['prompts', 'preview', file])).stdout, /^Do harm\.\u001b\[2K\u202eDo good\./)
    const { stdout } = spawnSync('script', ['-qec', `${launcher} prompts preview ${file}`, '/dev/null'])
    assert.match(stdout.toString(), /^Do harm\.␛\[2K⟨U\+202E⟩Do good\.\r?$/m)
    assert.doesNotMatch(stdout.toString(), /\u001b/)
  })
})
