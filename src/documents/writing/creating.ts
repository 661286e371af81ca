import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { type Change, changeOf, noteOtherwise, refuseProblems, type Warning } from './change.ts'
import { checkStored } from './checking.ts'
import { accessFor, type Documents, requireAction, type Reach, type Work } from '../documents.ts'
import { blankOf, differences } from '../history.ts'
import { newBy, submitIn } from './lifecycle.ts'
import { leaseName } from './leased-numbers.ts'
import { nameFor } from './naming.ts'
import { compute, readData, withDefaults } from './preparing.ts'
import { bytesOf, chargeDocument } from './quota.ts'
import { type DocumentView, viewOf } from '../asking/reading.ts'
import type { StoredDocument } from './stored.ts'
import { keep } from '../work.ts'
import { inWorkThere } from './elsewhere.ts'

/** The options of `create` besides the data. */
export interface CreateOptions {
  /** True to check everything, then keep nothing. */
  readonly dryRun?: boolean
  /** True to submit it too; when that is not possible, nothing is created. */
  readonly submit?: boolean
}

/** The result of a change, as the principal may see it. */
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
  const leased = options.dryRun ? undefined : await leaseName(access)
  try {
    return await inWorkThere(access, { ...options, leased: leased?.name }, undefined, async (work) => {
      const { created, warnings } = await createIn(work, data)
      const document = options.submit ? await submitIn(work, created) : created
      return { document: viewOf(access, document), warnings }
    })
  } catch (error) {
    // Where it was used after all, the next who gets it finds it taken.
    leased?.giveBack()
    throw error
  }
}

/** Creates a document as part of a larger change; `more` and `name` are as in `insertDocument`. */
export async function createIn(
  work: Work,
  data: Readonly<Record<string, unknown>>,
  more?: Readonly<Record<string, unknown>>,
  name?: string,
): Promise<{ readonly created: StoredDocument; readonly warnings: readonly Warning[] }> {
  const { doctype } = work.access
  const change = changeOf(work, 'create')
  const created = await insertDocument(change, data, more, name)
  const values = differences(doctype, blankOf(created), created)
  await keep(work, created.id, 'create', [], undefined, values)
  return { created, warnings: change.warnings }
}

/** Checks a new document and puts it into the store; `more` has values that only the program itself may set. */
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
  const collection = access.collection(tx)
  const isNumbered = name === undefined && !change.work.dry && access.doctype.naming.rule === 'series'
  let { leased } = change.work
  let document: StoredDocument
  for (;;) {
    // Named last, because the name may be the value of a field that was filled in above.
    const id = name ?? leased ?? (await nameFor(change.work, draft, data['name']))
    document = { ...draft, id }
    // Permission before the name: a user who may not create must not learn which names are taken.
    requireLikeThis(access, document)
    try {
      document = await collection.insert(document)
      // A table of others may have made something else of it.
      requireLikeThis(access, document)
      break
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'conflict' || access.doctype.origin) throw error
      // A name may have come from another rule of naming, without the counter: its number is skipped.
      leased = undefined
      if (isNumbered) continue
      // The message gives no reason, since the other document may be one that the principal cannot see.
      throw new AppError(
        'conflict',
        `the name "${id}" cannot be used for a new ${access.doctype.name}; choose another (update_document changes one that is there)`,
      )
    }
  }
  noteOtherwise(change, draft, document, Object.keys(data))
  await chargeDocument(change.work, document.owner, bytesOf(document), 1)
  return document
}

function requireLikeThis(access: Reach, document: StoredDocument): void {
  if (access.allows('create', document)) return
  throw new AppError(
    'forbidden',
    `your roles do not allow you to create a ${access.doctype.name} like this; they allow it with other values`,
  )
}
