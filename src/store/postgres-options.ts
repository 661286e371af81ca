import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Migration } from './migrate.ts'

/** How the state in a database is opened. */
export interface PostgresStoreOptions {
  /** `postgresql://user:password@host/database`; a secret. */
  readonly url: string
  /** At most so many connections to the database. */
  readonly connections?: number
  readonly clock: Clock
  /** Instead of the database's own clock, for who moves time. */
  readonly databaseClock?: Clock
  readonly log: Log
  readonly migrations?: readonly Migration[]
  /** Where the state is kept as it was before it is migrated; without a folder it is not kept. */
  readonly backupFolder?: string
  /** Called once it is closed. */
  readonly closed?: () => void
  readonly sweepMilliseconds?: number
  readonly transactionMilliseconds?: number
  /** How often the database is looked at, so that `stats` tells when it is gone. */
  readonly lookMilliseconds?: number
  /** How long it may take to answer a look. */
  readonly silenceMilliseconds?: number
}
