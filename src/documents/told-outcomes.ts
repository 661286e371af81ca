/** Changes in databases of others whose outcome nobody will ever know but who has looked there: operators tell it. */
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { readState } from '#state/operations.ts'
import type { Stored } from '#state/store.ts'
import type { Documents } from './documents.ts'
import {
  changeText,
  type Intention,
  intentionsName,
  intentionsOf,
  recordDone,
  recordUndone,
  settleIntentions,
  settlingOnce,
  type ToldOutcome,
  unknownAmong,
} from './writing/intentions.ts'

/**
 * Ends a change as an operator says who has looked, and returns what it is. AppError `not_found` for one that has its end,
 * `conflict` for one of which the database knows, which is settled by that, `unavailable` while that does not answer.
 */
export async function acceptOutcome(documents: Documents, id: string, told: ToldOutcome): Promise<string> {
  const found = await intentionsOf(documents.store).get(id)
  if (!found || found.told)
    throw new AppError(
      'not_found',
      `no change without an end has the intention "${id}" (audit verify names them)`,
    )
  const doctype = documents.platform.doctypes.get(found.doctype)
  if (doctype?.origin?.source !== found.source)
    throw new AppError(
      'conflict',
      `nobody can ask the source "${found.source}" before ${found.doctype} documents lie there again: put that back into the site`,
    )
  const outcome = await documents.tables!.outcome(doctype, found).catch((cause: unknown) => {
    const why = `the source "${found.source}" does not answer, and may know it: try again when it does`
    throw new AppError('unavailable', why, { cause })
  })
  if (outcome === 'in progress') throw new AppError('conflict', 'it is under way there: wait for its end')
  if (outcome !== 'unknown') {
    await settleIntentions(documents, doctype)
    const was = outcome === 'committed' ? 'was done' : 'was not done'
    throw new AppError(
      'conflict',
      `the source "${found.source}" knows that it ${was}, and that is recorded now`,
    )
  }
  const intention = { ...found, told }
  if (told.isDone) await recordDone(documents, doctype, intention, settlingOnce(documents, intention, true))
  else
    await recordUndone(
      documents,
      intention,
      new AppError('unavailable', 'an operator says that it was not done'),
    )
  return changeText(intention)
}

/** Names the changes whose outcome only an operator told. */
export async function toldChanges({ store }: Pick<Documents, 'store'>): Promise<string[]> {
  return toldAmong(await intentionsOf(store).find())
}

function toldAmong(intentions: readonly Intention[]): string[] {
  return intentions.flatMap(({ told, ...one }) => {
    if (!told) return []
    const was = told.isDone ? 'was done' : 'was not done'
    return `told by an operator (${told.told_by}: ${told.reason}): it ${was} in the source "${one.source}": ${changeText(one)}`
  })
}

/** Names both as they stand in the files of an embedded state, which is not opened; nothing of one that cannot be read. */
export async function changesOnDisk(
  folder: string,
  clock: Clock,
): Promise<{ readonly unknown: readonly string[]; readonly told: readonly string[] }> {
  const found = new Map<string, Stored>()
  const note = (collection: string, id: string, document: Stored | null): void => {
    if (collection !== intentionsName) return
    if (document) found.set(id, document)
    else found.delete(id)
  }
  const reader = {
    document: (collection: string, document: Stored) => note(collection, document.id, document),
    transaction: (changes: readonly { collection: string; id: string; document: Stored | null }[]) =>
      changes.forEach(({ collection, id, document }) => note(collection, id, document)),
    fault: () => undefined,
  }
  await readState(folder, reader).catch(() => undefined)
  const intentions = [...found.values()] as Intention[]
  return { unknown: unknownAmong(intentions, clock.now()), told: toldAmong(intentions) }
}
