/** From what a part of the program tells to what stands in the log: redacted, bounded, one line of JSON. */
import type { Clock } from '../core/clock.ts'
import { isoTime } from '../core/clock.ts'
import { redact } from '../core/redact.ts'
import { randomId, sha256 } from '../core/secrets.ts'
import type { AuditEvent, AuditLine } from './event.ts'

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
export interface Told {
  readonly id: string
  /** ISO 8601, UTC. */
  readonly time: string
  readonly event: AuditEvent
}

/** An event without secrets and not larger than allowed, with its time and an id of its own. */
export function tell(event: AuditEvent, clock: Clock, maximumBytes: number): Told {
  return { id: randomId(), time: isoTime(clock.now()), event: bounded(event, maximumBytes) }
}

/** The event as a line of the log, without the newline. */
export function lineText(told: Told, seq: number, prev: string): string {
  const { id, time, event } = told
  return jsonText({ seq, time, id, prev, ...event } satisfies AuditLine)
}

/** The hash by which the next line names this one. */
export function hashOf(line: string | Uint8Array): string {
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

function bounded(event: AuditEvent, maximumBytes: number): AuditEvent {
  const { data, ...rest } = event
  const told = redact(rest) as Record<string, unknown>
  // Secrets go before texts are cut: half a secret would not be known as one.
  const safe = redact(data)
  let smallest: AuditEvent | undefined
  for (const step of steps) {
    const clean = namesOf(told, step.name)
    const whole =
      data === undefined ? clean : { ...clean, data: cut(safe, step.text, step.members, step.depth) }
    if (Buffer.byteLength(jsonText(whole)) <= maximumBytes) return whole as AuditEvent
    smallest = clean
  }
  return { ...smallest!, data: { cut: `more than ${maximumBytes} bytes` } }
}

function namesOf(told: Record<string, unknown>, limit: number): AuditEvent {
  const clean: Record<string, unknown> = {}
  for (const key of ['type', 'status', 'user', 'client', 'session_id', 'request_id', 'address', 'target']) {
    if (told[key] !== undefined && told[key] !== null) clean[key] = cutText(plain(told[key]), limit)
  }
  if (Number.isFinite(told['execution_time'])) clean['execution_time'] = told['execution_time']
  if (told['error'] !== undefined) clean['error'] = cutText(plain(told['error']), limit * 8)
  return clean as unknown as AuditEvent
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
  return JSON.stringify(value).replace(unsafe, (match) =>
    Array.from(
      { length: match.length },
      (_, at) => `\\u${match.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}
