import process from 'node:process'
import type { Rendering } from '#audit/reading.ts'
import { auditFilter, documentFilter, fromStart } from '../control/audit.ts'
import { operations } from '../control/index.ts'
import { asks, takes } from '#commands/description.ts'
import { clientNames } from '../core/principal.ts'
import { AppError } from '#leaf/errors.ts'
import { defineCommand, type Options } from './options.ts'
import { operate, stream } from './control.ts'
import { colourful, print, write } from '#commands/terminal.ts'

type Events = ReturnType<typeof stream<'audit.tail' | 'audit.search'>>

/** `assistant-core audit …`, for commands whose events come one by one, or that check the log against a file. */
export const auditCommands = [
  defineCommand({
    name: 'audit tail',
    does: 'show the last events; with --json one object a line',
    examples: ['audit tail -n 50', 'audit tail -f --user sales@example.com'],
    input: operations['audit.tail'].input,
    run: (wanted, options) => printEvents(options, stream(options, 'audit.tail', wanted)),
  }),
  defineCommand({
    name: 'audit export',
    does: 'write every event that fits for another program',
    examples: ['audit export --format csv --since 30d > audit.csv'],
    input: takes({
      ...auditFilter,
      format: asks('--format <format>: jsonl: the lines of the log, byte for byte; csv: a table (RFC 4180)', {
        enum: ['jsonl', 'csv'],
        default: 'jsonl',
      }),
    }),
    run: async ({ format, ...wanted }, options) => {
      const { exportCsv, exportJsonl } = await import('#audit/reading.ts')
      const events = stream(options, 'audit.search', wanted)
      // Written as they come: a log may be larger than the memory.
      for await (const text of (format === 'csv' ? exportCsv : exportJsonl)(events)) await write(text)
    },
  }),
  defineCommand({
    name: 'audit search',
    does: 'show every event that fits, oldest first; with --json one object a line',
    examples: ['audit search --type tool.call --status denied --since 7d'],
    input: operations['audit.search'].input,
    run: (wanted, options) => printEvents(options, stream(options, 'audit.search', wanted)),
  }),
  defineCommand({
    name: 'audit show',
    does: 'show one event whole, in lines',
    examples: ['audit show 1234'],
    input: takes({ seq: '<seq>' }),
    run: async ({ seq }, options) => {
      const { showEvent } = await import('#audit/reading.ts')
      const rendering = await renderingFor(options)
      let found = 0
      // When several daemons write one log, each numbers its own events.
      for await (const event of stream(options, 'audit.search', { seq })) {
        if (found++ > 0 && !options.json) await write('\n')
        print(options.json, event, () => showEvent(event, rendering))
      }
      if (found === 0) throw new AppError('not_found', `the audit log has no event ${seq}`)
    },
  }),
  defineCommand({
    name: 'audit document',
    does: 'tell the life of a document: who read it, who changed what from what to what; with --json one object a line',
    examples: ['audit document Customer/ACME', 'audit document "Sales Order/SO-00001" --since yesterday'],
    input: takes({ document: '<name>', ...documentFilter }),
    run: (wanted, options) => printEvents(options, stream(options, 'audit.search', wanted)),
  }),
  defineCommand({
    name: 'audit verify',
    does: 'check numbers, hash chain and signatures of the log; names the first bad line',
    examples: [
      'audit verify',
      'audit verify --from-start',
      'audit verify --anchor /var/log/received-from-syslog',
    ],
    input: takes({
      from_start: fromStart,
      anchor:
        '--anchor <file>: check against what syslog or the webhook received as well: lines of the log, or a copy of head.json',
    }),
    run: async ({ anchor, ...wanted }, options) => {
      const { knownAnchors } = await import('#audit/operations.ts')
      const anchors = anchor === undefined ? {} : { anchors: await knownAnchors(anchor) }
      return operate(options, 'audit.verify', { ...wanted, ...anchors })
    },
    text: operations['audit.verify'].text,
    failure: ({ ok }) => !ok && 'the audit log is not as it was written',
  }),
]

/** Prints one line for each event in both forms, so that `grep` and `jq` work on a log that never ends. */
async function printEvents(options: Options, events: Events): Promise<void> {
  const { changeLines, renderLine } = await import('#audit/reading.ts')
  const rendering = await renderingFor(options)
  for await (const event of events) {
    const changes = changeLines(event.changes).map((one) => `\n  ${one}`)
    const line = options.json ? JSON.stringify(event) : [renderLine(event, rendering), ...changes].join('')
    await write(`${line}\n`)
  }
}

/** Returns the width of the terminal and the names of clients, which say more than their ids. */
async function renderingFor(options: Options): Promise<Rendering> {
  if (options.json) return {}
  const clients = await operate(options, 'clients.list', {})
  return {
    colour: colourful(process.stdout),
    width: Math.max(80, process.stdout.columns ?? 80),
    clients: clientNames(clients.map(({ client_id: id, client_name: name }) => ({ id, name }))),
  }
}
