/** The rules of removal for files and ledger: what of a log may go, what outlives the rest, and whether a removal was allowed. */
import { isoTime } from '#leaf/clock.ts'
import type { RawLine } from '#state/lines.ts'
import type { AuditEvent, AuditLine } from '../audit.ts'
import { lineHash, parseLine, type ToldEvent, toldBefore } from '../line.ts'
import type { AuditSettings } from '../settings.ts'

const dayMilliseconds = 86_400_000
/** The least age, in days, of lines that may be removed, whatever the settings say. */
const leastDays = 30

/** The limits on the age and total size of lines; 0 stands for no limit. */
export type Retention = Pick<AuditSettings, 'retention_days' | 'max_total_bytes'>

/** The nouns of events about the log itself, the site, users and the command line: they outlive the others. */
const lastingNouns: ReadonlySet<string> = new Set([
  'account',
  'api_key',
  'audit',
  'cli',
  'library',
  'password',
  'second_factor',
  'site',
  'user',
])

/** The times before which lines may go, for their age and for lack of room. */
export interface Deadlines {
  readonly age: number
  readonly room: number
}

export function deadlines({ retention_days: days }: Retention, now: number): Deadlines {
  // One day more: the day of a line is not over yet.
  const before = (count: number): number => now - (count + 1) * dayMilliseconds
  return { age: days === 0 ? -Infinity : before(Math.max(days, leastDays)), room: before(leastDays) }
}

/** The first lines of a writer that may go. */
export interface Removal {
  readonly through: number
  /** The time of the newest of these lines. */
  readonly until: number
  /** The lines among them that are recorded again. */
  readonly lasting: readonly AuditLine[]
}

/** The points at which removal may end. */
export interface RemovalBounds {
  readonly excess: number
  readonly last: number
  readonly ends?: (seq: number) => boolean
  /** The approximate maximum of lines to be recorded again at once. */
  readonly lasting?: number
}

/**
 * Finds how far the first lines may go: as far as they are chained and as old as they say themselves; tampered lines
 * stay, to be reported. Lines through `excess` go for lack of room; removal may end at some lines only, the last of
 * which is `last`.
 */
export async function removable(
  lines: AsyncIterable<readonly RawLine[]>,
  { age, room }: Deadlines,
  { excess, last: end, ends, lasting: most = Infinity }: RemovalBounds,
): Promise<Removal | undefined> {
  let found: (Omit<Removal, 'lasting'> & { readonly count: number }) | undefined
  let until = -Infinity
  const lasting: AuditLine[] = []
  let last: { readonly line: AuditLine; readonly hash: string } | undefined
  const isOld = ({ seq, time: text }: AuditLine): boolean => {
    const time = Date.parse(text)
    return time < age || (seq <= excess && time < room)
  }
  const take = ({ line }: NonNullable<typeof last>): void => {
    const time = Date.parse(line.time)
    if (isOld(line)) until = Math.max(until, time)
    if (time >= age && isLasting(line)) lasting.push(line)
    if (Number.isFinite(until) && (ends?.(line.seq) ?? true))
      found = { through: line.seq, until, count: lasting.length }
  }
  walk: for await (const read of lines)
    for (const { bytes } of read) {
      const line = parseLine(bytes)
      const isChained = line !== undefined && (last === undefined || last.hash === line.prev)
      if (isChained && last) take(last)
      last = undefined
      if (!isChained || line.seq > end || lasting.length >= most) break walk
      // A signature may come long after what it signs.
      if (!isSignature(line) && !isOld(line)) break walk
      last = { line, hash: lineHash(bytes) }
    }
  // Nothing follows it; its writer is long gone, and others have signed how far it came.
  if (last) take(last)
  return found && { through: found.through, until: found.until, lasting: lasting.slice(0, found.count) }
}

function isLasting(line: AuditLine): boolean {
  return !isSignature(line) && lastingNouns.has(line.type.slice(0, line.type.indexOf('.')))
}

function isSignature({ type }: AuditLine): boolean {
  return type === 'audit.checkpoint'
}

/** Returns a removed line as the event that is recorded again in its place. */
export function toldAgain(line: AuditLine): ToldEvent {
  const { seq, writer, time, id, prev: _, ...event } = line
  const again = { seq, ...(writer !== undefined && { writer }) }
  return toldBefore(id, time, { again, ...event })
}

/** Returns the event that says what is removed, and under which setting. */
export function pruneOf(
  { through, until, lasting }: Removal,
  { age }: Deadlines,
  { retention_days, max_total_bytes }: Retention,
  more: Readonly<Record<string, unknown>>,
): AuditEvent {
  const setting = until < age ? 'retention_days' : 'max_total_bytes'
  const data = { through, until: isoTime(until), lasting: lasting.length, setting }
  return {
    type: 'audit.prune',
    status: 'ok',
    user: 'system',
    data: { ...more, ...data, retention_days, max_total_bytes },
  }
}

/** A removal of first lines, as a line of the log reports it. */
export interface ToldPrune {
  readonly place: string
  readonly seq: number
  /** The writer of these lines, where several write; `isOwn` when it removed them itself. */
  readonly writer: string | undefined
  readonly isOwn: boolean
  readonly through: number
  /** The fault of the removal. */
  readonly fault: string | undefined
  readonly note: string
}

/** Reads the removal that a line reports. Until 2.13 no line gave the age of what was removed or the setting. */
export function prunedIn({ seq, time, data = {}, writer: by }: AuditLine, place: string): ToldPrune {
  const { through, writer, until, setting } = data
  const what = `the lines through ${Number(through)}`
  const told = `${what} were removed by housekeeping at ${time}`
  const prune = {
    place,
    seq,
    writer: typeof writer === 'string' ? writer : by,
    isOwn: writer === undefined || writer === by,
    through: Number(through) || 0,
    fault: undefined,
    note: told,
  }
  if (typeof setting !== 'string' || typeof until !== 'string') return prune
  const value = Number(data[setting])
  const least = setting === 'retention_days' ? Math.max(leastDays, value) : leastDays
  const isOld = Date.parse(time) - Date.parse(until) >= least * dayMilliseconds
  const note = `${told}, the newest of ${until}, under ${setting}: ${value}`
  return { ...prune, note, fault: isOld ? undefined : `${note}, though lines stay for ${least} days` }
}
