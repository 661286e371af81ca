import { Option, type Command } from 'commander'
import type { AuditLine } from '../audit/event.ts'
import { stream } from './control.ts'
import { countOption, momentOption } from './durations.ts'
import { readOptions, type Options } from './options.ts'
import { visible, write } from './output.ts'

interface Wanted {
  readonly user?: string
  readonly target?: string
  readonly type?: string
  readonly status?: string
  readonly session?: string
  readonly client?: string
  readonly since?: number
  readonly until?: number
}

/** `assistant-core audit …`: who did what. */
export function addAuditCommands(program: Command): void {
  const audit = program
    .command('audit')
    .description('the audit log: who did what, when, through which client')

  withFilters(audit.command('tail').description('show the last events'))
    .option('-n <count>', 'how many', countOption, 10)
    .option('-f, --follow', 'go on with events as they come')
    .addHelpText(
      'after',
      '\nExamples:\n  $ assistant-core audit tail -n 50\n  $ assistant-core audit tail -f --user sales@example.com',
    )
    .action(
      async ({ n: count, follow, ...wanted }: Wanted & { n: number; follow?: boolean }, command: Command) =>
        printEvents(readOptions(command), 'audit.tail', { ...wanted, count, follow }),
    )

  withFilters(audit.command('search').description('show every event that fits, oldest first'))
    .addHelpText(
      'after',
      '\nExample:\n  $ assistant-core audit search --type tool.call --status denied --since 7d',
    )
    .action(async (wanted: Wanted, command: Command) =>
      printEvents(readOptions(command), 'audit.search', wanted),
    )
}

function withFilters(command: Command): Command {
  return command
    .option('--user <user>', 'of this user')
    .option('--tool <name>', 'of this tool, prompt or other target')
    .option('--type <type>', 'of this type, such as tool.call, or token. for all that begin so')
    .addOption(new Option('--status <status>', 'that ended so').choices(['ok', 'error', 'denied', 'timeout']))
    .option('--session <id>', 'of this MCP session')
    .option('--client <id>', 'of this client')
    .option('--since <moment>', 'since a date, or a duration back from now such as 2h', momentOption)
    .option('--until <moment>', 'before a date', momentOption)
}

async function printEvents(
  options: Options,
  operation: string,
  params: Wanted & { tool?: string; count?: number; follow?: boolean },
): Promise<void> {
  const { tool, ...wanted } = params
  for await (const item of stream(options, operation, { ...wanted, ...(tool && { target: tool }) })) {
    const event = item as AuditLine
    write(options.json ? `${JSON.stringify(event)}\n` : `${lineOf(event)}\n`)
  }
}

/** One event as a person reads it; hostile text in it never reaches the terminal. */
function lineOf(event: AuditLine): string {
  const parts = [
    event.time.replace('T', ' ').slice(0, 19),
    event.type.padEnd(16),
    event.status.padEnd(7),
    (event.user ?? '-').padEnd(22),
    event.target ?? '',
    event.execution_time === undefined ? '' : `${(event.execution_time * 1000).toFixed(0)} ms`,
    event.error ?? '',
  ]
  return parts.map(visible).join('  ').trimEnd()
}
