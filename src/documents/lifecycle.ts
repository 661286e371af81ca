/** Draft → submitted → cancelled, and the amended copy of a cancelled document. */
import { compared } from '../core/conditions.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { changeOf, refuseProblems } from './change.ts'
import { checkStored } from './checking.ts'
import { accessFor, changeable, collectionFor, type Documents } from './documents.ts'
import { differences } from './history.ts'
import { linksTo } from './links.ts'
import type { Access } from './permission.ts'
import { type DocumentView, viewOf } from './reading.ts'
import type { StoredDocument } from './stored.ts'
import { type ChangeOptions, inWork, keep, type Work } from './work.ts'

/** Makes a draft final. */
export const submitDocument = changing('submit', submitIn)

/** Takes back what was submitted, unless submitted documents build upon it. */
export const cancelDocument = changing('cancel', async (work, access, document) => {
  refuseWorkflow(work.documents, access)
  await requireCancellable(work, access, document)
  return await moveTo(work, access, document, { docstatus: 2 }, 'cancel')
})

/** Makes a new draft of a cancelled document; of each at most one. */
export const amendDocument = changing('amend', amendIn)

type Step = (work: Work, access: Access, document: StoredDocument) => Promise<StoredDocument>

/** A change from one state to the next: who may not is refused before the step looks at anything. */
function changing(action: 'submit' | 'cancel' | 'amend', step: Step) {
  return async (
    documents: Documents,
    principal: Principal,
    doctype: string,
    name: string,
    options: ChangeOptions = {},
  ): Promise<DocumentView> => {
    const access = submittable(documents, principal, doctype)
    return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
      const document = await changeable(documents, access, action, name, work.tx)
      return viewOf(documents, access, await step(work, access, document))
    })
  }
}

/** Submits a document as part of a larger change. */
export async function submitIn(
  work: Work,
  access: Access,
  document: StoredDocument,
): Promise<StoredDocument> {
  refuseWorkflow(work.documents, access)
  if (!access.doctype.submittable)
    throw new AppError('invalid', `${access.doctype.name} documents cannot be submitted`)
  if (!access.allows('submit', document))
    throw new AppError('forbidden', `you may not submit ${access.doctype.name} "${document.id}"`)
  if (document.docstatus !== 0)
    throw new AppError(
      'conflict',
      `${access.doctype.name} "${document.id}" is ${statusText(document)}, not a draft`,
    )
  // A draft may be older than a rule: what becomes final is checked again.
  const change = changeOf(work, access, 'submit')
  await checkStored(change, document, document)
  refuseProblems(change)
  return await moveTo(work, access, document, { docstatus: 1 }, 'submit')
}

/** Refuses to cancel what is not submitted, or what submitted documents build upon. */
export async function requireCancellable(
  work: Work,
  access: Access,
  document: StoredDocument,
): Promise<void> {
  if (document.docstatus !== 1)
    throw new AppError(
      'conflict',
      `${access.doctype.name} "${document.id}" is ${statusText(document)}, not submitted`,
    )
  const links = await linksTo(work, access.doctype.name, document.id, (other) => other.docstatus === 1)
  if (links.count > 0)
    throw new AppError(
      'conflict',
      `"${document.id}" is linked from submitted documents${links.text}; cancel those first`,
    )
}

async function amendIn(work: Work, access: Access, document: StoredDocument): Promise<StoredDocument> {
  const { documents, tx } = work
  const { doctype } = access
  if (document.docstatus !== 2)
    throw new AppError(
      'conflict',
      `"${document.id}" is ${statusText(document)}; only cancelled documents are amended`,
    )
  const collection = collectionFor(documents, doctype, tx)
  const earlier = await collection.find({ holds: compared('amended_from', '=', document.id), limit: 1 })
  if (earlier.length > 0) throw new AppError('conflict', `"${document.id}" was amended already`)
  const initial = documents.platform.workflows.get(doctype.name)?.initial
  const copy: StoredDocument = {
    ...document,
    ...newBy(work),
    id: await amendedName(document.id, async (wanted) => (await collection.get(wanted)) !== undefined),
    amended_from: document.id,
    ...(initial !== undefined && { workflow_state: initial }),
  }
  if (!access.allows('create', copy))
    throw new AppError('forbidden', `you may not create ${doctype.name} documents`)
  await collection.insert(copy)
  await keep(work, doctype, copy.id, 'amend', [{ field: 'amended_from', from: null, to: document.id }])
  return copy
}

/** What is known of every document that the user of the work makes, but its name. */
export function newBy({
  documents,
  principal,
}: Work): Pick<StoredDocument, 'owner' | 'creation' | 'modified' | 'modified_by' | 'docstatus'> {
  const now = isoTime(documents.clock.now())
  const { user } = principal
  return { owner: user, creation: now, modified: now, modified_by: user, docstatus: 0 }
}

/** Stores a document with other values, as the user of the work, with its history. */
export async function moveTo(
  work: Work,
  access: Access,
  before: StoredDocument,
  values: Readonly<Record<string, unknown>>,
  action: string,
  note?: string,
): Promise<StoredDocument> {
  const { documents, principal, tx } = work
  const after: StoredDocument = {
    ...before,
    ...values,
    modified: laterThan(before.modified, documents.clock.now()),
    modified_by: principal.user,
  }
  await collectionFor(documents, access.doctype, tx).put(after)
  await keep(work, access.doctype, before.id, action, differences(access.doctype, before, after), note)
  return after
}

/** Refuses a direct change of state where a workflow rules. */
export function refuseWorkflow(documents: Documents, access: Access): void {
  if (documents.platform.workflows.has(access.doctype.name))
    throw new AppError('invalid', `a workflow moves ${access.doctype.name} documents; use run_workflow`)
}

/** The state of a document as messages name it. */
export function statusText({ docstatus }: StoredDocument): string {
  return ['a draft', 'submitted', 'cancelled'][docstatus]!
}

function submittable(documents: Documents, principal: Principal, doctype: string): Access {
  const access = accessFor(documents, principal, doctype)
  if (!access.doctype.submittable)
    throw new AppError('invalid', `${doctype} documents have no states to submit, cancel or amend`)
  return access
}

/** No two versions of a document share a time, so that `expected_modified` always tells them apart. */
function laterThan(before: string, now: number): string {
  return isoTime(Math.max(now, Date.parse(before) + 1))
}

/**
 * INV-00007 becomes INV-00007-1 and that one INV-00007-2: a single digit at the end is the number of an
 * amendment.
 */
async function amendedName(name: string, taken: (name: string) => Promise<boolean>): Promise<string> {
  const base = name.replace(/-\d{1,3}$/, (end) => (/^-\d$/.test(end) ? '' : end))
  for (let n = 1; ; n++) if (!(await taken(`${base}-${n}`))) return `${base}-${n}`
}
