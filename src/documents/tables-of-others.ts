/** What the documents of a site ask of tables of others that hold some of them. */
import type { Stop } from '#leaf/stop.ts'
import type { Collection } from '#state/store.ts'
import type { AuditedChange } from '#audit/recording.ts'
import type { Principal } from '../core/principal.ts'
import type { Outcome, TransactionThere } from '#sources/sources.ts'
import type { Doctype } from './platform/platform.ts'
import type { Repeatable } from './writing/once.ts'
import type { StoredDocument } from './writing/stored.ts'

/** Who asks, as databases of others are told, and until when. */
interface TableAsking {
  readonly asker?: Principal | undefined
  readonly stop?: Stop | undefined
}

/** Opens the documents of doctypes that lie in tables of others. */
export interface Tables {
  collection(doctype: Doctype, of: TableAsking): Collection<StoredDocument>
  /** Runs work in one transaction there, whose documents it is given. Throws RefusedThere or UnknownThere, or AppError. */
  change<R>(
    doctype: Doctype,
    of: TableAsking,
    how: ChangeThere,
    work: (tables: Tables) => Promise<R>,
  ): Promise<R>
  /** Returns the table of its source, if there is one, that keeps calls which may be sent again. */
  keysOf(doctype: Doctype): string | undefined
  /** Tells what became of a transaction that changed documents of the doctype. */
  outcome(doctype: Doctype, of: TransactionThere): Promise<Outcome>
}

/** A change of one document that lies elsewhere. */
export interface ChangeThere {
  /** The name of the document that is changed; undefined for a new one. */
  readonly name: string | undefined
  /** True when nothing of it is kept. */
  readonly dry: boolean
  /** Set for a call that may be sent again, where its source keeps those: what the first gave is then given again. */
  readonly key?: Repeatable | undefined
  /** Told of the change and of its transaction there, before anything is changed. */
  readonly first: (step: StepThere, transaction: string) => Promise<void>
  /** Told before the commit. */
  readonly last: () => Promise<void>
}

/** A document before and after a change: one of them is missing where it is made or deleted. */
export interface StepThere {
  readonly before: StoredDocument | undefined
  readonly after: StoredDocument | undefined
}

/** What is recorded of a change. */
export interface Effect {
  readonly name: string
  readonly action: string
  readonly changes: readonly AuditedChange[]
  readonly note?: string
  /** What the audit log is told, where that is more. */
  readonly told?: readonly AuditedChange[]
}
