import { auditStatuses } from '#audit/audit.ts'
import { asks, takes } from '#commands/description.ts'
import { defineOperation } from './operation.ts'
import { logPlace } from './site.ts'
import { foundText, megabytes } from '#commands/terminal.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { pictured } from '#leaf/pictured.ts'

const since = '--since <moment>: since a date, today, yesterday, or a duration back from now'
const until = '--until <moment>: before a date'

/** The filters of a search. People look for a tool; in an event it is the target. */
export const auditFilter = {
  user: '--user <user>: of this user',
  target: '--tool <name>: of this tool, prompt or other target',
  document: asks('--document <name>: that changed or showed this document, such as Customer/ACME', {
    pattern: '^[^/]+/.',
  }),
  doctype: '--doctype <doctype>: that changed or showed documents of this doctype',
  text: '--text <text>: with this text in it, in any case of letters',
  type: '--type <type>: of this type, such as tool.call, or token. for all that begin so',
  status: asks('--status <status>: that ended so', { enum: auditStatuses }),
  session: '--session <id>: of this MCP session',
  client: '--client <id>: of this client',
  request: '--request <id>: of this request, as its answer says in X-Request-Id',
  trace: '--trace <id>: of this W3C trace',
  since: `${since} such as 2h`,
  until,
  seq: { type: 'integer', minimum: 1 },
} as const

/** The filters for the history of one document. */
export const documentFilter = { since, until } as const

/** Whether a verification reads all lines. */
export const fromStart =
  '--from-start: read all lines again, not only those behind the last signed one that was found whole'

