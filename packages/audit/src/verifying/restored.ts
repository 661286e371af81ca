/** Restores in the log: a log after a restore records it, so that what the backup knew of the old log is missed no more. */
import { randomId } from '#leaf/secrets.ts'
import type { AuditLine } from '../audit.ts'
import type { KnownLog } from './known-log.ts'
import { type ToldEvent, toldBefore } from '../line.ts'

/** The backup that a state was made from. */
export interface RestoredBackup {
  readonly name: string
  /** The time when the backup was made, ISO 8601. */
  readonly made: string
}

/** Returns the event of a restore; `known` is how far the log of each daemon had come, as the backup knows it. */
export function restoreOf(
  { name, made }: RestoredBackup,
  known: readonly KnownLog[],
  time: string,
): ToldEvent {
  const ends = known.map(({ id, key, seq, hash }) => ({ log: id, key, seq, hash }))
  const event = { type: 'audit.restore', status: 'ok', user: 'cli', target: name } as const
  // Made here and not by `tellEvent`: a hash would be redacted.
  return { ...toldBefore(randomId(), time, { ...event, data: { made, ends } }), sealed: true }
}

/** Describes, for people, the restore that a line of a log records. */
export function restoredIn({ seq, time, target, data = {}, again }: AuditLine): string {
  const ends = Array.isArray(data['ends'])
    ? (data['ends'] as readonly Readonly<Record<string, unknown>>[])
    : []
  const old = ends.map(
    ({ log, key, seq: last }) => `line ${Number(last)} (${String(log)}, key ${String(key)})`,
  )
  const begins = seq === 1 && again === undefined ? 'this log begins at' : 'this log goes on from'
  const knew = old.length > 0 ? `which knew the log to ${old.join(', ')}` : 'which knew of no log'
  return `${begins} the restore, at ${time}, of the backup ${String(target)} of ${String(data['made'])}, ${knew}`
}
