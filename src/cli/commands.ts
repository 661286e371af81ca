/** Every command: those of the operations, and the odd ones, which do more than run one operation and print its answer. */
import { operations, type Operations } from '../control/index.ts'
import type { Operation } from '../control/operation.ts'
import { auditCommands } from './audit.ts'
import { addCommand, type Command, type OddCommand } from './command.ts'
import { completionCommand } from './completion.ts'
import { operate } from './control.ts'
import { documentCommands } from './documents.ts'
import { doctorCommand } from './doctor.ts'
import { installCommands } from './install.ts'
import { manualCommand } from './manual.ts'
import { promptCommands } from './prompts.ts'
import { schemaCommand } from './schema.ts'
import { serveCommand } from './serve.ts'
import { siteCommands } from './site.ts'
import { sourceCommands } from './sources.ts'
import { storeCommands } from './store.ts'
import { passwordCommand } from './users.ts'

const odd: readonly OddCommand[] = [
  ...auditCommands,
  completionCommand,
  ...documentCommands,
  doctorCommand,
  ...installCommands,
  manualCommand,
  ...promptCommands,
  schemaCommand,
  serveCommand,
  ...siteCommands,
  ...sourceCommands,
  ...storeCommands,
  passwordCommand,
]

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

/** Adds every command; one that has no place in the outline is a bug. */
export function addCommands(program: Command, every: Readonly<Record<string, Operation>> = operations): void {
  const asked = Object.values(every).filter(({ does }) => does !== undefined)
  const left = new Map([...odd, ...asked.map(commandOf)].map((one) => [one.name, one]))
  for (const [words, group, does = ''] of outline) {
    const parent = group === undefined ? program : program.command(group).description(does)
    for (const word of words.split(' ')) {
      const name = group === undefined ? word : `${group} ${word}`
      addCommand(parent, left.get(name)!)
      left.delete(name)
    }
  }
  if (left.size > 0) throw new Error(`no place in the outline for: ${[...left.keys()].join(', ')}`)
}

/** Makes the command that runs an operation and prints its answer. */
function commandOf(operation: Operation): OddCommand {
  const name = operation.name as keyof Operations
  return {
    ...operation,
    name: operation.as ?? operation.name.replace('.', ' ').replaceAll('_', '-'),
    run: (params, options) => operate(options, name, params as never),
  }
}
