/** States of the documents that a statement reads: it counts drafts and cancelled ones unless it says otherwise, as hardly anybody expects. */
import { namedIn, sqlName } from '#sandbox/tables.ts'
import type { Principal } from '../../core/principal.ts'
import { statesOf } from '../asking/aggregating.ts'
import { openTo } from '../asking/filters.ts'
import { type Documents, readableAccesses } from '../documents.ts'

/** Returns in words which states a statement counted, where it does not look at them and others than submitted ones are there. */
export async function statesRead(
  documents: Documents,
  principal: Principal,
  sql: string,
): Promise<string | undefined> {
  if (/\bdocstatus\b/i.test(sql)) return undefined
  const isNamed = namedIn(sql)
  const told: string[] = []
  for (const access of readableAccesses(documents, principal)) {
    const { name, submittable, fields } = access.doctype
    const tables = [...fields.values()].flatMap(({ type, doctype = '' }) => (type === 'table' ? doctype : []))
    if (!submittable || ![name, ...tables].some(isNamed)) continue
    const { draft = 0, submitted = 0, cancelled = 0 } = (await statesOf(access, openTo(access))) ?? {}
    if (draft + cancelled > 0)
      told.push(`${sqlName(name)} has ${draft} draft, ${submitted} submitted, ${cancelled} cancelled`)
  }
  return told.length > 0
    ? `all states: ${told.join('; ')}; docstatus = 1 in the statement keeps submitted ones only`
    : undefined
}
