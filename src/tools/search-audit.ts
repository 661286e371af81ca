import type { AuditLog } from '../audit/open-audit.ts'
import { auditStatuses } from '../audit/event.ts'
import { filterOf } from '../audit/question.ts'
import { tailAudit } from '../audit/search.ts'
import type { Clock } from '../core/clock.ts'
import { objectWith } from '../core/object-schema.ts'
import { auditor } from '../core/principal.ts'
import { fitRows } from './fit-rows.ts'
import { defineTool, type Tool } from './tool.ts'

const defaultLimit = 20

/** The audit log for those who audit and have no shell here; the call itself stands in the log like any other. */
export function searchAuditTool(audit: Pick<AuditLog, 'place' | 'settled'>, clock: Clock): Tool {
  return defineTool({
    name: 'search_audit',
    title: 'Search the audit log',
    description:
      'Who did what and when, newest last: calls, sign-ins, changes with old and new values, and who was shown which document.',
    category: 'read_only',
    roles: [auditor],
    input: objectWith(
      {},
      {
        user: { type: 'string', description: 'Of this user.' },
        document: { type: 'string', description: 'What changed or showed it, such as "Customer/ACME".' },
        doctype: { type: 'string', description: 'What changed or showed documents of it.' },
        text: { type: 'string', maxLength: 500, description: 'With this text in it.' },
        target: { type: 'string', description: 'Of this tool, prompt or document.' },
        type: { type: 'string', description: 'Such as tool.call, or "document." for all that begin so.' },
        status: { type: 'string', enum: auditStatuses },
        client: { type: 'string', description: 'Of this client id.' },
        since: {
          type: 'string',
          description: 'A date, today, yesterday, or back from now: 2h, 7d (the default).',
        },
        until: { type: 'string', description: 'Before this moment.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 200,
          description: `Most events; default ${defaultLimit}.`,
        },
      },
    ),
    example: { document: 'Customer/CUST-00001', since: '7d' },
    async run({ limit = defaultLimit, ...question }, { budget }) {
      const filter = filterOf({ since: '7d', ...question }, clock.now())
      await audit.settled()
      const found = await tailAudit(audit.place, limit + 1, filter)
      const events = found.slice(-limit)
      const part = { total: events.length, offset: 0, more: found.length > limit }
      return fitRows({ events }, 'events', part, budget)
    },
  })
}
