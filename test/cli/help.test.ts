/** Help, examples, completion and the manual page: all of one command tree. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { zsh as zshScript, bash as bashScript, fish as fishScript } from '../../src/cli/completion.ts'
import { commandTree, everyCommand, type CommandNode } from '../../src/cli/command-tree.ts'
import { exampleCommands } from '../../src/cli/examples.ts'
import { createProgram } from '../../src/cli/main.ts'
import { manualPage } from '../../src/cli/manual.ts'
import { colourful } from '../../src/cli/output.ts'
import { goldenText } from './golden.ts'

const root = commandTree(createProgram())
const all = everyCommand(root)
const leaves = all.filter((node) => node.commands.length === 0)

describe('the help', () => {
  it('is as the golden file has it', () => {
    const text = all.map((node) => `$ assistant-core ${[...node.path, '--help'].join(' ')}\n${helpOf(node)}`)
    goldenText('help.txt', text.join('\n'))
  })

  it('has a description and an example for every command, and no example of one that is gone', () => {
    assert.deepEqual(
      leaves.filter((node) => node.description === '' || node.examples.length === 0).map(pathOf),
      [],
    )
    const paths = new Set(leaves.map(pathOf))
    assert.deepEqual(
      exampleCommands.filter((path) => !paths.has(path)),
      [],
    )
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
  for (const [shell, script] of [
    ['bash', bashScript(root)],
    ['zsh', zshScript(root)],
    ['fish', fishScript(root)],
  ] as const) {
    it(`of ${shell} has every command and is read without complaint`, (t) => {
      for (const node of leaves) assert.ok(script.includes(node.path.at(-1)!), pathOf(node))
      const checked = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' })
      // Which shells a machine has says nothing about the script.
      if (checked.error) return t.diagnostic(`${shell} is not installed, so it has not read the script`)
      assert.deepEqual([checked.status, checked.stderr], [0, ''])
    })
  }

  it('of bash completes commands and options', () => {
    const ask = (words: string): string[] =>
      spawnSync(
        'bash',
        [
          '-c',
          `${bashScript(root)}\nCOMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _assistant_core; echo "\${COMPREPLY[@]}"`,
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

function helpOf(node: CommandNode): string {
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

function pathOf(node: CommandNode): string {
  return node.path.join(' ')
}
