/** The log in a ledger: the search terms of its lines, and how they are read. */
import type { Ledger, LedgerLine, LedgerQuestion } from '#state/store.ts'
import { isClosing } from '../checkpoint.ts'
import type { AuditLine } from '../audit.ts'
import { type AuditFilter, concernedBy } from '../finding/filter.ts'
import type { KnownLine } from '../verifying/known-log.ts'
import { firstPrev, lineHash, parseLine } from '../line.ts'

/** The form of writers' ids: names of keys. Whoever writes to the database may enter others, and people and folders meet them. */
export const writerIds = /^[\w-]+$/

const longestTerm = 300

/** Returns a line of the log as the ledger keeps it. */
export function ledgerLine(line: string): LedgerLine {
  const parsed = parseLine(Buffer.from(line))
  if (!parsed) throw new Error('this is not a line of the audit log')
  return { seq: parsed.seq, at: Date.parse(parsed.time), terms: termsOf(parsed), line }
}

/** Returns the same for files, in which lines are found only by reading. */
export function unfound(seq: number, line: string): LedgerLine {
  return { seq, at: 0, terms: [], line }
}

/** Returns the last line of a writer. */
export async function lastLineOf(ledger: Ledger, writer: string): Promise<KnownLine> {
  const found = (await ledger.writers()).find(({ id }) => id === writer)
  if (found?.line === undefined) return { seq: found?.last ?? 0, hash: firstPrev }
  const line = parseLine(Buffer.from(found.line))
  return { seq: found.last, hash: lineHash(found.line), closed: line !== undefined && isClosing(line) }
}

/** Returns the search terms of a line: they may find more than a filter asks for, and never less. */
export function termsOf(line: AuditLine): readonly string[] {
  const { user, target, client, session_id: session, request_id: request, trace_id: trace } = line
  const terms = new Set<string>()
  for (const [name, value] of Object.entries({ user, target, client, session, request, trace }))
    if (value !== undefined) terms.add(term(name, value))
  for (let end = line.type.indexOf('.'); end !== -1; end = line.type.indexOf('.', end + 1))
    terms.add(term('type', line.type.slice(0, end + 1)))
  terms.add(term('type', line.type))
  if (line.status !== 'ok') terms.add(term('status', line.status))
  for (const [doctype, names] of concernedBy(line)) {
    terms.add(term('doctype', doctype))
    for (const name of names) terms.add(term('document', `${doctype}/${String(name)}`))
  }
  return [...terms]
}

/** Returns the search terms of the lines that a filter wants. */
export function wantedTerms(filter: AuditFilter): NonNullable<LedgerQuestion['terms']> {
  const { user, target, client, session, request, trace, type, status, document, doctype } = filter
  const wanted = {
    user,
    target,
    client,
    session,
    request,
    trace,
    type,
    // Most events end well, so `ok` would select nothing.
    status: status === 'ok' ? undefined : status,
    document: document?.includes('/') ? document : undefined,
    // Only names may hold a slash.
    doctype: doctype?.includes('/') ? undefined : doctype,
  }
  return Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : [term(name, value)]))
}

/** Returns a term that comes back as it was stored, of whole characters, and is not too long for an index. */
function term(name: string, value: string): string {
  const text = `${name} ${value}`.replace(/[\0\n]/g, ' ').slice(0, longestTerm)
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}
