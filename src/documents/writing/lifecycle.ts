/** Moves documents from draft to submitted to cancelled, and makes the amended copy of a cancelled one. */
import { compared } from '#state/questions.ts'
import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { changeOf, refuseProblems } from './change.ts'
import { checkStored } from './checking.ts'
import { accessFor, allowedOf, changeable, type Documents, type Reach, type Work } from '../documents.ts'
import { differences } from '../history.ts'
import { linksTo } from '../asking/links.ts'
import { bytesOf, chargeDocument } from './quota.ts'
import { type DocumentView, viewOf } from '../asking/reading.ts'
import type { StoredDocument } from './stored.ts'
import { type ChangeOptions, inWork, keep } from '../work.ts'

/** Makes a draft final. */
export const submitDocument = changing('submit', submitIn)

/** Cancels a submitted document, unless submitted documents build upon it. */
export const cancelDocument = changing('cancel', async (work, document) => {
  refuseWorkflow(work.access, document)
  await requireCancellable(work, document)
  return await moveTo(work, document, { docstatus: 2 }, 'cancel')
})

/** Makes a new draft of a cancelled document, at most one of each. */
export const amendDocument = changing('amend', amendIn)

type Step = (work: Work, document: StoredDocument) => Promise<StoredDocument>

/** Makes a change of state; a principal that may not make it is refused before the step looks at anything. */
function changing(action: 'submit' | 'cancel' | 'amend', step: Step) {
  return async (
    documents: Documents,
    principal: Principal,
    doctype: string,
    name: string,
    options: ChangeOptions = {},
  ): Promise<DocumentView> => {
    const access = submittable(documents, principal, doctype)
    return await inWork(access, options, name, async (work) => {
      const document = await changeable(access, action, name, work.tx)
      return viewOf(access, await step(work, document))
    })
  }
}

/** Submits a document as part of a larger change. */
export async function submitIn(work: Work, document: StoredDocument): Promise<StoredDocument> {
  const { access } = work
  refuseWorkflow(access, document)
  requireStates(access)
  if (!access.allows('submit', document))
    throw new AppError(
      'forbidden',
      `you may not submit ${access.doctype.name} "${document.id}"${allowedOf((one) => access.allows(one, document))}`,
    )
  if (document.docstatus !== 0)
    throw new AppError(
      'conflict',
      `${access.doctype.name} "${document.id}" is ${statusText(document)}, not a draft${nextOf(document)}`,
    )
  // A draft may be older than a rule, so a document is checked again before it becomes final.
  const change = changeOf(work, 'submit')
  await checkStored(change, document, document)
  refuseProblems(change)
  return await moveTo(work, document, { docstatus: 1 }, 'submit')
}

/** Refuses to cancel a document that is not submitted, or that submitted documents build upon. */
export async function requireCancellable(work: Work, document: StoredDocument): Promise<void> {
  if (document.docstatus !== 1)
    throw new AppError(
      'conflict',
      `${work.access.doctype.name} "${document.id}" is ${statusText(document)}, not submitted${nextOf(document)}`,
    )
  const links = await linksTo(work, document.id, (other) => other.docstatus === 1)
  if (links.count > 0)
    throw new AppError(
      'conflict',
      `"${document.id}" is linked from submitted documents${links.text}; cancel those first (cancel_document, run_workflow)`,
    )
}

async function amendIn(work: Work, document: StoredDocument): Promise<StoredDocument> {
  const { documents, access, tx } = work
  const { doctype } = access
  if (document.docstatus !== 2)
    throw new AppError(
      'conflict',
      `"${document.id}" is ${statusText(document)}; only cancelled documents are amended${nextOf(document)}`,
    )
  const collection = access.collection(tx)
  const earlier = await collection.find({ holds: compared('amended_from', '=', document.id), limit: 1 })
  if (earlier.length > 0)
    throw new AppError(
      'conflict',
      `"${document.id}" was amended already (list_documents {"filters": {"amended_from": "${document.id}"}})`,
    )
  const initial = documents.platform.workflows.get(doctype.name)?.initial
  const copy: StoredDocument = {
    ...document,
    ...newBy(work),
    id: await amendedName(document.id, async (wanted) => (await collection.get(wanted)) !== undefined),
    amended_from: document.id,
    ...(initial !== undefined && { workflow_state: initial }),
  }
  if (!access.allows('create', copy))
    throw new AppError(
      'forbidden',
      `you may not create ${doctype.name} documents${allowedOf((one) => access.may(one))}`,
    )
  await chargeDocument(work, copy.owner, bytesOf(copy), 1)
  await collection.insert(copy)
  await keep(work, copy.id, 'amend', [{ field: 'amended_from', from: null, to: document.id }])
  return copy
}

