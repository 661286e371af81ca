import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { removeBelongings } from './belongings.ts'
import { changeOf, refuseProblems, type Warning } from './change.ts'
import { checkStored } from './checking.ts'
import { conditionOf, readFilters } from './filters.ts'
import { accessFor, changeable, collectionFor, type Documents, requireAction } from './documents.ts'
import { blankOf, differences, sameValue } from './history.ts'
import { linksTo } from './links.ts'
import { moveTo, statusText } from './lifecycle.ts'
import type { Access } from './permission.ts'
import { compute, readData } from './preparing.ts'
import { type DocumentView, openTo, viewOf } from './reading.ts'
import type { StoredDocument } from './stored.ts'
import { type ChangeOptions, inWork, keep, type Work } from './work.ts'
import { hasRole, systemManager } from '../core/principal.ts'

/** What an update changed; no fields when all of it stood there already. */
export interface Updated {
  readonly document: DocumentView
  readonly updatedFields: readonly string[]
  readonly warnings: readonly Warning[]
}

/**
 * Changes the fields given and leaves the others. AppError `forbidden`, `invalid` with every problem,
 * `conflict` when the document is cancelled, or was changed since the `modified` that the caller has seen.
 */
export async function updateDocument(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  data: Readonly<Record<string, unknown>>,
  options: ChangeOptions & { readonly expectedModified?: string } = {},
): Promise<Updated> {
  const access = accessFor(documents, principal, doctype)
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    const before = await changeable(documents, access, 'write', name, work.tx)
    return await updateIn(work, access, before, data, options.expectedModified)
  })
}

async function updateIn(
  work: Work,
  access: Access,
  before: StoredDocument,
  data: Readonly<Record<string, unknown>>,
  expectedModified?: string,
): Promise<Updated> {
  const { documents, principal } = work
  const { doctype } = access
  // Compared as times: the same moment is written in several ways.
  if (expectedModified !== undefined && Date.parse(expectedModified) !== Date.parse(before.modified))
    throw new AppError(
      'conflict',
      `${doctype.name} "${before.id}" was changed by ${before.modified_by} at ${before.modified}; read it again, then update`,
    )
  if (before.docstatus === 2)
    throw new AppError(
      'conflict',
      `${doctype.name} "${before.id}" is cancelled; amend_document makes a copy to change`,
    )
  requireState(documents, principal, access, before)
  const change = changeOf(work, access, 'write')
  const values = readData(change, data, before, before)
  const after = compute(change, { ...before, ...values })
  const changed = [...doctype.fields.values()].filter(
    (field) => !sameValue(before[field.name] ?? null, after[field.name] ?? null),
  )
  const locked = changed.filter((field) => !field.allowOnSubmit && !field.computed)
  if (before.docstatus === 1 && locked.length > 0)
    change.problems.push(
      `${locked.map((field) => field.name).join(', ')} cannot change after the document was submitted; cancel and amend it`,
    )
  await checkStored(change, after, before)
  refuseProblems(change)
  if (changed.length === 0)
    return { document: viewOf(documents, access, before), updatedFields: [], warnings: change.warnings }
  // A change must not move a document to where one may not change it.
  if (!access.allows('write', after))
    throw new AppError(
      'forbidden',
      `your roles do not allow you to change ${doctype.name} "${before.id}" like this`,
    )
  const stored = await moveTo(work, access, before, after, 'update')
  return {
    document: viewOf(documents, access, stored),
    updatedFields: changed
      .filter((field) => access.shows(field, stored) !== 'hidden')
      .map((field) => field.name),
    warnings: change.warnings,
  }
}

/**
 * Deletes a document with all that hangs on it; its history stays. AppError `conflict` when it is
 * submitted, or linked from elsewhere; System Managers may delete these with force.
 */
export async function deleteDocument(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  options: ChangeOptions & { readonly force?: boolean } = {},
): Promise<void> {
  const access = accessFor(documents, principal, doctype)
  if (options.force && !hasRole(principal, systemManager))
    throw new AppError('forbidden', 'only a System Manager may delete with force')
  await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    const document = await changeable(documents, access, 'delete', name, work.tx)
    if (document.docstatus === 1)
      throw new AppError('conflict', `${doctype} "${name}" is submitted; cancel it before it can be deleted`)
    requireState(documents, principal, access, document)
    const links = await linksTo(work, doctype, name, () => true)
    if (links.count > 0 && !options.force)
      throw new AppError(
        'conflict',
        `${doctype} "${name}" is linked from other documents${links.text}; change or delete those first`,
      )
    await collectionFor(documents, access.doctype, work.tx).delete(name)
    await removeBelongings(work, doctype, name)
    // Its last values go into the history, where they can be looked up.
    const gone = differences(access.doctype, document, blankOf(document))
    await keep(work, access.doctype, name, 'delete', gone)
  })
}

/** What happened to each document of a bulk update. */
export interface BulkUpdated {
  readonly updated: readonly string[]
  readonly unchanged: readonly string[]
}

/** One transaction holds all of them, and other writers wait for its end. */
const mostInBulk = 500

/** Changes several documents in the same way: all of them, or none when one cannot be changed. */
export async function bulkUpdate(
  documents: Documents,
  principal: Principal,
  doctype: string,
  which: { readonly names?: readonly string[]; readonly filters?: unknown },
  data: Readonly<Record<string, unknown>>,
  options: ChangeOptions = {},
): Promise<BulkUpdated> {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'write')
  const conditions = readFilters(access, which.filters)
  if (which.names === undefined && conditions.length === 0)
    throw new AppError('invalid', 'give names or filters: changing every document is not allowed')
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    const collection = collectionFor(documents, access.doctype, work.tx)
    const holds = openTo(access, conditionOf(conditions))
    const count = which.names?.length ?? (await collection.count({ holds }))
    if (count > mostInBulk)
      throw new AppError(
        'invalid',
        `${count} documents are more than the ${mostInBulk} allowed; narrow the filters`,
      )
    const names = which.names ?? (await collection.find({ holds })).map(({ id }) => id)
    const updated: string[] = []
    const unchanged: string[] = []
    const failures: string[] = []
    for (const name of new Set(names)) {
      try {
        const before = await changeable(documents, access, 'write', name, work.tx)
        const { updatedFields } = await updateIn(work, access, before, data)
        ;(updatedFields.length > 0 ? updated : unchanged).push(name)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // The others are tried too: the caller learns of several problems at once, and nothing is kept.
        failures.push(`${name}: ${error.message}`)
      }
    }
    if (failures.length > 0)
      throw new AppError(
        'invalid',
        `nothing was changed, because ${failures.length} of ${names.length} cannot be: ${failures.slice(0, 5).join('; ')}`,
      )
    return { updated, unchanged }
  })
}

/** Refuses a change of a document in a workflow state that the principal may not edit. */
function requireState(
  documents: Documents,
  principal: Principal,
  access: Access,
  document: StoredDocument,
): void {
  const workflow = documents.platform.workflows.get(access.doctype.name)
  const named = document['workflow_state']
  const state = workflow?.states.get(typeof named === 'string' ? named : workflow.initial)
  if (!state || state.editRoles.length === 0 || state.editRoles.some((role) => hasRole(principal, role)))
    return
  throw new AppError(
    'forbidden',
    `${access.doctype.name} "${document.id}" is ${statusText(document)} in the state "${state.name}", which only ${state.editRoles.join(', ')} may edit`,
  )
}
