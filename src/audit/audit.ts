/**
 * The audit log: append-only files of JSON lines, each with the hash of the line before, signed now and
 * then.
 *
 * An event (`event.ts`) is redacted and bounded (`line.ts`), goes through the `outbox.ts` when it
 * belongs to a transaction, and is appended by `log-writer.ts`, which also signs (`checkpoint.ts`).
 * `open-audit.ts` ties these together, keeps old files in bounds (`retention.ts`) and hands lines on
 * (`forward.ts` to `syslog.ts` and `webhook.ts`). Reading never goes through the writer: `search.ts`,
 * `summary.ts`, `export.ts` and `verify.ts` read the files themselves. What other folders need is this
 * file.
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
