/** Reading the log: what happened, by whom, when. Reads of its own accord and never holds up writing. */
import { setTimeout } from 'node:timers/promises'
import type { RawLine } from '../line-log/read-lines.ts'
import type { Ledger } from '../store/ledger.ts'
import type { AuditLine } from './event.ts'
import { type AuditFilter, wantedBy } from './filter.ts'
import { ledgerLines, type LogPlace, rawLine } from './ledger-lines.ts'
import { parseLine } from './line.ts'
import { listLogFiles, readLogFile, readLogFileBackward } from './log-files.ts'

const pollMilliseconds = 200
const dayMilliseconds = 86_400_000

/** The events of the log that are wanted, oldest first, compressed files included. */
export async function* searchAudit(place: LogPlace, filter: AuditFilter = {}): AsyncGenerator<AuditLine> {
  const test = wantedBy(filter)
  for await (const lines of linesOf(place, filter, false)) {
    for (const line of lines) {
      const event = test(line)
      if (event) yield event
    }
  }
}

/** The lines among which are those that a filter wants, from one end of the log or from the other. */
async function* linesOf(
  place: LogPlace,
  filter: AuditFilter,
  backward: boolean,
): AsyncGenerator<readonly RawLine[]> {
  if (typeof place !== 'string') {
    yield* ledgerLines(place, filter, backward)
    return
  }
  const files = await listLogFiles(place)
  // A day of doubt is left for clocks that were set.
  const { since = -Infinity } = filter
  const wanted = files.filter((_, index) => {
    const next = files[index + 1]
    return !next || Date.parse(next.day) + 2 * dayMilliseconds >= since
  })
  if (backward) for (const file of wanted.reverse()) yield* readLogFileBackward(file)
  else for (const file of wanted) yield* readLogFile(file)
}

/** The last events that are wanted, the newest last. */
export async function tailAudit(
  place: LogPlace,
  count: number,
  filter: AuditFilter = {},
): Promise<AuditLine[]> {
  const test = wantedBy(filter)
  const found: AuditLine[] = []
  if (count === 0) return found
  search: for await (const lines of linesOf(place, filter, true)) {
    for (const line of lines) {
      const event = test(line)
      if (event) found.push(event)
      if (found.length >= count) break search
    }
  }
  return found.reverse()
}

/** How far a log has come: the last line of each writer, of files that of the one who writes them. */
export type LogPosition = Map<string | undefined, number>

/** Where the log ends now. */
export async function endOf(place: LogPlace): Promise<LogPosition> {
  if (typeof place !== 'string') return new Map((await place.writers()).map(({ id, last }) => [id, last]))
  return new Map([[undefined, (await tailAudit(place, 1))[0]?.seq ?? 0]])
}

/** What to follow, from where, and until when. */
export interface TailOptions {
  readonly filter?: AuditFilter
  /** Only events behind this line; without it, only those that come from now on. */
  readonly after?: number | LogPosition
  readonly signal: AbortSignal
}

/** The events that are wanted as they are written, by whomever, until the signal ends it. */
export async function* followAudit(place: LogPlace, options: TailOptions): AsyncGenerator<AuditLine> {
  const { after = await endOf(place) } = options
  const position = typeof after === 'number' ? new Map([[undefined, after]]) : after
  if (typeof place === 'string') yield* followFiles(place, options, position.get(undefined) ?? 0)
  else yield* followLedger(place, options, position)
}

/** The numbers of each writer have no gaps, and its lines are kept in their order: none is passed over. */
async function* followLedger(
  ledger: Ledger,
  { filter = {}, signal }: TailOptions,
  position: LogPosition,
): AsyncGenerator<AuditLine> {
  const test = wantedBy(filter)
  while (!signal.aborted) {
    let advanced = false
    for (const { id, last } of await ledger.writers()) {
      const seen = position.get(id) ?? 0
      if (last <= seen) continue
      for await (const rows of ledger.read({ writer: id, after: seen })) {
        for (const row of rows) {
          position.set(id, row.seq)
          const event = test(rawLine(row))
          if (event) yield event
          if (signal.aborted) return
        }
      }
      advanced = true
    }
    if (!advanced) await setTimeout(pollMilliseconds, undefined, { signal }).catch(() => undefined)
  }
}

/** Over any change of files. */
async function* followFiles(folder: string, options: TailOptions, after: number): AsyncGenerator<AuditLine> {
  const { signal } = options
  const test = wantedBy(options.filter ?? {})
  let last = after
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
