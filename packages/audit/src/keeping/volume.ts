/** What the audit log takes, and for how long it is kept at that rate. */
import type { SharedLedger } from '#state/store.ts'
import { listLogFiles } from '../files/log-files.ts'
import type { Retention } from './removal.ts'

const dayMilliseconds = 86_400_000

/** What the log takes now. */
export interface LogVolume {
  readonly lines: number
  /** The bytes on the disk, and those of them that `max_total_bytes` limits. */
  readonly bytes: number
  readonly limited: number
  /** The time of its first line. */
  readonly since: number
}

/** Measures the files of a log; undefined where there are none. `last` is the number of the last line. */
export async function volumeOfFiles(folder: string, last: number): Promise<LogVolume | undefined> {
  const files = await listLogFiles(folder)
  const [first] = files
  if (!first) return undefined
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return { lines: last - first.first + 1, bytes, limited: bytes, since: Date.parse(first.day) }
}

/** Measures the log of daemons that share a database; undefined where it is empty. */
export async function volumeOfLedger(ledger: SharedLedger): Promise<LogVolume | undefined> {
  const writers = (await ledger.writers()).filter(({ last }) => last > 0)
  if (writers.length === 0) return undefined
  const lines = writers.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  const since = Math.min(...writers.map(({ since = Infinity }) => since))
  return { lines, bytes: await ledger.bytes(), limited: await ledger.lineBytes(), since }
}

/** Says what an event takes, and for how long events are kept; `isShort` is true when that is less than the settings say. */
export function holdingOf(
  { lines, bytes, limited, since }: LogVolume,
  { retention_days: wanted, max_total_bytes: most }: Retention,
  now: number,
): { readonly text: string; readonly isShort: boolean } {
  // Of less than a day no rate is known.
  const days = Math.max(1, (now - since) / dayMilliseconds)
  const each = `${Math.round(bytes / Math.max(1, lines))} bytes an event, ${Math.round(lines / days)} events a day`
  const held = Math.floor(most / (limited / days))
  const isShort = most > 0 && held < (wanted === 0 ? Infinity : wanted)
  const short = `${each}: at this rate the log holds ${held} days`
  return {
    text: !isShort
      ? each
      : wanted === 0
        ? `${short} and not for ever, which is set`
        : `${short} of the ${wanted} that are set`,
    isShort,
  }
}
