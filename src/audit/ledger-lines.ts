/** The log where it lies in a ledger: what its lines are found by, and how they are read. */
import type { RawLine } from '../line-log/read-lines.ts'
import type { Ledger, LedgerLine, LedgerQuestion, LedgerRow } from '../store/ledger.ts'
import type { AuditLine } from './event.ts'
import { type AuditFilter, concernedBy } from './filter.ts'
import { parseLine } from './line.ts'

const longestTerm = 300

/** Where the lines of a log lie: in the files of a folder, or in the ledger of a state that daemons share. */
export type LogPlace = string | Ledger

/** A line of the log as the ledger keeps it. */
export function ledgerLine(line: string): LedgerLine {
  const parsed = parseLine(Buffer.from(line))
  if (!parsed) throw new Error('this is not a line of the audit log')
  return { seq: parsed.seq, at: Date.parse(parsed.time), terms: termsOf(parsed), line }
}

/** What a line is found by: more than what a filter asks for may be found, and never less. */
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

/** The lines among which are those that a filter wants, in the order of their times. */
export async function* ledgerLines(
  ledger: Ledger,
  filter: AuditFilter,
  backward: boolean,
): AsyncGenerator<readonly RawLine[]> {
  const { seq } = filter
  if (seq === undefined) {
    const question = { terms: wantedTerms(filter), since: filter.since, until: filter.until, backward }
    for await (const rows of ledger.read(question)) yield rows.map(rawLine)
    return
  }
  for (const { id } of await ledger.writers())
    for await (const rows of ledger.read({ writer: id, after: seq - 1 })) {
      yield rows.slice(0, 1).map(rawLine)
      break
    }
}

/** A row as a line that was read. */
export function rawLine({ seq, line }: LedgerRow): RawLine {
  const bytes = Buffer.from(line)
  return { number: seq, bytes, offset: 0, end: bytes.length, complete: true }
}

function wantedTerms(filter: AuditFilter): NonNullable<LedgerQuestion['terms']> {
  const { user, target, client, session, request, trace, type, status, document, doctype } = filter
  const wanted = {
    user,
    target,
    client,
    session,
    request,
    trace,
    type,
    // Most events end well; that tells nothing apart.
    status: status === 'ok' ? undefined : status,
    document: document?.includes('/') ? document : undefined,
    // Only names may hold a slash.
    doctype: doctype?.includes('/') ? undefined : doctype,
  }
  return Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : [term(name, value)]))
}

/** One that can be stored, and is not too long for an index. */
function term(name: string, value: string): string {
  return `${name} ${value}`.replace(/[\0\n]/g, ' ').slice(0, longestTerm)
}
