/**
 * The command line. Results go to standard output, everything else to standard error; with `--json` the
 * result is JSON. Exit codes: 0 done, 1 failed, 2 wrong usage, 78 bad configuration.
 *
 * `commands.ts` lists all commands. The operations are in `../control`, with their commands: they run in the daemon over
 * its socket, or here on the locked state (`control.ts`). The odd commands have files here.
 */
import process from 'node:process'
import { CommanderError } from 'commander'
import { AppError, messageOf } from '#leaf/errors.ts'
import { version } from '../core/version.ts'
import type { Fault } from '#site/site-files.ts'
import { Command } from './command.ts'
import { addCommands } from './commands.ts'
import { addGlobalOptions } from './options.ts'
import { tell } from './output.ts'

/** Parses and runs one command line; sets the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `assistant-core … | head` closes the pipe, which is no fault.
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  // Every command throws; only here does an error become text and an exit code.
  try {
    const program = createProgram()
    // A bare `npx assistant-core` is somebody's first try, so it serves.
    const tries = argv.length === 2 && process.env['npm_command'] === 'exec'
    await program.parseAsync(tries ? [...argv, 'serve'] : withHelpOption(argv, program))
  } catch (error) {
    process.exitCode = report(error)
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

/** Makes the program with every command. */
export function createProgram(): Command {
  const program = new Command('assistant-core')
    .description(
      "an MCP server and OAuth 2.0 authorization server for a business's documents, prompts and skills",
    )
    .version(version)
    // Commander would end the process itself; thrown, its errors pass through `report` like all others.
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ writeErr: (text) => process.stderr.write(text) })
  addGlobalOptions(program)
  addCommands(program)
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 wrong usage, 78 bad configuration.\nShapes of --json: src/cli/README.md. Manual page: assistant-core manual | man -l -',
  )
  return program
}

function report(error: unknown): number {
  // Commander throws help and the version as errors too, with the code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const known = error instanceof AppError ? error.message : faultOfMachine(error)
  const bug = error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
  tell(`assistant-core: ${known === undefined ? `internal error: ${bug}` : `error: ${known}`}`)
  return error instanceof AppError && hasSiteFaults(error) ? 78 : 1
}

/** Describes what the operating system refused; undefined for a bug. */
function faultOfMachine(error: unknown): string | undefined {
  const { code = '', path } = error as NodeJS.ErrnoException
  if (typeof path !== 'string') return undefined
  const words: Readonly<Record<string, string>> = {
    'EACCES EPERM': `no permission for ${path}; run this as the user to whom it belongs`,
    EROFS: `${path} is on a file system that is mounted read-only`,
    'ENOSPC EDQUOT': `there is no room left for ${path}`,
    'EEXIST ENOTDIR': `${path} is not a folder`,
  }
  return Object.entries(words).find(([codes]) => codes.split(' ').includes(code))?.[1]
}

/** True for faults of the site, which exit with 78 (EX_CONFIG of sysexits.h): systemd does not restart such a service. */
function hasSiteFaults(error: AppError): boolean {
  const { faults } = (error.data ?? {}) as { readonly faults?: readonly Fault[] }
  return Array.isArray(faults)
}
