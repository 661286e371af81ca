import process from 'node:process'
import { Option } from 'commander'
import { auditStatuses } from '../audit/event.ts'
import type { Command } from './command.ts'
import { clientNames, type Rendering } from '../audit/render.ts'
import { AppError } from '../core/errors.ts'
import { addAuditProofCommands } from './audit-proof.ts'
import { askAndPrint, operate, stream, type Answer, type Item, type Question } from './control.ts'
import { countOption, momentOption } from './durations.ts'
import { readOptions, type Options } from './options.ts'
import { logPlace } from './status.ts'
import { colourful, megabytes, print, visible, write } from './output.ts'

/** The flags that all listing commands share. People look for a tool; in an event it is the target. */
type Wanted = Omit<Question<'audit.search'>, 'target'> & { readonly tool?: string }

/** `assistant-core audit …`: who did what. */
export function addAuditCommands(program: Command): void {
  const audit = program
    .command('audit')
    .description('the audit log: who did what, when, through which client')

  withFilters(
    audit
      .command('tail')
      .description('show the last events; with --json one object a line')
      .example('audit tail -n 50', 'audit tail -f --user sales@example.com'),
  )
    .option('-n <count>', 'how many', countOption, 10)
    .option('-f, --follow', 'go on with events as they come')
    .action(({ n: count, follow, ...wanted }: Wanted & { n: number; follow?: boolean }, command: Command) => {
      const options = readOptions(command)
      return printEvents(
        options,
        stream(options, 'audit.tail', { ...operationFilter(wanted), count, follow }),
      )
    })

  withFilters(
    audit
      .command('export')
      .description('write every event that fits for another program')
      .example('audit export --format csv --since 30d > audit.csv'),
  )
    .addOption(
      new Option('--format <format>', 'jsonl: the lines of the log, byte for byte; csv: a table (RFC 4180)')
        .choices(['jsonl', 'csv'])
        .default('jsonl'),
    )
    .action(async ({ format, ...wanted }: Wanted & { format: 'jsonl' | 'csv' }, command: Command) => {
      const events = stream(readOptions(command), 'audit.search', operationFilter(wanted))
      const { exportCsv, exportJsonl } = await import('../audit/export.ts')
      // Written as it comes: a log may be larger than the memory.
      for await (const text of { jsonl: exportJsonl, csv: exportCsv }[format](events)) await write(text)
    })

  withFilters(
    audit
      .command('stats')
      .description('count events by type, status, user and target')
      .example('audit stats --since 7d'),
  ).action((wanted: Wanted, command: Command) =>
    askAndPrint(command, 'audit.stats', operationFilter(wanted), statisticsText),
  )

  addReadingCommands(audit)
}

function addReadingCommands(audit: Command): void {
  withFilters(
    audit
      .command('search')
      .description('show every event that fits, oldest first; with --json one object a line')
      .example('audit search --type tool.call --status denied --since 7d'),
  )
    .option('--csv', 'as a table (RFC 4180)')
    .action(async ({ csv, ...wanted }: Wanted & { csv?: true }, command: Command) => {
      const options = readOptions(command)
      const events = stream(options, 'audit.search', operationFilter(wanted))
      if (!csv) return printEvents(options, events)
      const { exportCsv } = await import('../audit/export.ts')
      for await (const text of exportCsv(events)) await write(text)
    })

  audit
    .command('show <seq>')
    .description('show one event whole, in lines')
    .example('audit show 1234')
    .action(async (text: string, _flags, command: Command) => {
      const options = readOptions(command)
      const seq = countOption(text)
      const { showEvent } = await import('../audit/render.ts')
      const rendering = options.json ? {} : await renderingFor(options)
      let found = 0
      // Where several daemons write one log, each counts its own events.
      for await (const event of stream(options, 'audit.search', { seq })) {
        if (found++ > 0 && !options.json) await write('\n')
        print(options.json, event, () => showEvent(event, rendering))
      }
      if (found === 0) throw new AppError('not_found', `the audit log has no event ${seq}`)
    })

  audit
    .command('document <name>')
    .description('tell the life of a document: who read it, who changed what from what to what')
    .option('--since <moment>', 'since a date, today, yesterday, or a duration back from now', momentOption)
    .option('--until <moment>', 'before a date', momentOption)
    .example('audit document Customer/ACME', 'audit document "Sales Order/SO-00001" --since yesterday')
    .action(async (document: string, wanted: Wanted, command: Command) => {
      const options = readOptions(command)
      await printEvents(options, stream(options, 'audit.search', { ...wanted, document }))
    })

  addAuditProofCommands(audit)
}

