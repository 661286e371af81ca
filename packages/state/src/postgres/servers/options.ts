import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import type { AnnouncementWay } from '../telling/announcements.ts'
import { codeOf, noConnectionLeft } from './errors.ts'
import type { Locking } from '../running/locks.ts'
import type { Migration } from '../../migrate.ts'

/** The options for opening the state in a database. */
export interface PostgresStoreOptions {
  /** `postgresql://user:password@host/database`; a secret. */
  readonly url: string
  /** The most connections to the database. */
  readonly connections?: number
  readonly clock: Clock
  /** A clock to use instead of the database's own, for callers that move time. */
  readonly databaseClock?: Clock
  readonly log: Log
  readonly migrations?: readonly Migration[]
  /** The state folder, for the backup made before a migration and for the history of the database that was seen. */
  readonly folder?: string
  /** Accepts a server that lacks known history, where no other answers: an operator is about to accept the loss. */
  readonly acceptsOlder?: boolean
  /** How daemons lock and hear each other, whatever the server has; of a state that is made, how it locks. */
  readonly locking?: Locking
  readonly announcements?: AnnouncementWay
  /** Called once the store is closed. */
  readonly closed?: () => void
  /** Milliseconds to wait, at the start, for a database that has no connection left. */
  readonly startMilliseconds?: number
  readonly sweepMilliseconds?: number
  readonly transactionMilliseconds?: number
  /** Milliseconds between two looks at the database, so that `stats` tells when it is gone. */
  readonly lookMilliseconds?: number
  /** Milliseconds that it may take to answer a look. */
  readonly silenceMilliseconds?: number
}

const againMilliseconds = 1_000

/** Starts something on a database; waits for a while where it has no connection left. */
export async function whenThereIsRoom<R>(
  { startMilliseconds = 60_000, log }: Pick<PostgresStoreOptions, 'startMilliseconds' | 'log'>,
  start: () => Promise<R>,
): Promise<R> {
  const end = performance.now() + startMilliseconds
  for (;;) {
    try {
      return await start()
    } catch (error) {
      const isFull = error instanceof AppError && codeOf(error.cause) === noConnectionLeft
      if (!isFull || performance.now() > end) throw error
      log.warn('the database has no connection left, so this daemon waits for one')
      await wait(againMilliseconds)
    }
  }
}
