/**
 * The command line. Results go to standard output, everything else to standard error; with `--json` the
 * result is JSON. Exit codes: 0 done, 1 failed, 2 wrong usage, 78 bad configuration.
 *
 * One file a noun, each with a function that adds its commands here. A command reads its options, asks
 * (`askAndPrint` of `control.ts`: the daemon over its socket, or the same operation over the locked state) and
 * prints. What can be asked is in `../control`; its types come from there, its code only when it runs here.
 */
import process from 'node:process'
import { CommanderError } from 'commander'
import { AppError, messageOf } from '../core/errors.ts'
import { version } from '../core/version.ts'
import type { Fault } from '../site/site-files.ts'
import { addAccessCommands } from './access.ts'
import { addAuditCommands } from './audit.ts'
import { addClientsCommands } from './clients.ts'
import { Command } from './command.ts'
import { addCompletionCommand } from './completion.ts'
import { addDoctorCommand } from './doctor.ts'
import { addInstallCommands } from './install.ts'
import { addManualCommand } from './manual.ts'
import { addGlobalOptions } from './options.ts'
import { tell } from './output.ts'
import { addPromptsCommands } from './prompts.ts'
import { addSchemaCommand } from './schema.ts'
import { addServeCommand } from './serve.ts'
import { addSiteCommands } from './site.ts'
import { addStatusCommands } from './status.ts'
import { addStoreCommands } from './store.ts'
import { addTokensCommands } from './tokens.ts'
import { addApiKeysCommands, addUsersCommands } from './users.ts'

/** Parses and runs one command line; sets the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `assistant-core … | head` closes the pipe; that is not a fault.
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  // Every command throws; only here does a fault become text and an exit code.
  try {
    const program = createProgram()
    // `npx assistant-core` and nothing more: somebody tries it.
    const tries = argv.length === 2 && process.env['npm_command'] === 'exec'
    await program.parseAsync(tries ? [...argv, 'serve'] : withHelpOption(argv, program))
  } catch (error) {
    process.exitCode = report(error)
  }
}

/**
 * `help a b` as `a b --help`: Commander's own `help` looks at one word only. A word that is no command stays the
 * last, so that it is told.
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

/** Every command there is. */
export function createProgram(): Command {
  const program = new Command('assistant-core')
    .description(
      "an MCP server and OAuth 2.0 authorization server for a business's documents, prompts and skills",
    )
    .version(version)
    // Commander would end the process itself; thrown, its faults pass through `report` like all others.
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ writeErr: (text) => process.stderr.write(text) })
  addGlobalOptions(program)
  addServeCommand(program)
  addSiteCommands(program)
  addSchemaCommand(program)
  addStatusCommands(program)
  addUsersCommands(program)
  addApiKeysCommands(program)
  addTokensCommands(program)
  addClientsCommands(program)
  addPromptsCommands(program)
  addAuditCommands(program)
  addAccessCommands(program)
  addStoreCommands(program)
  addDoctorCommand(program)
  addInstallCommands(program)
  // What reads the whole tree of commands comes last.
  addManualCommand(program)
  addCompletionCommand(program)
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 wrong usage, 78 bad configuration.\nShapes of --json: src/cli/README.md. Manual page: assistant-core manual | man -l -',
  )
  return program
}

function report(error: unknown): number {
  // Help and the version are "errors" of Commander too, with the code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof AppError) {
    tell(`assistant-core: error: ${error.message}`)
    return hasSiteFaults(error) ? 78 : 1
  }
  const machine = faultOfMachine(error)
  if (machine !== undefined) {
    tell(`assistant-core: error: ${machine}`)
    return 1
  }
  tell(
    `assistant-core: internal error: ${error instanceof Error ? (error.stack ?? error.message) : messageOf(error)}`,
  )
  return 1
}

/** What the operating system refused, in words; undefined for what is a fault of the program. */
function faultOfMachine(error: unknown): string | undefined {
  const { code, path } = error as NodeJS.ErrnoException
  if (typeof path !== 'string') return undefined
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `no permission for ${path}; run this as the user to whom it belongs`
    case 'EROFS':
      return `${path} is on a file system that is mounted read-only`
    case 'ENOSPC':
    case 'EDQUOT':
      return `there is no room left for ${path}`
    case 'EEXIST':
    case 'ENOTDIR':
      return `${path} is not a folder`
    default:
      return undefined
  }
}

/** 78 is EX_CONFIG of sysexits.h: systemd does not start a badly configured service again. */
function hasSiteFaults(error: AppError): boolean {
  const { faults } = (error.data ?? {}) as { readonly faults?: readonly Fault[] }
  return Array.isArray(faults)
}
