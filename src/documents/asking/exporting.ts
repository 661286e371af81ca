/** Exports documents: all that a principal may read, as it may see them, as text that comes while they are read. */
import { eventOf } from '#audit/audit.ts'
import { recordable } from '#audit/recording.ts'
import { noting, type Principal } from '../../core/principal.ts'
import { mostNames, Shown } from '../../core/shown.ts'
import { csvLine } from '#leaf/csv.ts'
import { accessFor, type Documents, requireAction } from '../documents.ts'
import { conditionOf, readFilters } from './filters.ts'
import { listView, permitted, wantedFields, viewOf } from './reading.ts'
import { secrecyOf } from '../work.ts'
import type { StoredDocument } from '../writing/stored.ts'

/** What is exported, and how. */
export interface ExportQuery {
  readonly doctype: string
  readonly filters?: unknown
  readonly fields?: readonly string[] | undefined
  /** `csv`: a table without rows of tables; `jsonl`: one document a line, whole. */
  readonly format: 'csv' | 'jsonl'
}

/**
 * Yields the text piece by piece; each piece was audited before, with the names of its documents. AppError `not_found`,
 * `forbidden`, or `invalid` for filters and fields, before any text.
 */
export async function exportDocuments(
  documents: Documents,
  principal: Principal,
  { doctype, filters, fields, format }: ExportQuery,
): Promise<AsyncGenerator<string>> {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'read')
  const condition = conditionOf(readFilters(access, filters))
  const asked = filters === undefined ? undefined : recordable(filters, secrecyOf(documents))
  const isTable = format === 'csv'
  const names = wantedFields(access, fields ?? (isTable ? ['*'] : undefined), isTable ? undefined : 'tables')
  const line = (document: StoredDocument): string => {
    if (!isTable) return JSON.stringify(viewOf(access, document, fields))
    const view = listView(access, document, names)
    return csvLine(names.map((name) => view[name]))
  }
  const told = async (page: readonly StoredDocument[]): Promise<void> => {
    // An event names only so many documents; those of a page are written together.
    const parts = Array.from({ length: Math.ceil(page.length / mostNames) }, (_, part) =>
      page.slice(part * mostNames, (part + 1) * mostNames),
    )
    await Promise.all(
      parts.map((part) => {
        const shown = new Shown()
        accessFor(documents, noting(principal, shown), doctype).show(part)
        const data = { format, ...(asked !== undefined && { filters: asked }), ...(fields && { fields }) }
        const event = {
          type: 'document.export',
          status: 'ok',
          target: doctype,
          documents: shown.told(),
          data,
        } as const
        return documents.audit.record(eventOf(principal, event))
      }),
    )
  }
  return (async function* () {
    if (isTable) yield `${csvLine(names)}\r\n`
    const end = isTable ? '\r\n' : '\n'
    for await (const page of permitted(access, condition)) {
      await told(page)
      yield page.map((document) => line(document) + end).join('')
    }
  })()
}
