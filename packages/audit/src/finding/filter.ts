/** Filters events, as fast as a line can be read. */
import type { RawLine } from '#state/lines.ts'
import type { AuditLine, AuditStatus } from '../audit.ts'
import { parseLine } from '../line.ts'

/** A filter of events; every condition that is given must hold. */
export interface AuditFilter {
  readonly user?: string
  /** The exact target, such as a tool's name or `Customer/ACME`. */
  readonly target?: string
  /** A document, as `Customer/ACME`: events that changed it, or showed it to somebody. */
  readonly document?: string
  /** A doctype: events that changed or showed its documents. */
  readonly doctype?: string
  /** A text within the event, in any case of letters. */
  readonly text?: string
  /** The number of one event. */
  readonly seq?: number
  /** A type, or the beginning of one that ends in a dot: `token.` finds `token.issue` and `token.revoke`. */
  readonly type?: string
  readonly status?: AuditStatus
  readonly session?: string
  readonly client?: string
  readonly request?: string
  readonly trace?: string
  /** Milliseconds since the epoch, inclusive. */
  readonly since?: number
  /** Milliseconds since the epoch, exclusive. */
  readonly until?: number
}

/** Returns a test of a line that looks at its bytes before it parses them. */
export function wantedBy(filter: AuditFilter): (line: RawLine) => AuditLine | undefined {
  const { user, target, status, client, session, request, trace } = filter
  const pairs = { user, target, client, session_id: session, request_id: request, trace_id: trace, status }
  const equal = Object.entries(pairs).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const needles = [
    ...equal.map(([key, value]) => [value, `${JSON.stringify(key)}:${JSON.stringify(value)}`] as const),
    ...[filter.doctype, ...split(filter.document)].map((name) => [name, name] as const),
  ]
    // Plain values stand in the line as they are; one with characters that JSON escapes is only compared below.
    .flatMap(([value, needle]) =>
      value && /^[\x20-\x7e]*$/.test(value) && !/["\\]/.test(value) ? [needle!] : [],
    )
  const text = filter.text?.toLowerCase()
  return ({ bytes, complete }) => {
    if (!complete || !needles.every((needle) => bytes.includes(needle))) return undefined
    const line = parseLine(bytes)
    if (!line || !equal.every(([key, value]) => line[key as keyof AuditLine] === value)) return undefined
    if (text !== undefined && !texts(line).some((one) => one.toLowerCase().includes(text))) return undefined
    return fits(line, filter) ? line : undefined
  }
}

function fits(line: AuditLine, { seq, type, document, doctype, since, until }: AuditFilter): boolean {
  if (seq !== undefined && line.seq !== seq) return false
  if (type !== undefined && (type.endsWith('.') ? !line.type.startsWith(type) : line.type !== type))
    return false
  if (document !== undefined && !concerns(line, split(document))) return false
  if (doctype !== undefined && !concerns(line, [doctype])) return false
  if (since === undefined && until === undefined) return true
  const time = Date.parse(line.time)
  return time >= (since ?? -Infinity) && time < (until ?? Infinity)
}

/** True when an event changed or showed documents of a doctype, or the one with that name. */
function concerns(line: AuditLine, [doctype, name]: readonly string[]): boolean {
  for (const [of, names] of concernedBy(line))
    if (of === doctype && (name === undefined || names.includes(name))) return true
  return false
}

/** Yields the documents that an event changed or showed, by doctype, and those requested by name, whatever the outcome. */
export function* concernedBy({
  target,
  documents,
  data,
}: AuditLine): Generator<readonly [doctype: string, names: readonly unknown[]]> {
  const [doctype, name] = split(target)
  if (doctype !== undefined) yield [doctype, [name]]
  for (const one of documents ?? []) yield [one.doctype, one.names]
  const asked = data?.['arguments'] as { readonly doctype?: unknown; readonly name?: unknown } | undefined
  if (typeof asked?.doctype === 'string') yield [asked.doctype, asked.name === undefined ? [] : [asked.name]]
}

/** Splits `Sales Order/SO/7` into doctype and name: only names may hold a slash. */
function split(document: string | undefined): readonly string[] {
  const at = document?.indexOf('/') ?? -1
  return at === -1 ? [] : [document!.slice(0, at), document!.slice(at + 1)]
}

function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => [key, ...texts(member)])
}
