import { auditStatuses } from '../audit/event.ts'
import { endOf, followAudit, searchAudit, tailAudit } from '../audit/search.ts'
import { summarizeAudit } from '../audit/summary.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** What narrows a search; times are milliseconds since the epoch, as `AuditFilter` has them. */
const filter = {
  user: { type: 'string' },
  target: { type: 'string' },
  document: { type: 'string', pattern: '^[^/]+/.' },
  doctype: { type: 'string' },
  text: { type: 'string' },
  seq: { type: 'integer', minimum: 1 },
  type: { type: 'string' },
  status: { type: 'string', enum: auditStatuses },
  session: { type: 'string' },
  client: { type: 'string' },
  request: { type: 'string' },
  trace: { type: 'string' },
  since: { type: 'integer' },
  until: { type: 'integer' },
} as const

/** The last events, and with `follow` those that come. */
export const tailEvents = defineOperation({
  name: 'audit.tail',
  input: objectWith({}, { ...filter, count: { type: 'integer', minimum: 0 }, follow: { type: 'boolean' } }),
  run: async ({ count, follow, ...wanted }, { audit, signal }: Needs<'audit' | 'signal'>) => {
    const { place } = audit
    // What was done before the question must be in the answer.
    await audit.settled()
    // The end first: what is written while the last events are read is then among them, or follows.
    const after = await endOf(place)
    const last = await tailAudit(place, count ?? 10, wanted)
    for (const { writer, seq } of last) after.set(writer, Math.max(after.get(writer) ?? 0, seq))
    return (async function* () {
      yield* last
      if (follow) yield* followAudit(place, { filter: wanted, after, signal })
    })()
  },
})

/** Every event that fits, oldest first. */
export const searchEvents = defineOperation({
  name: 'audit.search',
  input: objectWith({}, filter),
  run: async (wanted, { audit }: Needs<'audit'>) => {
    await audit.settled()
    return searchAudit(audit.place, wanted)
  },
})

/** How often what happened, and how the log itself stands. */
export const eventStatistics = defineOperation({
  name: 'audit.stats',
  input: objectWith({}, filter),
  run: async (wanted, { audit }: Needs<'audit'>) => {
    await audit.settled()
    const { place } = audit
    return { log: await audit.stats(), ...(await summarizeAudit(place, wanted)) }
  },
})

/** Whether the log is as it was written; each fault as `file:line: fault`. */
export const verifyEvents = defineOperation({
  name: 'audit.verify',
  input: objectWith(
    {},
    {
      anchors: {
        type: 'array',
        items: objectWith(
          { seq: { type: 'integer' }, hash: { type: 'string' } },
          { writer: { type: 'string' } },
        ),
      },
    },
  ),
  run: async ({ anchors }, { audit }: Needs<'audit'>) => {
    await audit.settled()
    return audit.verify(anchors)
  },
})

/** A new key for the log, for which the old one signs. */
export const changeAuditKey = defineOperation({
  name: 'audit.change_key',
  writes: true,
  input: objectWith({}),
  run: async (_params, { audit }: Needs<'audit'>) => audit.changeKey(),
})

/** Somebody answers for what is missing from the log. */
export const acceptAuditLosses = defineOperation({
  name: 'audit.accept_loss',
  writes: true,
  input: objectWith({ by: { type: 'string' }, reason: { type: 'string', minLength: 1 } }),
  run: async ({ by, reason }, { audit }: Needs<'audit'>) => ({
    accepted: await audit.acceptLosses(by, reason),
  }),
})
