/**
 * The audit log: append-only lines of JSON, each with the hash of the line before, signed at intervals.
 *
 * An event (`event.ts`) is redacted and bounded (`line.ts`) and becomes a line at the end of its writer's `chain.ts`, which
 * also signs (`checkpoint.ts`). Lines lie in a ledger (`#state/ledger.ts`), to which `writer.ts` adds them: in `files/` of a
 * daemon that is alone (`file-ledger.ts`; `outbox.ts` holds events of transactions until they are there), or in the `ledger/`
 * of a database that daemons share (each with a chain of its own; events of a change are written in its transaction;
 * `ledger-reserve.ts` serves while the database has no room, and `known-writers.ts` lists whom a daemon believes).
 * `housekeeping.ts` removes what is old from either: `keeping.ts` decides which retention is in force, `removal.ts` how far
 * removal goes, what outlives it, and whether it was allowed. `open-audit.ts` ties these together, checks the end of the
 * log that it opens (`log-tail.ts`) and forwards lines (`forward/`). Reading never goes through the writer: `search.ts`,
 * `summary.ts` and `export.ts` read a ledger, `verify.ts` checks it (`chain-check.ts`), `copy.ts` copies it. Other folders
 * need only this file.
 */
import type { Log } from '#leaf/log.ts'
import type { Transaction } from '#state/store.ts'
import type { AuditEvent } from './event.ts'

/** The recorder of everything that matters (D12). */
export interface Audit {
  /**
   * Records an event. It is written within 20 ms together with others; the returned promise settles
   * when it is on disk, and need not be awaited. AppError `unavailable` at once when the log cannot
   * be written (full disk): then nothing that must be audited may be done. For an event that names documents, also
   * after five seconds: then they must not be shown (`recordAnswer`).
   */
  record(event: AuditEvent): Promise<void>
  /** Records an event as part of a transaction: it is kept if and only if the transaction is. */
  recordIn(transaction: Transaction, event: AuditEvent): Promise<void>
  /** Throws AppError `unavailable` while the log cannot be written; on a full disk, reads go on being recorded for longer. */
  requireWritable(reading?: boolean): void
}

/** Records an answer. Waits when it shows documents; throws AppError `unavailable` when they must not be shown. */
export async function recordAnswer(audit: Audit, log: Log, event: AuditEvent): Promise<void> {
  const kept = audit.record(event)
  kept.catch((fault: unknown) => {
    const { type, target, request_id } = event
    log.error('what was answered could not be audited', { type, target, request_id, fault })
  })
  if (event.documents) await kept
}
