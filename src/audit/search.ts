/** Reading the log: what happened, by whom, when. Reads files of its own accord and never holds up writing. */
import { setTimeout } from 'node:timers/promises'
import type { RawLine } from '../line-log/read-lines.ts'
import type { AuditLine, AuditStatus } from './event.ts'
import { parseLine } from './line.ts'
import { listLogFiles, type LogFile, readLogFile, readLogFileBackward } from './log-files.ts'

const pollMilliseconds = 200
const dayMilliseconds = 86_400_000

/** Which events are wanted; every one that is given must hold. */
export interface AuditFilter {
  readonly user?: string
  /** The exact target, such as a tool's name or `Customer/ACME`. */
  readonly target?: string
  /** A type, or a beginning of one that ends in a dot: `token.` finds `token.issue` and `token.revoke`. */
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

/** The events of the log that are wanted, oldest first, compressed files included. */
export async function* searchAudit(folder: string, filter: AuditFilter = {}): AsyncGenerator<AuditLine> {
  const test = testOf(filter)
  const files = await listLogFiles(folder)
  for (const [index, file] of files.entries()) {
    if (filter.since !== undefined && endsBefore(files[index + 1], filter.since)) continue
    for await (const lines of readLogFile(file)) {
      for (const line of lines) {
        const event = test(line)
        if (event) yield event
      }
    }
  }
}

/** The last events that are wanted, the newest last. */
export async function tailAudit(
  folder: string,
  count: number,
  filter: AuditFilter = {},
): Promise<AuditLine[]> {
  const test = testOf(filter)
  const found: AuditLine[] = []
  const files = await listLogFiles(folder)
  for (let index = files.length - 1; index >= 0 && found.length < count; index--) {
    const file = files[index]!
    if (filter.since !== undefined && endsBefore(files[index + 1], filter.since)) break
    for await (const line of readLogFileBackward(file)) {
      const event = test(line)
      if (event) found.push(event)
      if (found.length >= count) break
    }
  }
  return found.reverse()
}

/** What to follow, from where, and until when. */
export interface FollowOptions {
  readonly filter?: AuditFilter
  /** Only events behind this line; without it, only those that come from now on. */
  readonly after?: number
  readonly signal: AbortSignal
}

/** The events that are wanted as they are written, over any change of files, until the signal ends it. */
export async function* followAudit(folder: string, options: FollowOptions): AsyncGenerator<AuditLine> {
  const { signal } = options
  const test = testOf(options.filter ?? {})
  let last = options.after ?? (await tailAudit(folder, 1))[0]?.seq ?? 0
  // Where to go on reading in which file; a file that was cut by a failed write is read from its beginning.
  let place: { path: string; offset: number } | undefined
  while (!signal.aborted) {
    const files = await listLogFiles(folder)
    const file = files.findLast(({ first }) => first <= last + 1) ?? files[0]
    let advanced = false
    if (file) {
      if (place?.path !== file.path || place.offset > file.bytes) place = { path: file.path, offset: 0 }
      let offset: number = place.offset
      for await (const lines of readLogFile(file, offset)) {
        for (const line of lines) {
          if (!line.complete) continue
          offset = line.end
          const event = parseLine(line.bytes)
          if (!event || event.seq <= last) continue
          last = event.seq
          advanced = true
          if (test(line)) yield event
          if (signal.aborted) return
        }
      }
      place = { path: file.path, offset }
    }
    const next = files.find(({ first }) => first > (file?.first ?? 0))
    // The next file was begun, so this one has ended, even if its last line cannot be read.
    if (!advanced && next) last = Math.max(last, next.first - 1)
    else if (!advanced) await setTimeout(pollMilliseconds, undefined, { signal }).catch(() => undefined)
  }
}

/** A test of a line that looks at its bytes before it parses them. */
function testOf(filter: AuditFilter): (line: RawLine) => AuditLine | undefined {
  const { user, target, type, status, client, session, request, trace, since, until } = filter
  const wanted = Object.entries({
    user,
    target,
    client,
    session_id: session,
    request_id: request,
    trace_id: trace,
    status,
  })
  const equal = wanted.filter((entry): entry is [string, string] => entry[1] !== undefined)
  // Plain values stand in the line as they are; one with characters that JSON escapes is compared only below.
  const needles = equal
    .filter(([, value]) => /^[\x20-\x7e]*$/.test(value))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
  return ({ bytes, complete }) => {
    if (!complete || !needles.every((needle) => bytes.includes(needle))) return undefined
    const line = parseLine(bytes)
    if (!line) return undefined
    if (!equal.every(([key, value]) => (line as unknown as Record<string, unknown>)[key] === value))
      return undefined
    if (type !== undefined && (type.endsWith('.') ? !line.type.startsWith(type) : line.type !== type))
      return undefined
    if (since === undefined && until === undefined) return line
    const time = Date.parse(line.time)
    return time >= (since ?? -Infinity) && time < (until ?? Infinity) ? line : undefined
  }
}

/** Whether everything before a file happened before an instant; a day of doubt is left for clocks that were set. */
function endsBefore(next: LogFile | undefined, since: number): boolean {
  return next !== undefined && Date.parse(next.day) + 2 * dayMilliseconds < since
}
