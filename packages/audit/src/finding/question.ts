/** Questions that people ask of the log on a page or through a tool, in their words. */
import { AppError } from '#leaf/errors.ts'
import { momentOf } from '#leaf/moments.ts'
import { auditStatuses, type AuditStatus } from '../audit.ts'
import type { AuditFilter } from './filter.ts'

/** The fields of a question, all of them text. */
export const questionFields = [
  'user',
  'document',
  'doctype',
  'text',
  'target',
  'type',
  'status',
  'client',
  'since',
  'until',
] as const

/** One question. */
export type AuditQuestion = Readonly<Partial<Record<(typeof questionFields)[number], string>>>

/** Returns the filter of a question. AppError `invalid` names what cannot be read. */
export function filterOf(
  { since, until, status, document, ...words }: AuditQuestion,
  now: number,
): AuditFilter {
  const problems: string[] = []
  const moment = (name: string, text: string): number => {
    const time = momentOf(text, now)
    if (time === undefined)
      problems.push(
        `${name}: must be a date such as 2026-01-31, today, yesterday, or 2h, not ${JSON.stringify(text)}`,
      )
    return time ?? 0
  }
  if (document !== undefined && !/^[^/]+\/./.test(document))
    problems.push(
      `document: must be a doctype and a name, such as Customer/ACME, not ${JSON.stringify(document)}`,
    )
  if (status !== undefined && !auditStatuses.includes(status as AuditStatus))
    problems.push(`status: must be one of ${auditStatuses.join(', ')}, not ${JSON.stringify(status)}`)
  const filter: AuditFilter = {
    ...words,
    ...(document !== undefined && { document }),
    ...(status !== undefined && { status: status as AuditStatus }),
    ...(since !== undefined && { since: moment('since', since) }),
    ...(until !== undefined && { until: moment('until', until) }),
  }
  if (problems.length > 0) throw new AppError('invalid', problems.join('; '), { data: { problems } })
  return filter
}
