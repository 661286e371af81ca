import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { type Change, changeOf, refuseProblems, type Warning } from './change.ts'
import { checkStored } from './checking.ts'
import { accessFor, collectionFor, type Documents, requireAction } from './documents.ts'
import { blankOf, differences } from './history.ts'
import { newBy, submitIn } from './lifecycle.ts'
import { nameFor } from './naming.ts'
import { compute, readData, withDefaults } from './preparing.ts'
import { type DocumentView, viewOf } from './reading.ts'
import type { StoredDocument } from './stored.ts'
import { inWork, keep } from './work.ts'

/** What `create` can be told besides the data. */
export interface CreateOptions {
  /** Check everything, then keep nothing. */
  readonly dryRun?: boolean
  /** Submit it too; when that is not possible, nothing is created. */
  readonly submit?: boolean
}

/** What a change left behind, as the principal may see it. */
export interface Saved {
  readonly document: DocumentView
  readonly warnings: readonly Warning[]
}

/**
 * Creates a document as the principal. AppError `forbidden`, `invalid` with every problem, or
 * `conflict` for a name that is taken; then nothing was kept.
 */
export async function createDocument(
  documents: Documents,
  principal: Principal,
  doctype: string,
  data: Readonly<Record<string, unknown>>,
  options: CreateOptions = {},
): Promise<Saved> {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'create')
  if (options.submit) requireAction(access, 'submit')
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    const change = changeOf(work, access, 'create')
    const created = await insertDocument(change, data)
    const values = differences(access.doctype, blankOf(created), created)
    await keep(work, access.doctype, created.id, 'create', [], undefined, values)
    const document = options.submit ? await submitIn(work, access, created) : created
    return { document: viewOf(documents, access, document), warnings: change.warnings }
  })
}

/** Checks a new document and puts it into the store; `more` is what only the program itself may set. */
export async function insertDocument(
  change: Change,
  data: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
  name?: string,
): Promise<StoredDocument> {
  const { access } = change
  const { documents, tx } = change.work
  const blank: StoredDocument = { id: '', ...newBy(change.work) }
  const initial = documents.platform.workflows.get(access.doctype.name)?.initial
  const values = withDefaults(change, readData(change, data, undefined, blank))
  const state = initial === undefined ? {} : { workflow_state: initial }
  const draft = compute(change, { ...blank, ...values, ...state, ...more })
  await checkStored(change, draft, undefined)
  refuseProblems(change)
  const collection = collectionFor(documents, access.doctype, tx)
  const taken = async (wanted: string) => (await collection.get(wanted)) !== undefined
  // Named last, because the name may be the value of a field that was filled in above.
  const id = name ?? (await nameFor(change.work, access.doctype, draft, data['name'], taken))
  const document: StoredDocument = { ...draft, id }
  // Permission before the name: who may not create must not learn which names are taken.
  if (!access.allows('create', document))
    throw new AppError(
      'forbidden',
      `your roles do not allow you to create a ${access.doctype.name} like this`,
    )
  // The message does not say why, since the other document may be one that the principal cannot see.
  if (await taken(id))
    throw new AppError(
      'conflict',
      `the name "${id}" cannot be used for a new ${access.doctype.name}; choose another`,
    )
  return await collection.insert(document)
}
