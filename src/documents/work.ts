/** A change to documents as one transaction: what is done, its history and its audit event are kept together or not at all. */
import { type AuditedChange, eventOf } from '../audit/event.ts'
import { isoTime } from '../core/clock.ts'
import type { Principal } from '../core/principal.ts'
import { redact } from '../core/redact.ts'
import type { Transaction } from '../store/store.ts'
import type { Documents } from './documents.ts'
import { recordChange } from './history.ts'
import type { Doctype, Platform } from './platform.ts'

/** A transaction under way, and for whom. */
export interface Work {
  readonly documents: Documents
  readonly principal: Principal
  readonly tx: Transaction
  /** Nothing of it will be kept. */
  readonly dry: boolean
}

/** What every change can be told. */
export interface ChangeOptions {
  /** Do everything, then keep nothing. */
  readonly dryRun?: boolean
}

/** Ends a transaction whose work shall not be kept. */
class DryRun extends Error {}

/**
 * Runs the work in a transaction; a dry run does all of it, answers the same, and keeps nothing. What a call that comes
 * again has done before is not done again.
 */
export async function inWork<R>(
  documents: Documents,
  principal: Principal,
  dry: boolean,
  run: (work: Work) => Promise<R>,
): Promise<R> {
  let result: { readonly value: R } | undefined
  const work = (tx: Transaction): Promise<R> => run({ documents, principal, tx, dry })
  const inTransaction = dry ? work : (documents.once?.next(work) ?? work)
  try {
    await documents.store.transaction(async (tx) => {
      result = { value: await inTransaction(tx) }
      if (dry) throw new DryRun()
    })
  } catch (error) {
    if (!(error instanceof DryRun)) throw error
  }
  return result!.value
}

/** Keeps what was done to a document, in its history and in the audit log, which may be `told` more. */
export async function keep(
  { documents, principal, tx, dry }: Work,
  doctype: Doctype,
  name: string,
  action: string,
  changes: readonly AuditedChange[],
  note?: string,
  told = changes,
): Promise<void> {
  // The log must not tell of what never happened.
  if (dry) return
  await recordChange(documents.store, tx, doctype, {
    document: name,
    time: isoTime(documents.clock.now()),
    user: principal.user,
    ...(principal.client && { client: principal.client.name }),
    action,
    changes,
    ...(note !== undefined && { note }),
  })
  await documents.audit.recordIn(
    tx,
    eventOf(principal, {
      type: `document.${action}`,
      status: 'ok',
      target: `${doctype.name}/${name}`,
      changes: told.map((change) => openChange(documents.platform, change)),
      ...(note !== undefined && { data: { note } }),
    }),
  )
}

/** A change as everyone may know it who reads the log; `items[row].qty` is as open as `items` and `qty` are. */
function openChange({ confidential }: Platform, { field, from, to }: AuditedChange): AuditedChange {
  const names = field.split(/\[.*\]\.?/)
  const name = names.find((one) => confidential.has(one)) ?? names.at(-1)!
  const open = (value: unknown): unknown =>
    (redact({ [name]: value }, [], { names: confidential }) as Record<string, unknown>)[name]
  return { field, from: open(from), to: open(to) }
}
