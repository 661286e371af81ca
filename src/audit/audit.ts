/**
 * The audit log: lines of JSON that are only ever added, each with the hash of the line before, signed now and then.
 *
 * An event (`event.ts`) is redacted and bounded (`line.ts`) and becomes a line at the end of its writer's `chain.ts`, which
 * also signs (`checkpoint.ts`). A daemon that is alone keeps files (`file-log.ts`: `log-writer.ts`, the `outbox.ts` for
 * events of transactions, `retention.ts`); daemons that share a database keep its ledger (`ledger-log.ts`:
 * `ledger-writer.ts`, each with a chain of its own, what a change tells in its transaction). `open-audit.ts` ties these
 * together and hands lines on (`forward.ts` to `syslog.ts` and `webhook.ts`). Reading never goes through the writer:
 * `search.ts`, `summary.ts` and `export.ts` read files or ledger, `verify.ts` and `verify-ledger.ts` check them
 * (`chain-check.ts`). What other folders need is this file.
 */
import type { Transaction } from '../store/store.ts'
import type { AuditEvent } from './event.ts'

/** Where everything that matters is told (D12). */
export interface Audit {
  /**
   * Tells an event. It is written within 20 ms together with others; the returned promise settles
   * when it is on disk, and need not be waited for. AppError `unavailable` at once when the log cannot
   * be written (full disk): then nothing that must be audited may be done.
   */
  record(event: AuditEvent): Promise<void>
  /** Tells an event as part of a transaction: it is kept if and only if the transaction is. */
  recordIn(transaction: Transaction, event: AuditEvent): Promise<void>
  /** Throws AppError `unavailable` while the log cannot be written; on a full disk, reading can be told for longer than the rest. */
  requireWritable(reading?: boolean): void
}
