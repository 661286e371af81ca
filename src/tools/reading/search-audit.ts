import type { AuditLog } from '#audit/operations.ts'
import { auditStatuses } from '#audit/audit.ts'
import { filterOf, tailAudit } from '#audit/reading.ts'
import type { Clock } from '#leaf/clock.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { auditor } from '../../core/principal.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { rowsShape } from '../output-shapes.ts'
import { defineTool, type Tool } from '../tool.ts'

const defaultLimit = 20

/** Searches the audit log, for auditors without a shell on this machine; the call itself is logged like any other. */
export function searchAuditTool(audit: Pick<AuditLog, 'place' | 'settled'>, clock: Clock): Tool {
  return defineTool({
    name: 'search_audit',
    title: 'Search the audit log',
    description: 'Who did what and when, newest last, and who was shown which document.',
    category: 'read_only',
    roles: [auditor],
    input: objectWith(
      {},
      {
        user: { type: 'string', description: 'Who.' },
        document: { type: 'string', description: 'Such as "Customer/ACME".' },
        doctype: { type: 'string', description: 'Of it.' },
        text: { type: 'string', maxLength: 500, description: 'In it.' },
        target: { type: 'string', description: 'Tool, prompt or document.' },
        type: { type: 'string', description: 'Such as tool.call, or "document.".' },
        status: { type: 'string', enum: auditStatuses },
        client: { type: 'string', description: 'A client id.' },
        since: {
          type: 'string',
          description: 'A date, yesterday, or 2h, 7d (default).',
        },
        until: { type: 'string', description: 'As since.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 200,
          description: `Most events; default ${defaultLimit}.`,
        },
      },
    ),
    largeOutput: rowsShape('events'),
    example: { document: 'Customer/CUST-00001', since: '7d' },
    async run({ limit = defaultLimit, ...question }, { budget, signal }) {
      const { user, target } = question
      const asked = {
        ...question,
        ...(user !== undefined && { user: user.includes('@') ? user.trim().toLowerCase() : user.trim() }),
        ...(target !== undefined && { target: target.trim() }),
      }
      const filter = filterOf({ since: '7d', ...asked }, clock.now())
      await audit.settled()
      const found = await tailAudit(audit.place, limit + 1, filter, signal)
      const events = found.slice(-limit)
      const part = { total: events.length, offset: 0, more: found.length > limit }
      // Nothing found may also mean that a name was written otherwise.
      const names = Object.keys(asked).filter((key) => key !== 'since' && key !== 'until' && key !== 'text')
      const note = `no event has exactly this ${names.join(' and ')}`
      return fitRows(
        { events, ...(events.length === 0 && names.length > 0 && { note }) },
        'events',
        part,
        budget,
      )
    },
  })
}
