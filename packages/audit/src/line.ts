/** Turns events as parts of the program report them into lines of the log: redacted, bounded, one line of JSON. */
import { redact, redactText } from '#leaf/redact.ts'
import { briefId, sha256 } from '#leaf/secrets.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import type { AuditEvent, AuditLine } from './audit.ts'
import type { AuditedChange } from './recording.ts'

/** The value of `prev` in the first line of a log. */
export const firstPrev = sha256('the audit log of assistant-core begins here')

// Each step keeps less of names (and eight times that of an error), of texts in the data, of lists and
// objects, and of depth.
const steps = [
  { name: 512, text: Infinity, members: 10_000, depth: 32 },
  { name: 512, text: 4096, members: 200, depth: 12 },
  { name: 256, text: 1024, members: 50, depth: 8 },
  { name: 128, text: 256, members: 20, depth: 6 },
  { name: 64, text: 64, members: 10, depth: 4 },
] as const

// JSON.stringify escapes characters below U+0020. These, too, move cursors, end lines or hide text in a
// terminal or an editor: C1 controls, line separators, zero-width and bidirectional marks, tag characters.
const unsafe =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g

/** An event that is ready to be written, except for its place in the chain. */
export interface ToldEvent {
  readonly id: string
  /** ISO 8601, UTC. */
  readonly time: string
  /** The event as JSON, as it will stand in the line; kept as objects, it would only be moved about while it waits. */
  readonly text: string
  /** True for an event that is signed at once: one that removes lines, or accepts losses, counts for nothing before. */
  readonly sealed?: boolean
}

/** Returns an event without secrets, within the size allowed, with an id of its own; `time` is when it happened, ISO 8601. */
export function tellEvent(event: AuditEvent, time: string, maximumBytes: number): ToldEvent {
  return { id: briefId(), time, text: bounded(event, maximumBytes) }
}

/** Returns an event that was recorded before, as read from where it was kept. */
export function toldBefore(id: string, time: string, event: AuditEvent): ToldEvent {
  return { id, time, text: jsonText(event) }
}

/** Returns the event as it was recorded. */
export function eventIn({ text }: ToldEvent): AuditEvent {
  return JSON.parse(text) as AuditEvent
}

/** Returns the event as a line of the log (an AuditLine), without the newline. */
export function lineText({ id, time, text }: ToldEvent, seq: number, prev: string, writer?: string): string {
  const by = writer === undefined ? '' : `"writer":"${writer}",`
  return `{"seq":${seq},"time":"${time}","id":"${id}","prev":"${prev}",${by}${text.slice(1)}`
}

/** Returns the hash by which the next line names this one. */
export function lineHash(line: string | Uint8Array): string {
  return sha256(line)
}

/** Parses a line of the log; undefined when it is not one. */
export function parseLine(bytes: Buffer): AuditLine | undefined {
  try {
    const line = JSON.parse(bytes.toString('utf8')) as Partial<AuditLine> | null
    const whole =
      Number.isSafeInteger(line?.seq) &&
      typeof line?.prev === 'string' &&
      typeof line.id === 'string' &&
      typeof line.time === 'string' &&
      typeof line.type === 'string'
    return whole ? (line as AuditLine) : undefined
  } catch {
    return undefined
  }
}

function bounded(event: AuditEvent, maximumBytes: number): string {
  // Secrets are removed before texts are cut: half a secret would not be recognized.
  const details = detailsOf(event)
  const text = namesText(event, steps[0].name) + detailsText(details)
  if (fits(text, maximumBytes)) return text
  if (details.result instanceof WrittenJson) details.result = details.result.toJSON() as AuditEvent['result']
  for (const step of steps) {
    // The depth counts from the members themselves.
    const fewer = cut(details, step.text, step.members, step.depth + 1) as Details
    const smallerText = namesText(event, step.name) + detailsText(fewer)
    if (fits(smallerText, maximumBytes)) return smallerText
  }
  return (
    namesText(event, steps.at(-1)!.name) + detailsText({ data: { cut: `more than ${maximumBytes} bytes` } })
  )
}

type Details = {
  -readonly [Key in 'result' | 'documents' | 'changes' | 'data']?: AuditEvent[Key] | undefined
}

/** Returns the parts of an event that may have any size and hold anything, redacted. */
function detailsOf({ result, documents, changes, data }: AuditEvent): Details {
  return {
    result,
    documents: documents && (redact(documents) as AuditEvent['documents']),
    changes: changes?.map(redactChange),
    data: data && (redact(data) as AuditEvent['data']),
  }
}

