/** A database of others, of whatever kind: asked for somebody, and looked at by its operator. */
import type { Pool } from 'pg'
import type { Stop } from '#leaf/stop.ts'
import type { Queryable } from '#state/postgres.ts'
import type { SourceLook } from './catalogue.ts'
import type { Outcome, TransactionThere } from './in-writing.ts'
import type { WriteKeys } from './write-keys.ts'

/** Who asks, as far as a database is told. */
export interface Caller {
  readonly user: string
  readonly roles: ReadonlySet<string>
  readonly client?: { readonly id: string } | undefined
}

/** Who asks, and until when. */
export interface SourceAsking {
  readonly asker?: Caller | undefined
  readonly stop?: Stop | undefined
  /** True if the database must know who asks, because its own rules may depend on it. */
  readonly tells: boolean
}

/** Runs work that writes, in a transaction; its connection is given to it, and what gives that transaction its name there. */
export type Writing = <R>(
  asking: Omit<SourceAsking, 'tells'>,
  how: { readonly dry: boolean; readonly last: () => Promise<void> },
  work: (on: Queryable, transaction: () => Promise<string>) => Promise<R>,
) => Promise<R>

/** The connections to a source. */
export interface Door {
  /** Looks at the database as its operator does, in a transaction. */
  look<R>(work: (at: SourceLook) => Promise<R>): Promise<R>
  /** Returns where questions of somebody go. */
  queryable(asking: SourceAsking): Queryable
  readonly writing: Writing
  /** Tells what became of a transaction that wrote. */
  outcome(of: TransactionThere): Promise<Outcome>
  close(): Promise<void>
  /** The table in which calls that may be sent again are kept there. */
  readonly writeKeys: WriteKeys | undefined
  /** True if each change leaves a mark in that table, without which nobody would know what became of it. */
  readonly marks: boolean
  /** The connections to PostgreSQL, for the statements of own tools. */
  readonly pool?: Pool
}
