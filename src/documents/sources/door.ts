/** A database of others, of whatever kind: asked for somebody, and looked at by its operator. */
import type { Pool } from 'pg'
import type { Stop } from '#leaf/stop.ts'
import type { Queryable } from '#state/postgres.ts'
import type { Principal } from '../../core/principal.ts'
import type { Outcome } from '../tables-of-others.ts'
import type { SourceLook } from './catalogue.ts'

/** Who asks, and until when. */
export interface SourceAsking {
  readonly asker?: Principal | undefined
  readonly stop?: Stop | undefined
  /** True if the database must know who asks, because its own rules may depend on it. */
  readonly tells: boolean
}

/** The connections to a source. */
export interface Door {
  /** Looks at the database as its operator does, in a transaction. */
  look<R>(work: (at: SourceLook) => Promise<R>): Promise<R>
  /** Returns where questions of somebody go. */
  queryable(asking: SourceAsking): Queryable
  /** Runs work that writes, in a transaction; its connection and the number of that transaction are given to it. */
  writing?<R>(
    asking: Omit<SourceAsking, 'tells'>,
    how: { readonly dry: boolean; readonly last: () => Promise<void> },
    work: (on: Queryable, transaction: () => Promise<string>) => Promise<R>,
  ): Promise<R>
  /** Tells what became of a transaction that wrote. */
  outcome?(transaction: string): Promise<Outcome>
  close(): Promise<void>
  /** The table in which calls that may be sent again are kept there. */
  readonly writeKeys?: string | undefined
  /** The connections to PostgreSQL, for the statements of own tools. */
  readonly pool?: Pool
}