/** Returns the end of an event as JSON; inserts parts that are already JSON as they are. */
function detailsText({ result, documents, changes, data }: Details): string {
  const shown = result instanceof WrittenJson ? `,"result":${visible(result.text)}` : member('result', result)
  return `${shown}${member('documents', documents)}${member('changes', changes)}${member('data', data)}}`
}

function member(key: string, value: unknown): string {
  const text = value === undefined ? undefined : (stringify(value) as string | undefined)
  return text === undefined ? '' : `,"${key}":${visible(text)}`
}

/** Redacts a change by the name of its field, as if the document stood here. */
function redactChange({ field, from, to }: AuditedChange): AuditedChange {
  const clean = (value: unknown): unknown => (redact({ [field]: value }) as Record<string, unknown>)[field]
  return { field: redactText(field), from: clean(from) ?? null, to: clean(to) ?? null }
}

function fits(text: string, bytes: number): boolean {
  // A UTF-16 unit takes at most three bytes: most events need no counting.
  return text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes
}

/** Returns who did what where as the start of a JSON object, piece by piece: building an object would cost as much again. */
function namesText(event: AuditEvent, limit: number): string {
  const name = (key: string, value: string | undefined): string =>
    value === undefined ? '' : `,"${key}":${nameText(value, limit)}`
  // For values that do not come again.
  const once = (key: string, value: string | undefined): string =>
    value === undefined ? '' : `,"${key}":${cleanText(value, limit)}`
  const { execution_time, success, error } = event
  return (
    `{"type":${nameText(event.type, limit)},"status":${nameText(event.status, limit)}` +
    name('user', event.user) +
    name('client', event.client) +
    name('session_id', event.session_id) +
    once('request_id', event.request_id) +
    once('trace_id', event.trace_id) +
    name('address', event.address) +
    name('target', event.target) +
    (Number.isFinite(execution_time) ? `,"execution_time":${execution_time}` : '') +
    (success === undefined ? '' : `,"success":${success}`) +
    (error === undefined ? '' : `,"error":${cleanText(error, limit * 8)}`)
  )
}

/** Caches names: the same few users, clients and tools recur. Redacted or escaped texts are not kept: they may be secrets. */
const knownNames = new Map<string, string>()
const mostKnownNames = 5000

function nameText(value: string, limit: number): string {
  const known = limit === steps[0].name ? knownNames.get(value) : undefined
  if (known !== undefined) return known
  const text = cleanText(value, limit)
  if (limit !== steps[0].name || value.length > 128 || text !== `"${value}"`) return text
  if (knownNames.size >= mostKnownNames) knownNames.clear()
  knownNames.set(value, text)
  return text
}

function cleanText(value: unknown, limit: number): string {
  return jsonText(cutText(redactText(plain(value)), limit))
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function cut(value: unknown, text: number, members: number, depth: number): unknown {
  if (typeof value === 'string') return cutText(value, text)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return '…'
  if (Array.isArray(value)) {
    const kept = value.slice(0, members).map((member) => cut(member, text, members, depth - 1))
    return value.length > members ? [...kept, `…${value.length - members} more`] : kept
  }
  const entries = Object.entries(value)
  const kept = entries
    .filter(([, member]) => member !== undefined)
    .slice(0, members)
    .map(([key, member]) => [cutText(key, text), cut(member, text, members, depth - 1)] as const)
  if (entries.length > members) kept.push(['…', `${entries.length - members} more`])
  return Object.fromEntries(kept)
}

function cutText(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…${text.length - limit} more` : text
}

/** Returns JSON in which every invisible or cursor-moving character is escaped. */
export function jsonText(value: unknown): string {
  return visible(stringify(value))
}

function visible(text: string): string {
  // Without a character beyond ASCII, only DEL remains to look for.
  const isPlain = Buffer.byteLength(text) === text.length && !text.includes('\x7f')
  return isPlain ? text : text.replace(unsafe, escaped)
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // Nothing that a tool reports may keep it from being audited; a replacer for all would cost every event.
    return JSON.stringify(value, (_, member: unknown) =>
      typeof member === 'bigint' ? String(member) : member,
    )
  }
}

function escaped(match: string): string {
  let text = ''
  for (let at = 0; at < match.length; at++) text += `\\u${match.charCodeAt(at).toString(16).padStart(4, '0')}`
  return text
}
