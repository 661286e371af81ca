/** Help, examples, completion and the manual page: all of one command tree. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import type { Command } from '#commands/command.ts'
import { completionScripts } from '#commands/completion.ts'
import { manualPage } from '#commands/manual.ts'
import { colourful } from '#commands/terminal.ts'
import { createProgram } from '../../src/cli/main.ts'
import { temporaryFolder } from '../helpers/daemon.ts'
import { goldenText } from './golden.ts'

const root = createProgram()
const all = root.every
const leaves = all.filter((node) => node.commands.length === 0)

describe('the help', () => {
  it('is as the golden file has it', () => {
    const text = all.map((node) => `$ assistant-core ${[...node.path, '--help'].join(' ')}\n${helpOf(node)}`)
    goldenText('help.txt', text.join('\n'))
  })

  it('has a description and an example of itself for every command', () => {
    assert.deepEqual(
      leaves.filter((node) => node.description() === '' || node.examples.length === 0).map(pathOf),
      [],
    )
    const others = leaves.filter((node) =>
      node.examples.some((example) => !example.startsWith(`$ assistant-core ${pathOf(node)}`)),
    )
    assert.deepEqual(others.map(pathOf), [])
  })

  it('says as the manual for scripts which commands print more than one JSON value', () => {
    const manual = readFileSync(join(import.meta.dirname, '../../src/cli/README.md'), 'utf8')
    const told = /but for (.*): one event a line/s.exec(manual)![1]!
    const lines = leaves.filter((node) => node.description().endsWith('with --json one object a line'))
    const names = [...told.matchAll(/`(.*?)`/g)].map(([, name]) => name!)
    assert.deepEqual(new Set(names), new Set(lines.map(pathOf)))
  })

  it('names the kinds of schemas, one of which README has it print', () => {
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    assert.match(readme, /`assistant-core schema KIND` prints one of the schemas/)
    assert.match(helpOf(leaves.find((node) => pathOf(node) === 'schema')!), /schema \[options\] \[kind\]/)
  })

  it('shows only examples whose options exist', () => {
    const wrong = leaves.flatMap((node) =>
      node.examples.flatMap((example) => {
        const known = new Set([...node.options, ...root.options].flatMap(({ short, long }) => [short, long]))
        const own = example.split(/ [|<>] | && /)[0]!.replace(/"[^"]*"/g, 'TEXT')
        return [...own.matchAll(/(?<= )--?[a-z][a-z-]*/g)]
          .filter(([word]) => !known.has(word))
          .map(() => example)
      }),
    )
    assert.deepEqual(wrong, [])
  })

  it('suggests the command that was meant', async () => {
    for (const [typed, meant] of [
      ['statsu', 'status'],
      ['audti', 'audit'],
    ] as const) {
      const program = createProgram()
      let said = ''
      program.configureOutput({ writeErr: (text) => (said += text) })
      await assert.rejects(program.parseAsync(['node', 'assistant-core', typed]))
      assert.match(said, new RegExp(`Did you mean ${meant}\\?`))
    }
  })
})

