/** A change to documents as one transaction: the change, its history and its audit event are kept together or not at all. */
import { eventOf } from '#audit/audit.ts'
import { type AuditedChange, recordableChange, type Secrecy } from '#audit/recording.ts'
import { isoTime } from '#leaf/clock.ts'
import type { Transaction } from '#state/store.ts'
import type { Documents, Reach, Work } from './documents.ts'
import { recordChange } from './history.ts'
import { lastOfSeries } from './writing/naming.ts'
import { bytesOf, charge, countAnew, Uncounted, usageOf } from './writing/quota.ts'

/** The options of every change. */
export interface ChangeOptions {
  /** When true, does everything, then keeps nothing. */
  readonly dryRun?: boolean
  /** The name leased for the document that is created. */
  readonly leased?: string | undefined
}

/** Ends a transaction whose work must not be kept. */
class DryRun extends Error {}

/**
 * Runs the work in a transaction; a dry run does all of it, returns the same, and keeps nothing. Work that a repeated
 * call has done before is not done again. With the name of the one document that is changed, it is read at once.
 */
export async function inWork<R>(
  access: Reach,
  { dryRun: dry = false, leased }: ChangeOptions,
  name: string | undefined,
  run: (work: Work) => Promise<R>,
): Promise<R> {
  const { documents, doctype } = access
  const { principal } = access.asker
  let result: { readonly value: R } | undefined
  const work = (tx: Transaction): Promise<R> => run({ documents, principal, access, tx, dry, leased })
  const inTransaction = dry ? work : (documents.once?.next(work) ?? work)
  const { naming } = doctype
  const isNumbered = name === undefined && leased === undefined && naming.rule === 'series'
  const reads = [
    ...(name === undefined || doctype.origin ? [] : [[access.collection(), name] as const]),
    // Where nothing is kept, nobody need take turns.
    ...(dry ? [] : [usageOf(documents.store, doctype, principal.user)]),
    ...(dry || !isNumbered ? [] : [lastOfSeries(documents.store, naming.series)]),
  ]
  for (;;) {
    try {
      await documents.store.transaction(
        async (tx) => {
          result = { value: await inTransaction(tx) }
          if (dry) throw new DryRun()
        },
        { reads },
      )
      return result!.value
    } catch (error) {
      if (error instanceof DryRun) return result!.value
      if (!(error instanceof Uncounted)) throw error
      await countAnew(documents, error)
    }
  }
}

/** Records what was done to a document, in its history and in the audit log, which may be `told` more. */
export async function keep(
  work: Work,
  name: string,
  action: string,
  changes: readonly AuditedChange[],
  note?: string,
  told = changes,
): Promise<void> {
  const { documents, principal, tx, dry, effects, ends } = work
  const { doctype } = work.access
  // The log must not tell of what never happened.
  if (dry && !effects) return
  await charge(work, principal.user, changes.length === 0 ? 0 : bytesOf(changes))
  if (effects) {
    effects.push({
      name,
      action,
      changes,
      ...(note !== undefined && { note }),
      ...(told !== changes && { told }),
    })
    return
  }
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
      changes: told.map((change) => recordableChange(change, secrecyOf(documents))),
      ...((note ?? ends) !== undefined && { data: { ...(note !== undefined && { note }), ...ends } }),
    }),
  )
}

/** Returns what no event about documents keeps. */
export function secrecyOf({ unrecorded, platform }: Pick<Documents, 'unrecorded' | 'platform'>): Secrecy {
  return { names: unrecorded ?? platform.confidential }
}
