/** Changes of documents wherever they lie: in our state as one transaction, in a database of others as one there. */
import { AppError } from '#leaf/errors.ts'
import { joined } from '#leaf/names.ts'
import type { Store, Transaction } from '#state/store.ts'
import { type Documents, type Reach, reachOf, unopened, type Work } from '../documents.ts'
import type { Doctype } from '../platform/platform.ts'
import type { Effect, StepThere, Tables } from '../tables-of-others.ts'
import { knownFields } from '../permission.ts'
import { type ChangeOptions, inWork } from '../work.ts'
import { intend, intendAs, type Intention, recordDone, recordUndone } from './intentions.ts'
import { type Elsewhere, lostAnswer } from './once.ts'
import { ensureCounted } from './quota.ts'
import { UnknownThere } from '#sources/sources.ts'
import { RefusedThere } from './refused-there.ts'

/** Runs work that changes one document: as `inWork`, or where the document lies elsewhere in a transaction there. */
export async function inWorkThere<R>(
  access: Reach,
  options: ChangeOptions,
  name: string | undefined,
  run: (work: Work) => Promise<R>,
): Promise<R> {
  const { documents, doctype } = access
  const { write = {} } = doctype.origin ?? {}
  if (Object.keys(write).length === 0) return await inWork(access, options, name, run)
  const once = options.dryRun ? undefined : documents.once?.elsewhere()
  const known = await once?.known(documents.tables?.keysOf(doctype))
  if (known?.elsewhere === 'ended') return known.value as R
  await ensureCounted(documents, doctype, access.asker.principal.user)
  // What was done, and is not kept there any more, is not done again.
  const lost = (): Promise<R> => Promise.reject(new AppError('conflict', lostAnswer))
  const work = known?.elsewhere === 'lost' ? lost : run
  return await changeThere(access, { dry: options.dryRun ?? false, name, once }, work)
}

/** Tells what a trial there cannot undo; nothing of documents of our own. */
export function triedThere({ platform }: Documents, doctype: string): { readonly note?: string } {
  const { origin } = platform.doctypes.get(doctype) ?? {}
  return origin
    ? {
        note: `the source "${origin.source}" did it and rolled it back: numbers that it drew stay used, and what its triggers do outside of it is done`,
      }
    : {}
}

async function changeThere<R>(
  access: Reach,
  {
    dry,
    name,
    once,
  }: { readonly dry: boolean; readonly name: string | undefined; readonly once: Elsewhere | undefined },
  run: (work: Work) => Promise<R>,
): Promise<R> {
  const { documents, doctype } = access
  const { principal } = access.asker
  const effects: Effect[] = []
  let intention: Intention | undefined
  const { tables = unopened(doctype), stop } = documents
  const how = {
    dry,
    name,
    key: tables.keysOf(doctype) === undefined ? undefined : once,
    // The event stands on disk before anything changes there; the row is locked meanwhile.
    first: async (step: StepThere, transaction: string) => {
      if (!dry) intention = await intend(documents, principal, { doctype, step, transaction, once })
    },
    last: async () => {
      if (intention) intention = await intendAs(documents, intention, effects)
    },
  }
  let done: { readonly value: R } | undefined
  try {
    const value = await tables.change(doctype, { asker: principal, stop }, how, async (within) => {
      const inside = { ...documents, tables: within }
      const tx = unkept(documents.store)
      const reach = reachOf(inside, principal, doctype)
      done = { value: await run({ documents: inside, principal, access: reach, tx, dry, effects }) }
      return done.value
    })
    // Kept there by the same call, sent before.
    if (!done) once?.repeated()
    done ??= { value }
  } catch (error) {
    const isUnknown = intention !== undefined && error instanceof UnknownThere
    const isDone = isUnknown && (await wasDone(tables, doctype, intention!))
    if (isDone !== true) {
      const told = inWords(access, error)
      // Where this cannot be recorded now, or nobody knows, it is settled later.
      if (intention && isDone === false) await recordUndone(documents, intention, told).catch(() => undefined)
      throw told
    }
  }
  const { value } = done!
  if (intention)
    await recordDone(documents, doctype, intention, async (tx) => once?.end(tx, value)).catch(
      (cause: unknown) => {
        const why = `it was done in the source "${doctype.origin!.source}", and could not be recorded here yet: read it before you change it again`
        throw new AppError('unavailable', why, { cause })
      },
    )
  return value
}

/** Tells whether a transaction was committed whose connection broke just then; undefined while that is not known. */
async function wasDone(tables: Tables, doctype: Doctype, intention: Intention): Promise<boolean | undefined> {
  const outcome = await tables.outcome(doctype, intention).catch(() => undefined)
  return outcome === 'committed' ? true : outcome === 'aborted' ? false : undefined
}

/** Our state beside a transaction of a source: it is read, and what is kept of the change is kept after it. */
function unkept({ clock }: Store): Transaction {
  return {
    in: (collection) => collection,
    onCommit: () => undefined,
    announce: () => undefined,
    time: () => Promise.resolve(clock.now()),
  }
}

/** Words a refusal of the source for the caller, who is told of no field that it does not know. */
function inWords(access: Reach, error: unknown): unknown {
  const { name, origin } = access.doctype
  if (error instanceof UnknownThere)
    return new AppError(
      'unavailable',
      `${name}: the connection to the source "${origin!.source}" broke at the end, and whether this was done is not known yet: read it before you change it again`,
      { cause: error },
    )
  if (!(error instanceof RefusedThere)) return error
  const known = knownFields(access, access.doctype)
  const fields = error.fields.filter((field) => known.has(field))
  if (fields.length === 0) {
    const why =
      error.fields.length === 0 || error.code !== 'invalid'
        ? error.message
        : 'its table refuses it for a reason that this doctype does not show; its operator has been told'
    return new AppError(error.code, `${name}: ${why}; nothing was changed`, { cause: error })
  }
  const problems = fields.map((field) => `${field}: ${error.message}`)
  return new AppError(error.code, `${name}: ${joined(problems)}`, { cause: error, data: { problems } })
}
