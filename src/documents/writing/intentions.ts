/**
 * What is about to be changed in databases of others: kept and audited before it is, until the end of it is recorded. What a
 * crash left without an end is settled by what became of the transaction there.
 */
import { eventOf, refusalOf } from '#audit/audit.ts'
import { recordableChange } from '#audit/recording.ts'
import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import { all, compared } from '#state/questions.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import { type Principal, principalFor } from '../../core/principal.ts'
import { removeBelongings } from '../belongings.ts'
import { type Documents, reachOf } from '../documents.ts'
import { blankOf, differences } from '../history.ts'
import type { Doctype } from '../platform/platform.ts'
import type { TransactionThere } from '#sources/sources.ts'
import type { Effect, StepThere } from '../tables-of-others.ts'
import { keep, secrecyOf } from '../work.ts'
import { type Elsewhere, settleOnce } from './once.ts'
import { countAnew, Uncounted } from './quota.ts'

/** A change of a document that lies elsewhere, whose end is not recorded yet. */
export interface Intention extends TransactionThere {
  readonly id: string
  readonly doctype: string
  readonly source: string
  readonly by: Pick<Principal, 'user' | 'client' | 'requestId' | 'sessionId' | 'address'>
  /** What its end records. */
  readonly effects: readonly Effect[]
  /** What is kept of the call that may be sent again. */
  readonly once?: string
  /** Set where nobody will ever know what became of it, and an operator has answered for that. */
  readonly told?: ToldOutcome
}

/** What an operator says of a change that its database knows nothing of any more. */
export interface ToldOutcome {
  readonly isDone: boolean
  readonly told_by: string
  readonly reason: string
}

/** Keeps and audits what is about to be done. */
export async function intend(
  documents: Documents,
  principal: Principal,
  {
    doctype,
    step,
    transaction,
    once,
  }: { doctype: Doctype; step: StepThere; transaction: string; once: Elsewhere | undefined },
): Promise<Intention> {
  const { user, client, requestId, sessionId, address } = principal
  const effect = effectOf(doctype, step)
  const intention: Intention = {
    id: randomId(),
    doctype: doctype.name,
    source: doctype.origin!.source,
    transaction,
    time: isoTime(documents.clock.now()),
    by: {
      user,
      requestId,
      ...(client && { client }),
      ...(sessionId !== undefined && { sessionId }),
      ...(address !== undefined && { address }),
    },
    effects: [effect],
    ...(once && { once: once.id }),
  }
  await documents.store.transaction(async (tx) => {
    await once?.begin(tx)
    await tx.in(intentionsOf(documents.store)).insert(intention)
    const changes = (effect.told ?? effect.changes).map((change) =>
      recordableChange(change, secrecyOf(documents)),
    )
    const data = { action: effect.action, intention: intention.id, source: intention.source }
    const target = targetOf(intention)
    await documents.audit.recordIn(
      tx,
      eventOf(principal, { type: 'document.intend', status: 'waiting', target, changes, data }),
    )
  })
  return intention
}

/** Keeps what it has become, where that is not what was intended: the commit comes next. */
export async function intendAs(
  { store }: Documents,
  intention: Intention,
  effects: readonly Effect[],
): Promise<Intention> {
  if (JSON.stringify(effects) === JSON.stringify(intention.effects)) return intention
  const now = { ...intention, effects }
  await store.transaction(async (tx) => void (await tx.in(intentionsOf(store)).put(now)))
  return now
}

/** Records that it was done, unless that is recorded already; `also` is part of the same transaction. */
export async function recordDone(
  documents: Documents,
  doctype: Doctype,
  intention: Intention,
  also: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const principal = principalOf(intention)
  const access = reachOf(documents, principal, doctype)
  await ending(documents, intention, also, async (tx) => {
    const work = { documents, principal, access, tx, dry: false, ends: endOf(intention) }
    for (const { name, action, changes, note, told } of intention.effects) {
      if (action === 'delete') await removeBelongings(work, name)
      await keep(work, name, action, changes, note, told)
    }
  })
}

/** Records that it was not done, and why. */
export async function recordUndone(documents: Documents, intention: Intention, why: unknown): Promise<void> {
  const { effects } = intention
  await ending(documents, intention, settlingOnce(documents, intention, false), async (tx) => {
    const done = {
      type: `document.${effects[0]!.action}`,
      ...refusalOf(why instanceof AppError ? why : notDone),
      target: targetOf(intention),
      data: endOf(intention),
    }
    await documents.audit.recordIn(tx, eventOf(principalOf(intention), done))
  })
}

