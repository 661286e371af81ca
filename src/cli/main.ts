/** The command line of this program: every command, and what help and the manual page tell of it. */
import process from 'node:process'
import type { RunnableCommand } from '#commands/description.ts'
import { programOf, runProgram } from '#commands/program.ts'
import { operations, type Operations } from '../control/index.ts'
import type { Operation } from '../control/operation.ts'
import { version } from '../core/version.ts'
import { auditCommands } from './audit.ts'
import { operate } from './control.ts'
import { documentCommands } from './documents.ts'
import { doctorCommand } from './doctor.ts'
import { installCommands } from './install.ts'
import { globalOptions, readOptions, type Options } from './options.ts'
import { promptCommands } from './prompts.ts'
import { serveCommand } from './serve.ts'
import { siteCommands } from './site.ts'
import { sourceCommands } from './sources.ts'
import { storeCommands } from './store.ts'
import { passwordCommand } from './users.ts'

/** The commands in the order of help: the commands of a group under its word, or single commands without a group. */
const outline: readonly (readonly [words: string, group?: string, does?: string])[] = [
  ['serve init check migrate reload schema status metrics'],
  ['list rotate', 'keys', 'the keys that sign ID tokens'],
  ['trace', 'oauth', 'the authorization server'],
  [
    'list passwd invite reset cut-off',
    'users',
    'users and their passwords; who exists is decided in config/users.yaml',
  ],
  ['create list revoke', 'api-keys', 'API keys, for programs without a browser'],
  [
    'issue list grants revoke',
    'tokens',
    'access tokens: issue them without a browser, list them, revoke them',
  ],
  ['register list show update rotate-secret remove prune', 'clients', 'OAuth clients'],
  [
    'list show preview test history diff restore version duplicate search usage',
    'prompts',
    'the prompt library: list, try, test, compare and restore prompt templates',
  ],
  ['add write-keys', 'sources', 'databases that are there already, whose tables can be documents'],
  ['from', 'doctypes', 'doctypes over the tables of a source'],
  ['import export', 'documents', 'documents: bring them in from files, and out again'],
  [
    'tail export stats search show document verify change-key accept-writer accept-loss accept-outcome',
    'audit',
    'the audit log: who did what, when, through which client',
  ],
  ['tools explain', 'access', 'who may do what, and which line of the site decides it'],
  ['backup restore'],
  ['verify migrate copy', 'store', 'the state on disk: check it, bring it to the newest version'],
  ['doctor install uninstall manual completion'],
]

/** Makes the program with every command. */
export function createProgram(every: Readonly<Record<string, Operation>> = operations) {
  const asked = Object.values(every).filter(({ does }) => does !== undefined)
  return programOf({
    name: 'assistant-core',
    does: "an MCP server and OAuth 2.0 authorization server for a business's documents, prompts and skills",
    version,
    options: globalOptions,
    read: readOptions,
    commands: [
      // These do more than run one operation and print its answer.
      ...auditCommands,
      ...documentCommands,
      doctorCommand,
      ...installCommands,
      ...promptCommands,
      serveCommand,
      ...siteCommands,
      ...sourceCommands,
      ...storeCommands,
      passwordCommand,
      ...asked.map(commandOf),
    ],
    outline,
    exits: { 78: 'The site is wrong; every fault is on standard error as file:line:column path: fault.' },
    sections: {
      ENVIRONMENT: {
        ASSISTANT_CORE_SITE: 'The folder of the site.',
        ASSISTANT_CORE_STATE: 'The folder of the state.',
        ASSISTANT_CORE_PUBLIC_URL: 'The address that clients use.',
        NO_COLOR: 'When set, nothing is printed in colour.',
      },
      SIGNALS: {
        SIGHUP: 'The daemon reads its site again; one that was started on a terminal stops.',
        'SIGTERM, SIGINT': 'The daemon lets running requests end and stops.',
      },
    },
    after:
      'Exit codes: 0 done, 1 failed, 2 wrong usage, 78 bad configuration.\nShapes of --json: src/cli/README.md. Manual page: assistant-core manual | man -l -',
  })
}

/** Makes the command that runs an operation and prints its answer. */
function commandOf(operation: Operation): RunnableCommand<unknown, unknown, Options> {
  const name = operation.name as keyof Operations
  return {
    ...operation,
    name: operation.as ?? operation.name.replace('.', ' ').replaceAll('_', '-'),
    run: (params, options) => operate(options, name, params as never),
  }
}

/** Parses and runs one command line; sets the exit code. A bare `npx assistant-core` is somebody's first try, so it serves. */
export async function main(argv: readonly string[]): Promise<void> {
  // Faults of the site exit with 78 (EX_CONFIG of sysexits.h): systemd does not restart such a service.
  const codeOf = ({ data }: { readonly data: unknown }): number =>
    Array.isArray((data as { readonly faults?: unknown } | undefined)?.faults) ? 78 : 1
  await runProgram(argv, createProgram, codeOf, process.env['npm_command'] === 'exec' ? 'serve' : undefined)
}
