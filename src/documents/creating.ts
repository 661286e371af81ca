import { actorOf } from '../audit/event.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Transaction } from '../store/store.ts'
import { accessFor, collectionFor, type Ground, requireAction } from './ground.ts'
import { nameFor } from './naming.ts'
import {
  type Change,
  checkDocument,
  compute,
  readData,
  refuseProblems,
  type Warning,
  withDefaults,
} from './preparing.ts'
import { type DocumentView, viewOf } from './reading.ts'
import type { StoredDocument } from './stored.ts'

export interface CreateOptions {
  /** Check everything, then keep nothing. */
  readonly validateOnly?: boolean
}

/** What a change left behind, as the principal may see it. */
export interface Saved {
  readonly document: DocumentView
  readonly warnings: readonly Warning[]
}

export async function createDocument(
  ground: Ground,
  principal: Principal,
  doctype: string,
  data: Readonly<Record<string, unknown>>,
  options: CreateOptions,
): Promise<Saved> {
  const access = accessFor(ground, principal, doctype)
  requireAction(access, 'create')
  return await unlessDry(ground, options.validateOnly ?? false, async (tx) => {
    const change: Change = {
      ground,
      principal,
      access,
      action: 'create',
      tx,
      problems: [],
      warnings: [],
      refused: [],
    }
    const document = await insertDocument(change, data)
    if (!options.validateOnly)
      await ground.audit.recordIn(tx, {
        type: 'document.create',
        status: 'ok',
        ...actorOf(principal),
        target: `${doctype}/${document.id}`,
        data: { fields: Object.keys(data) },
      })
    return { document: viewOf(ground, access, document), warnings: change.warnings }
  })
}

/** Checks a new document and puts it into the store. */
export async function insertDocument(
  change: Change,
  data: Readonly<Record<string, unknown>>,
): Promise<StoredDocument> {
  const { ground, principal, access, tx } = change
  const now = isoTime(ground.clock.now())
  const blank: StoredDocument = {
    id: '',
    owner: principal.user,
    creation: now,
    modified: now,
    modified_by: principal.user,
    docstatus: 0,
  }
  const values = withDefaults(change, readData(change, data, undefined, blank))
  const draft = compute(change, { ...blank, ...values })
  await checkDocument(change, draft, undefined)
  refuseProblems(change)
  const collection = collectionFor(ground, access.doctype, tx)
  const id = await nameFor(
    ground.store,
    tx,
    access.doctype,
    draft,
    data['name'],
    async (name) => (await collection.get(name)) !== undefined,
  )
  const document: StoredDocument = { ...draft, id }
  if (!access.allows('create', document))
    throw new AppError(
      'forbidden',
      `your roles do not allow you to create a ${access.doctype.name} like this`,
    )
  if (await collection.get(id))
    throw new AppError(
      'conflict',
      `the name "${id}" cannot be used for a new ${access.doctype.name}; choose another`,
    )
  return await collection.insert(document)
}

/** Ends a transaction whose work shall not be kept. */
class DryRun extends Error {}

/** Runs the work in a transaction; a dry run does all of it, answers the same, and keeps nothing. */
export async function unlessDry<R>(
  ground: Ground,
  dry: boolean,
  work: (tx: Transaction) => Promise<R>,
): Promise<R> {
  if (!dry) return await ground.store.transaction(work)
  let result: { readonly value: R } | undefined
  try {
    await ground.store.transaction(async (tx) => {
      result = { value: await work(tx) }
      throw new DryRun()
    })
  } catch (error) {
    if (!(error instanceof DryRun)) throw error
  }
  return result!.value
}