/** Returns the standard fields of every new document of the user of the work, except its name. */
export function newBy({
  documents,
  principal,
}: Pick<Work, 'documents' | 'principal'>): Pick<
  StoredDocument,
  'owner' | 'creation' | 'modified' | 'modified_by' | 'docstatus'
> {
  const now = isoTime(documents.clock.now())
  const { user } = principal
  return { owner: user, creation: now, modified: now, modified_by: user, docstatus: 0 }
}

/** Stores a document with other values, as the user of the work, with its history. */
export async function moveTo(
  work: Work,
  before: StoredDocument,
  values: Readonly<Record<string, unknown>>,
  action: string,
  note?: string,
): Promise<StoredDocument> {
  const { documents, principal, access, tx } = work
  const wanted: StoredDocument = {
    ...before,
    ...values,
    modified: laterThan(before.modified, documents.clock.now()),
    modified_by: principal.user,
  }
  await chargeDocument(work, before.owner, bytesOf(wanted) - bytesOf(before))
  const after = await access.collection(tx).put(wanted)
  await keep(work, before.id, action, differences(access.doctype, before, after), note)
  return after
}

/** Refuses a direct change of state where the doctype has a workflow. */
function refuseWorkflow({ documents, doctype: { name } }: Reach, document: StoredDocument): void {
  const workflow = documents.platform.workflows.get(name)
  if (!workflow) return
  const state = (document['workflow_state'] ?? workflow.initial) as string
  const next = workflow.transitions.filter(({ from }) => from === state).map(({ action }) => action)
  throw new AppError(
    'invalid',
    `a workflow moves ${name} documents; use run_workflow, with an action of the state "${state}": ${next.join(', ') || 'none'}`,
  )
}

/** Returns what can be done with a document in its state. */
function nextOf({ docstatus }: StoredDocument): string {
  const next = [
    'update_document changes it, delete_document deletes it, submit_document submits it',
    'cancel_document cancels it',
    'amend_document makes a new draft of it',
  ]
  return ` (${next[docstatus]!})`
}

/** Words the state of a document for messages. */
export function statusText({ docstatus }: StoredDocument): string {
  return ['a draft', 'submitted', 'cancelled'][docstatus]!
}

function submittable(documents: Documents, principal: Principal, doctype: string): Reach {
  const access = accessFor(documents, principal, doctype)
  requireStates(access)
  return access
}

function requireStates({ doctype: { name, submittable: can } }: Reach): void {
  if (can) return
  throw new AppError(
    'invalid',
    `${name} documents have no states to submit, cancel or amend (update_document changes them, delete_document deletes them)`,
  )
}

/** Returns a later time: no two versions of a document share one, so that `expected_modified` always tells them apart. */
function laterThan(before: string, now: number): string {
  return isoTime(Math.max(now, (Date.parse(before) || 0) + 1))
}

/**
 * Returns the name of an amended copy: INV-00007 becomes INV-00007-1 and that one INV-00007-2; a single digit at the end
 * is the number of an amendment.
 */
async function amendedName(name: string, taken: (name: string) => Promise<boolean>): Promise<string> {
  const base = name.replace(/-\d{1,3}$/, (end) => (/^-\d$/.test(end) ? '' : end))
  for (let n = 1; ; n++) if (!(await taken(`${base}-${n}`))) return `${base}-${n}`
}