/** Makes what settles the intentions of a doctype. Their collection is opened at once: `status` tells of it with and without a daemon. */
export function settling(documents: Documents): (doctype: Doctype) => Promise<void> {
  intentionsOf(documents.store)
  return (doctype) => settleIntentions(documents, doctype)
}

/** Settles what a doctype has of intentions without an end; those of transactions under way stay. */
export async function settleIntentions(documents: Documents, doctype: Doctype): Promise<void> {
  for (const intention of await openIntentions(documents.store, doctype.name)) {
    const outcome = await documents.tables!.outcome(doctype, intention)
    if (outcome === 'committed')
      await recordDone(documents, doctype, intention, settlingOnce(documents, intention, true))
    else if (outcome === 'aborted') await recordUndone(documents, intention, notDone)
  }
}

const notDone = new AppError('unavailable', 'the call ended before it was done')

/** Returns what settles, with the end of a change, what is kept of its call. */
export function settlingOnce({ store }: Documents, { once }: Intention, isDone: boolean) {
  return async (transaction: Transaction): Promise<void> => {
    if (once !== undefined) await settleOnce({ store, transaction }, once, isDone)
  }
}

/** Returns the intentions without an end. */
export async function openIntentions(store: Store, doctype?: string): Promise<readonly Intention[]> {
  const query = doctype === undefined ? {} : { holds: all(compared('doctype', '=', doctype)) }
  return (await intentionsOf(store).find(query)).filter(({ told }) => !told)
}

/** Milliseconds after which a change is no longer under way. */
const longest = 60_000

/** Names the changes of which nobody knows yet whether they were made, for operators. */
export async function unknownChanges({
  store,
  clock,
}: Pick<Documents, 'store' | 'clock'>): Promise<string[]> {
  return unknownAmong(await intentionsOf(store).find(), clock.now())
}

/** Names those of which nobody knows yet whether they were made. */
export function unknownAmong(intentions: readonly Intention[], now: number): string[] {
  const since = isoTime(now - longest)
  return intentions
    .filter(({ time, told }) => !told && time < since)
    .map(
      (one) =>
        `whether it was done in the source "${one.source}" is not known: ${changeText(one)}; who has looked there says it by audit accept-outcome`,
    )
}

/** Says what a change is, for operators. */
export function changeText(one: Intention): string {
  const what = `${one.effects[0]!.action} of ${targetOf(one)} by ${one.by.user} at ${one.time}`
  return `${what} (intention ${one.id}, transaction ${one.transaction} there)`
}

/** Returns what the event of its end says of it. */
function endOf({
  id,
  told,
}: Intention): { readonly intention: string } & Partial<Omit<ToldOutcome, 'isDone'>> {
  return { intention: id, ...(told && { told_by: told.told_by, reason: told.reason }) }
}

/** Ends an intention once: whoever comes second finds it gone. */
async function ending(
  documents: Documents,
  intention: Intention,
  also: (tx: Transaction) => Promise<void>,
  record: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const { store } = documents
  const { id, told, effects } = intention
  for (;;) {
    try {
      await store.transaction(async (tx) => {
        const all = tx.in(intentionsOf(store))
        const open = await all.get(id)
        if (open && !open.told) {
          await record(tx)
          // What only an operator told stays named, without what the log and the history hold.
          if (told)
            await all.put({
              ...intention,
              effects: effects.map((one) => ({ ...one, changes: [], told: [] })),
            })
          else await all.delete(id)
        }
        await also(tx)
      })
      return
    } catch (error) {
      if (!(error instanceof Uncounted)) throw error
      await countAnew(documents, error)
    }
  }
}

/** Returns what is recorded of a step that ends as it was meant. */
function effectOf(doctype: Doctype, { before, after }: StepThere): Effect {
  if (before && after)
    return { name: before.id, action: 'update', changes: differences(doctype, before, after) }
  const document = (after ?? before)!
  const [from, to] = after ? [blankOf(after), after] : [document, blankOf(document)]
  const told = differences(doctype, from, to)
  return { name: document.id, action: after ? 'create' : 'delete', changes: [], told }
}

function targetOf({ doctype, effects: [effect] }: Intention): string {
  return effect!.name === '' ? doctype : `${doctype}/${effect!.name}`
}

function principalOf({ by }: Intention): Principal {
  const { user, requestId, ...more } = by
  return { ...principalFor({ id: user, fullName: user, roles: new Set() }, requestId), ...more }
}

/** The name of their collection. */
export const intentionsName = 'platform.intention'

/** Returns where intentions are kept. */
export function intentionsOf(store: Store): Collection<Intention> {
  return store.collection<Intention>({ name: intentionsName, indexes: ['doctype'] })
}
