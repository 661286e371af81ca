/** Reading the log: what happened, by whom, when. Reads files of its own accord and never holds up writing. */
import { setTimeout } from 'node:timers/promises'
import type { AuditLine } from './event.ts'
import { type AuditFilter, wantedBy } from './filter.ts'
import { parseLine } from './line.ts'
import { listLogFiles, type LogFile, readLogFile, readLogFileBackward } from './log-files.ts'

const pollMilliseconds = 200
const dayMilliseconds = 86_400_000

/** The events of the log that are wanted, oldest first, compressed files included. */
export async function* searchAudit(folder: string, filter: AuditFilter = {}): AsyncGenerator<AuditLine> {
  const test = wantedBy(filter)
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
  const test = wantedBy(filter)
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
export interface TailOptions {
  readonly filter?: AuditFilter
  /** Only events behind this line; without it, only those that come from now on. */
  readonly after?: number
  readonly signal: AbortSignal
}

/** The events that are wanted as they are written, over any change of files, until the signal ends it. */
export async function* followAudit(folder: string, options: TailOptions): AsyncGenerator<AuditLine> {
  const { signal } = options
  const test = wantedBy(options.filter ?? {})
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

/** Whether everything before a file happened before an instant; a day of doubt is left for clocks that were set. */
function endsBefore(next: LogFile | undefined, since: number): boolean {
  return next !== undefined && Date.parse(next.day) + 2 * dayMilliseconds < since
}
