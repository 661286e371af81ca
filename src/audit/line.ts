/** From what a part of the program tells to what stands in the log: redacted, bounded, one line of JSON. */
import { redact, redactText } from '../core/redact.ts'
import { briefId, sha256 } from '../core/secrets.ts'
import { WrittenJson } from '../core/written-json.ts'
import type { AuditedChange, AuditEvent, AuditLine } from './event.ts'

/** What the first line of a log gives as the hash of the line before it. */
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

// JSON.stringify escapes what is below U+0020. These, too, move cursors, end lines or hide text in a
// terminal or an editor: C1 controls, line separators, zero-width and bidirectional marks, tag characters.
const unsafe =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g

/** An event that is ready to be written, but for its place in the chain. */
export interface ToldEvent {
  readonly id: string
  /** ISO 8601, UTC. */
  readonly time: string
  /** The event as JSON, as it will stand in the line; while it waits for that, its objects would only be moved about. */
  readonly text: string
}

/** An event without secrets and not larger than allowed, with an id of its own; `time` is when it happened, ISO 8601. */
export function tellEvent(event: AuditEvent, time: string, maximumBytes: number): ToldEvent {
  return { id: briefId(), time, text: bounded(event, maximumBytes) }
}

/** An event that was told before, as read from where it was kept. */
export function toldBefore(id: string, time: string, event: AuditEvent): ToldEvent {
  return { id, time, text: jsonText(event) }
}

/** The event as it was told. */
export function eventIn({ text }: ToldEvent): AuditEvent {
  return JSON.parse(text) as AuditEvent
}

/** The event as a line of the log (an AuditLine), without the newline. */
export function lineText({ id, time, text }: ToldEvent, seq: number, prev: string, writer?: string): string {
  const by = writer === undefined ? '' : `"writer":"${writer}",`
  return `{"seq":${seq},"time":"${time}","id":"${id}","prev":"${prev}",${by}${text.slice(1)}`
}

/** The hash by which the next line names this one. */
export function lineHash(line: string | Uint8Array): string {
  return sha256(line)
}

/** A line of the log as read back; undefined when it is not one. */
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
  // Secrets go before texts are cut: half a secret would not be known as one.
  const details = detailsOf(event)
  const text = namesText(event, steps[0].name) + detailsText(details)
  if (fits(text, maximumBytes)) return text
  if (details.result instanceof WrittenJson) details.result = details.result.toJSON()
  for (const step of steps) {
    // The members themselves are counted from here.
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

/** What may be of any size and hold anything. */
function detailsOf({ result, documents, changes, data }: AuditEvent): Details {
  return {
    result,
    documents: documents && (redact(documents) as AuditEvent['documents']),
    changes: changes?.map(redactChange),
    data: data && (redact(data) as AuditEvent['data']),
  }
}

/** The end of an event as JSON; what is JSON already is put in as it is. */
function detailsText({ result, documents, changes, data }: Details): string {
  const shown = result instanceof WrittenJson ? `,"result":${visible(result.text)}` : member('result', result)
  return `${shown}${member('documents', documents)}${member('changes', changes)}${member('data', data)}}`
}

function member(key: string, value: unknown): string {
  const text = value === undefined ? undefined : (stringify(value) as string | undefined)
  return text === undefined ? '' : `,"${key}":${visible(text)}`
}

/** By the name of the field, as if the document stood here. */
function redactChange({ field, from, to }: AuditedChange): AuditedChange {
  const clean = (value: unknown): unknown => (redact({ [field]: value }) as Record<string, unknown>)[field]
  return { field: redactText(field), from: clean(from) ?? null, to: clean(to) ?? null }
}

function fits(text: string, bytes: number): boolean {
  // A UTF-16 unit takes at most three bytes: most events need no counting.
  return text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes
}

/** Who did what where, as the beginning of a JSON object: written piece by piece, as an object of its own would cost as much again. */
function namesText(event: AuditEvent, limit: number): string {
  const name = (key: string, value: string | undefined): string =>
    value === undefined ? '' : `,"${key}":${nameText(value, limit)}`
  // What comes and does not come again.
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

/** The same few users, clients and tools come again and again. What had something removed or escaped is not kept: it may be a secret. */
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

/** JSON in which nothing invisible or moving stands as itself. */
export function jsonText(value: unknown): string {
  return visible(stringify(value))
}

function visible(text: string): string {
  // Without a character beyond ASCII only DEL is left to look for.
  const isPlain = Buffer.byteLength(text) === text.length && !text.includes('\x7f')
  return isPlain ? text : text.replace(unsafe, escaped)
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // Whatever a tool told must not keep it from being audited; a replacer for all would cost every event.
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
