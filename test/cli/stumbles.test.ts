/** Where an operator stumbled who had read nothing but the README. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { createProgram, withHelpOption } from '../../src/cli/main.ts'
import { table } from '../../src/cli/output.ts'
import { initSite } from '../../src/cli/site.ts'
import { systemClock } from '../../src/core/clock.ts'
import { lockState } from '../../src/store/lock.ts'
import { copyOfShippedSite, projectRoot, runCli, temporaryFolder } from '../helpers/daemon.ts'
import { folders } from './running-service.ts'

const program = ['node', 'assistant-core']

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

  it('with an empty result says so in words that are words', () => {
    assert.equal(table(['started'], [], 'no authorization attempts'), 'no authorization attempts')
    assert.equal(table(['user'], []), 'no users')
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

  it('without saying whose is wrong usage', async (t) => {
    const { code, stderr } = await runCli(['tokens', 'revoke', '--site', copyOfShippedSite(t)])
    assert.deepEqual([code, stderr], [2, 'error: say which: --user, --client, --token or --all\n'])
  })
})

describe('`init`', () => {
  it('brings the description of the formats of prompts and skills along', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    await initSite(site)
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
})