/** The operations that show events and verify the log. */
export const auditOperations = [
  defineOperation({
    // Shows the last events, and with `follow` those that come.
    name: 'audit.tail',
    input: takes({
      ...auditFilter,
      count: asks('-n <count>: how many', { minimum: 0, default: 10 }),
      follow: '-f, --follow: go on with events as they come',
    }),
    needs: ['audit'],
    run: async ({ count = 10, follow, ...wanted }, { audit }, { signal }) => {
      const { endOf, fileWriter, followAudit, tailAudit } = await import('#audit/reading.ts')
      const { place } = audit
      // Earlier actions must be in the answer.
      await audit.settled()
      // The end is read first: events written while the last ones are read are then among them, or follow.
      const after = await endOf(place)
      const last = await tailAudit(place, count, wanted)
      for (const { writer = fileWriter, seq } of last)
        after.set(writer, Math.max(after.get(writer) ?? 0, seq))
      return (async function* () {
        yield* last
        if (follow) yield* followAudit(place, { filter: wanted, after, signal })
      })()
    },
  }),
  defineOperation({
    // Finds every event that fits, oldest first.
    name: 'audit.search',
    input: takes(auditFilter),
    needs: ['audit'],
    run: async (wanted, { audit }) => {
      const { searchAudit } = await import('#audit/reading.ts')
      await audit.settled()
      return searchAudit(audit.place, wanted)
    },
  }),
  defineOperation({
    name: 'audit.stats',
    does: 'count events by type, status, user and target',
    examples: ['audit stats --since 7d'],
    input: takes(auditFilter),
    needs: ['audit'],
    run: async (wanted, { audit }) => {
      const { summarizeAudit } = await import('#audit/reading.ts')
      await audit.settled()
      return { log: await audit.stats(), ...(await summarizeAudit(audit.place, wanted)) }
    },
    // The summary of the log comes with it, so that one command answers "is it all right".
    text: ({ log, events, first, last, ...counted }) => [
      `${events} events${first === undefined ? '' : ` from ${first} to ${last}`}`,
      `the log holds ${log.seq} lines ${logPlace(log)}, ${megabytes(log.bytes)}, since ${log.oldest ?? '-'}`,
      ...log.forwards.map(({ name, sent, waiting, dropped, fault }) => {
        const why = fault === undefined ? '' : `; ${pictured(fault)}`
        return `forwarded to ${pictured(name)}: ${sent} sent, ${waiting} waiting, ${dropped} dropped${why}`
      }),
      ...(['type', 'status', 'user', 'target'] as const).flatMap((what) => [
        `by ${what}:`,
        ...Object.entries(counted[`by_${what}`]).map(
          ([name, count]) => `  ${String(count).padStart(8)}  ${pictured(name)}`,
        ),
      ]),
    ],
  }),
  defineOperation({
    // Checks that the log is unchanged; each fault as `file:line: fault`.
    name: 'audit.verify',
    input: takes({
      from_start: fromStart,
      anchors: {
        type: 'array',
        items: objectWith(
          { seq: { type: 'integer' }, hash: { type: 'string' } },
          { writer: { type: 'string' } },
        ),
      },
    }),
    needs: ['audit', 'store', 'clock'],
    run: async ({ anchors, from_start: fromStart }, { audit, store, clock }) => {
      const { unknownChanges } = await import('../documents/writing/intentions.ts')
      const { toldChanges } = await import('../documents/told-outcomes.ts')
      await audit.settled()
      // What was sent away is compared with lines of any age.
      const found = await (fromStart || anchors ? audit.verify(anchors) : audit.verifyOn())
      const changes = [...(await unknownChanges({ store, clock })), ...(await toldChanges({ store }))]
      return { ...found, notes: [...found.notes, ...changes] }
    },
    // The verdict first; notes are facts that cannot be proven yet, such as lines that wait for their signature.
    text: ({ ok, lines, files, signed, last, writers, from, before, ...found }) => {
      const read = (one: { from: number; first: number }): string =>
        one.from > one.first ? `, read from ${one.from}` : ''
      const where = writers ? `of ${writers.length} daemons in the database` : `in ${files} files`
      return [
        `${ok ? 'whole' : 'NOT WHOLE'}: ${lines} lines ${where}; ${signed} of ${last} are signed`,
        before !== undefined &&
          `${last - from + 1} of them were read now, all of them last at ${before}; --from-start reads all`,
        writers?.map(
          (one) =>
            `  ${pictured(one.name)} (${one.id}): lines ${one.first} to ${one.last}${read(one)}, signed to ${one.signed}`,
        ),
        foundText(found),
      ]
    },
  }),
  defineOperation({
    name: 'audit.change_key',
    does: 'make a new key for the log; the old one signs for it',
    writes: true,
    input: takes({}),
    needs: ['audit'],
    run: async (_params, { audit }) => audit.changeKey(),
    text: ({ from, to }) => `key ${from} signed for key ${to}, which signs from now on`,
  }),
  defineOperation({
    name: 'audit.accept_writer',
    does: 'have this daemon sign for another one that writes the same log, by the id that verify names',
    examples: ['audit accept-writer --reason "the second daemon, set up today" -- op6Rl2xhxgx7rpOb'],
    writes: true,
    input: takes({
      writer: asks('<daemon>', { minLength: 1 }),
      reason: asks('--reason <text>!: why it is known; it is kept in the log', { minLength: 1 }),
    }),
    needs: ['audit'],
    run: async ({ writer, reason }, { audit }, { actor }) => audit.acceptWriter(writer, actor, reason),
    text: ({ id, name }) =>
      `signed for ${pictured(name)} (${id}); the others that know this daemon believe it`,
  }),
  defineOperation({
    name: 'audit.accept_loss',
    does: 'answer for what is missing from the log, so that it is a fault no more',
    examples: ['audit accept-loss --reason "the disk of 12 May was replaced"'],
    writes: true,
    input: takes({
      reason: asks('--reason <text>!: why it is missing; it is kept in the log', { minLength: 1 }),
    }),
    needs: ['audit'],
    run: async ({ reason }, { audit }, { actor }) => ({
      accepted: await audit.acceptLosses(actor, reason),
    }),
    text: ({ accepted }) =>
      accepted.map(({ time, what }) => `accepted: ${time}: ${pictured(what)}`).join('\n') ||
      'nothing is missing',
  }),
  defineOperation({
    name: 'audit.accept_outcome',
    does: 'say what became of a change in a source that verify names, of which nobody else will ever know',
    examples: ['audit accept-outcome --reason "row 7 has the new price" -- 0iWzKk5tzQ2TzXK0 done'],
    writes: true,
    input: takes({
      intention: asks('<id>: of its intention', { minLength: 1 }),
      outcome: asks('<end>: what became of it', { enum: ['done', 'not-done'] }),
      reason: asks('--reason <text>!: how it is known; it is kept in the log', { minLength: 1 }),
    }),
    needs: ['site'],
    run: async ({ intention, outcome, reason }, { site }, { actor }) => {
      const { acceptOutcome } = await import('../documents/told-outcomes.ts')
      const told = { isDone: outcome === 'done', told_by: actor, reason }
      return { outcome, change: await acceptOutcome(site.current().documents, intention, told) }
    },
    text: ({ outcome, change }) => `accepted as ${outcome}: ${pictured(change)}`,
  }),
] as const