describe('the manual page', () => {
  it('has every command, and man reads it without complaint', (t) => {
    const page = manualPage(root)
    for (const node of leaves) assert.ok(page.includes(pathOf(node).replaceAll('-', '\\-')), pathOf(node))
    const checked = spawnSync('man', ['--warnings', '-l', '-'], { input: page, encoding: 'utf8' })
    if (checked.error) return t.skip('man is not installed')
    assert.equal(checked.stderr.replace(/.*cannot adjust line.*\n|.*can't break line.*\n/g, ''), '')
  })
})

describe('the completion script', () => {
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const script = completionScripts[shell](root)
    it(`of ${shell} has every command and is read without complaint`, (t) => {
      for (const node of leaves) assert.ok(script.includes(node.path.at(-1)!), pathOf(node))
      const file = join(temporaryFolder(t), 'script')
      writeFileSync(file, script)
      const checked = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
      if (checked.error) return t.skip(`${shell} is not installed`)
      assert.deepEqual([checked.status, checked.stderr], [0, ''])
    })
  }

  it('of fish completes commands and options', (t) => {
    const file = join(temporaryFolder(t), 'script.fish')
    writeFileSync(file, completionScripts.fish(root))
    const ask = (typed: string): string[] => {
      const answer = spawnSync('fish', ['--no-config', '-c', `source ${file}; complete -C '${typed}'`], {
        encoding: 'utf8',
        env: { ...process.env, HOME: dirname(file) },
      })
      return answer.error
        ? []
        : answer.stdout
            .trim()
            .split('\n')
            .map((line) => line.split('\t')[0]!)
            .filter((word) => word !== '')
    }
    if (spawnSync('fish', ['--version']).error) return t.skip('fish is not installed')
    assert.deepEqual(ask('assistant-core audit ver'), ['verify'])
    assert.deepEqual(ask('assistant-core audit export --for'), ['--format'])
    assert.deepEqual(ask('assistant-core rest'), ['restore'])
    assert.deepEqual(ask('assistant-core audit verify rest'), [], 'a command follows only where it may')
  })

  it('of zsh completes commands and options, and finds programs while it does', (t) => {
    const ask = (...typed: string[]): string[] => {
      const stubs = [
        'compdef() {}',
        '_files() { print FILES }',
        '_describe() { print -l -- ${(P)2}; command ls / >/dev/null || print NO PATH }',
        `words=(${typed.map((word) => `'${word}'`).join(' ')}); CURRENT=${typed.length}; PREFIX='${typed.at(-1)}'`,
      ]
      const answer = spawnSync('zsh', ['-f', '-c', `${stubs.join('\n')}\n${completionScripts.zsh(root)}`], {
        encoding: 'utf8',
      })
      assert.equal(answer.stderr, '')
      return answer.stdout
        .trim()
        .split('\n')
        .map((line) => line.split(':')[0]!)
        .filter((word) => word.startsWith(typed.at(-1)!) || /^[A-Z]/.test(word))
    }
    if (spawnSync('zsh', ['--version']).error) return t.skip('zsh is not installed')
    assert.deepEqual(ask('assistant-core', 'audit', 'ver'), ['verify'])
    assert.deepEqual(ask('assistant-core', 'audit', 'export', '--for'), ['--format'])
    assert.deepEqual(ask('assistant-core', 'rest'), ['restore'])
    assert.deepEqual(ask('assistant-core', 'backup', ''), ['FILES'])
  })

  it('of bash completes commands and options', () => {
    const ask = (words: string): string[] =>
      spawnSync(
        'bash',
        [
          '-c',
          `${completionScripts.bash(root)}\nCOMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _assistant_core; echo "\${COMPREPLY[@]}"`,
        ],
        { encoding: 'utf8' },
      )
        .stdout.trim()
        .split(' ')
    assert.deepEqual(ask('assistant-core audit ver'), ['verify'])
    assert.deepEqual(ask('assistant-core audit export --for'), ['--format'])
    assert.deepEqual(ask('assistant-core rest'), ['restore'])
  })
})

describe('colour', () => {
  it('is for terminals, and not when NO_COLOR is set', (t) => {
    const before = { no: process.env['NO_COLOR'], term: process.env['TERM'] }
    t.after(() => {
      for (const [name, value] of [
        ['NO_COLOR', before.no],
        ['TERM', before.term],
      ] as const)
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
    })
    delete process.env['NO_COLOR']
    process.env['TERM'] = 'xterm'
    assert.deepEqual([colourful({ isTTY: true }), colourful({})], [true, false])
    process.env['NO_COLOR'] = '1'
    assert.equal(colourful({ isTTY: true }), false)
  })
})

function helpOf(node: Command): string {
  let command = createProgram()
  for (const word of node.path) command = command.commands.find((child) => child.name() === word)!
  let text = ''
  command.configureOutput({
    writeOut: (part) => (text += part),
    getOutHelpWidth: () => 100,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return text
}

function pathOf(node: Command): string {
  return node.path.join(' ')
}
