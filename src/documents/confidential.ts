import type { Principal } from '../core/principal.ts'
import { type Documents, reachOf } from './documents.ts'
import type { Field } from './platform/platform.ts'
import { secrecyOf } from './work.ts'

/**
 * True when the answer to a request may be made of values that the audit log does not keep. What is computed
 * of them may tell them under any name.
 */
export function readsConfidential(principal: Principal, documents: Documents): boolean {
  const { names } = secrecyOf(documents)
  const { doctypes } = documents.platform
  return (principal.shown?.doctypes() ?? []).some((name) => {
    const doctype = doctypes.get(name)
    const access = doctype && reachOf(documents, principal, doctype)
    const reads = (field: Field): boolean =>
      (names.has(field.name) && access?.knows(field) && !access.masks(field)) ||
      (field.type === 'table' && [...(doctypes.get(field.doctype!)?.fields.values() ?? [])].some(reads))
    return [...(doctype?.fields.values() ?? [])].some(reads)
  })
}