function withFilters(command: Command): Command {
  return (
    command
      .option('--user <user>', 'of this user')
      .option('--tool <name>', 'of this tool, prompt or other target')
      .option('--document <name>', 'that changed or showed this document, such as Customer/ACME')
      .option('--doctype <doctype>', 'that changed or showed documents of this doctype')
      .option('--text <text>', 'with this text in it, in any case of letters')
      .option('--type <type>', 'of this type, such as tool.call, or token. for all that begin so')
      .addOption(new Option('--status <status>', 'that ended so').choices(auditStatuses))
      .option('--session <id>', 'of this MCP session')
      .option('--client <id>', 'of this client')
      .option('--request <id>', 'of this request, as its answer says in X-Request-Id')
      .option('--trace <id>', 'of this W3C trace')
      // Read here: 'two hours back' counts from the question, and operations take milliseconds.
      .option(
        '--since <moment>',
        'since a date, today, yesterday, or a duration back from now such as 2h',
        momentOption,
      )
      .option('--until <moment>', 'before a date', momentOption)
  )
}

function operationFilter({ tool, ...wanted }: Wanted): Question<'audit.search'> {
  return { ...wanted, ...(tool !== undefined && { target: tool }) }
}

async function printEvents(
  options: Options,
  events: AsyncIterable<Item<'audit.tail' | 'audit.search'>>,
): Promise<void> {
  const { changeLines, renderLine } = await import('../audit/render.ts')
  const rendering = options.json ? {} : await renderingFor(options)
  for await (const event of events) {
    // A line an event in both forms, so that `grep` and `jq` work on a log that never ends.
    if (options.json) await write(`${JSON.stringify(event)}\n`)
    else
      for (const line of [
        renderLine(event, rendering),
        ...changeLines(event.changes).map((one) => `  ${one}`),
      ])
        await write(`${line}\n`)
  }
}

/** As wide as the terminal, and with the names of clients, which say more than their ids. */
async function renderingFor(options: Options): Promise<Rendering> {
  const clients = await operate(options, 'clients.list', {})
  return {
    colour: colourful(process.stdout),
    width: Math.max(80, process.stdout.columns ?? 80),
    clients: clientNames(clients.map(({ client_id: id, client_name: name }) => ({ id, name }))),
  }
}

/**
 * Counts with the largest first, and how the log itself stands, so that one command answers "is it all
 * right".
 */
function statisticsText({ log, ...summary }: Answer<'audit.stats'>): string {
  const section = (title: string, counts: Readonly<Record<string, number>>): string[] => [
    `${title}:`,
    ...Object.entries(counts).map(([name, count]) => `  ${String(count).padStart(8)}  ${visible(name)}`),
  ]
  return [
    `${summary.events} events${summary.first === undefined ? '' : ` from ${summary.first} to ${summary.last}`}`,
    `the log holds ${log.seq} lines ${logPlace(log)}, ${megabytes(log.bytes)}, since ${log.oldest ?? '-'}`,
    ...log.forwards.map(
      ({ name, sent, waiting, dropped, fault }) =>
        `forwarded to ${visible(name)}: ${sent} sent, ${waiting} waiting, ${dropped} dropped${fault === undefined ? '' : `; ${visible(fault)}`}`,
    ),
    ...section('by type', summary.by_type),
    ...section('by status', summary.by_status),
    ...section('by user', summary.by_user),
    ...section('by target', summary.by_target),
  ].join('\n')
}
