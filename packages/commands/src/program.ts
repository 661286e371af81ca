/**
 * A program of commands. Results go to standard output, everything else to standard error; with `--json` the
 * result is JSON. Exit codes: 0 done, 1 failed, 2 wrong usage, and those of the program itself.
 */
import process from 'node:process'
import { CommanderError } from 'commander'
import { AppError, messageOf } from '#leaf/errors.ts'
import { addCommand, type Adding } from './adding.ts'
import { Command, type Sections } from './command.ts'
import { completionScripts } from './completion.ts'
import { asks, commandsWith, takes, type RunnableCommand } from './description.ts'
import { manualPage } from './manual.ts'
import { tell, write } from './terminal.ts'

/** A program: its commands, and what help and the manual page tell. `completion` and `manual` come by themselves. */
export interface ProgramDescription<Options extends { readonly json: boolean }> {
  readonly name: string
  readonly does: string
  readonly version: string
  /** The options of every command, before or after its name, with their help; `--json` is one more. */
  readonly options: Readonly<Record<string, string>>
  /** Reads the options of a command line. */
  readonly read: Adding<Options>['read']
  readonly commands: readonly RunnableCommand<never, unknown, Options>[]
  /** The commands in the order of help: the commands of a group under its word, or single commands without a group. */
  readonly outline: readonly (readonly [words: string, group?: string, does?: string])[]
  /** Exit codes of its own. */
  readonly exits: Readonly<Record<number, string>>
  /** What the manual page tells behind the exit codes. */
  readonly sections: Sections
  /** The last lines of help. */
  readonly after: string
}

/** Makes the program with every command; one that has no place in the outline is a bug. */
export function programOf<Options extends { readonly json: boolean }>(
  described: ProgramDescription<Options>,
): Command {
  const { name, does, version, options, read, exits, sections, after } = described
  const program = new Command(name)
    .description(does)
    .version(version)
    // Commander would end the process itself; thrown, its errors pass through `report` like all others.
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ writeErr: (text) => process.stderr.write(text) })
    .addHelpText('after', `\n${after}`)
  const usual = { 0: 'Done.', 1: 'Failed; the reason is on standard error.', 2: 'Wrong usage.' }
  program.sections = { 'EXIT STATUS': { ...usual, ...exits }, ...sections }
  for (const [flags, told] of Object.entries(options)) program.option(flags, told)
  program.option('--json', 'print results as JSON')
  const pages = {
    manual: () => manualPage(program),
    completion: (shell: keyof typeof completionScripts) => completionScripts[shell](program),
  }
  const left = new Map([...described.commands, ...ownCommands(name)].map((one) => [one.name, one]))
  for (const [words, group, told = ''] of described.outline) {
    const parent = group === undefined ? program : program.command(group).description(told)
    for (const word of words.split(' ')) {
      const path = group === undefined ? word : `${group} ${word}`
      addCommand(parent, left.get(path)!, { read, pages })
      left.delete(path)
    }
  }
  if (left.size > 0) throw new Error(`no place in the outline for: ${[...left.keys()].join(', ')}`)
  return program
}

/** The commands that print what is made of all commands. */
function ownCommands(name: string) {
  const defineCommand = commandsWith<unknown>()
  return [
    defineCommand({
      name: 'completion',
      does: 'print the completion script of a shell',
      examples: [
        `completion bash > /etc/bash_completion.d/${name}`,
        `completion zsh > "\${fpath[1]}/_${name}"`,
        `completion fish > ~/.config/fish/completions/${name}.fish`,
      ],
      input: takes({ shell: asks('<shell>: the shell', { enum: ['bash', 'zsh', 'fish'] }) }),
      run: ({ shell }, _options, pages) => write(pages.completion(shell)),
    }),
    defineCommand({
      name: 'manual',
      does: 'print the manual page',
      examples: ['manual | man -l -'],
      input: takes({}),
      run: (_params, _options, pages) => write(pages.manual()),
    }),
  ]
}

/**
 * Parses and runs one command line; sets the exit code, which `codeOf` knows for an error that is more than a failure.
 * Without a word it runs `first`, where there is one.
 */
export async function runProgram(
  argv: readonly string[],
  make: () => Command,
  codeOf: (error: AppError) => number = () => 1,
  first?: string,
): Promise<void> {
  let name = ''
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `… | head` closes the pipe, which is no fault.
    if (error.code === 'EPIPE') process.exit(0)
    tell(`${name}: error: standard output cannot be written: ${error.code ?? error.message}`)
    process.exit(1)
  })
  // Every command throws; only here does an error become text and an exit code.
  try {
    const program = make()
    name = program.name()
    const words = argv.length === 2 && first !== undefined ? [...argv, first] : argv
    await program.parseAsync(withHelpOption(words, program))
  } catch (error) {
    process.exitCode = report(name, error, codeOf)
  }
}

/**
 * Turns `help a b` into `a b --help`, as Commander's own `help` looks at one word only. A word that is no command
 * stays the last, so that it is reported.
 */
export function withHelpOption(argv: readonly string[], program: Command): string[] {
  const [node, script, first, ...words] = argv
  if (first !== 'help' || words.length === 0) return [...argv]
  const path: string[] = []
  for (let command: Command | undefined = program; command && path.length < words.length;) {
    const word = words[path.length]!
    path.push(word)
    command = command.commands.find((child) => child.name() === word)
    if (!command) return [node!, script!, ...path]
  }
  return [node!, script!, ...path, '--help']
}

function report(name: string, error: unknown, codeOf: (error: AppError) => number): number {
  // Commander throws help and the version as errors too, with the code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const known = error instanceof AppError ? error.message : faultOfMachine(error)
  const bug = error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
  tell(`${name}: ${known === undefined ? `internal error: ${bug}` : `error: ${known}`}`)
  return error instanceof AppError ? codeOf(error) : 1
}

/** Describes what the operating system refused; undefined for a bug. */
function faultOfMachine(error: unknown): string | undefined {
  const { code = '', path: told } = error as NodeJS.ErrnoException
  // Of a write that found no room, the system does not say where to.
  const path = told ?? (/^(ENOSPC|EDQUOT)$/.test(code) ? 'what is written' : undefined)
  if (typeof path !== 'string') return undefined
  const words: Readonly<Record<string, string>> = {
    'EACCES EPERM': `no permission for ${path}; run this as the user to whom it belongs`,
    EROFS: `${path} is on a file system that is mounted read-only`,
    'ENOSPC EDQUOT': `there is no room left for ${path}`,
    'EEXIST ENOTDIR': `${path} is not a folder`,
    ENOENT: `${path}, or its folder, is not there`,
  }
  return Object.entries(words).find(([codes]) => codes.split(' ').includes(code))?.[1]
}
