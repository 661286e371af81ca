import { AppError } from '#leaf/errors.ts'
import { listed } from '#leaf/names.ts'
import type { Principal } from '../../core/principal.ts'
import { removeBelongings } from '../belongings.ts'
import { changeOf, noteOtherwise, refuseProblems, type Warning } from './change.ts'
import { checkStored } from './checking.ts'
import { conditionOf, openTo } from '../asking/filters.ts'
import { filtersOf } from '../asking/linked-filters.ts'
import { accessFor, changeable, type Documents, requireAction, type Reach, type Work } from '../documents.ts'
import { blankOf, differences, sameValue } from '../history.ts'
import { linksTo } from '../asking/links.ts'
import { moveTo, statusText } from './lifecycle.ts'
import { compute, readData } from './preparing.ts'
import { bytesOf, chargeDocument } from './quota.ts'
import { type DocumentView, versionOf, viewOf } from '../asking/reading.ts'
import type { Doctype, Field } from '../platform/platform.ts'
import type { StoredDocument } from './stored.ts'
import { type ChangeOptions, inWork, keep } from '../work.ts'
import { inWorkThere } from './elsewhere.ts'
import { stateClosedTo } from './workflow.ts'
import { hasRole, systemManager } from '../../core/principal.ts'

/** The result of an update; without fields when no value differed. */
export interface Updated {
  readonly document: DocumentView
  readonly updatedFields: readonly string[]
  readonly warnings: readonly Warning[]
}

/**
 * Changes the given fields and leaves the others. AppError `forbidden`, `invalid` with every problem,
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
  return await inWorkThere(access, options, name, async (work) => {
    const before = await changeable(work.access, 'write', name, work.tx)
    return await updateIn(work, before, data, options.expectedModified)
  })
}

/** Changes a document as part of a larger change. */
export async function updateIn(
  work: Work,
  before: StoredDocument,
  data: Readonly<Record<string, unknown>>,
  expectedModified?: string,
): Promise<Updated> {
  const { access } = work
  const { doctype } = access
  requireVersion(access, before, expectedModified)
  if (before.docstatus === 2)
    throw new AppError(
      'conflict',
      `${doctype.name} "${before.id}" is cancelled; amend_document makes a copy to change`,
    )
  requireState(access, before)
  const change = changeOf(work, 'write')
  const values = readData(change, data, before, before)
  const after = compute(change, { ...before, ...values })
  const changed = differing(doctype, before, after)
  const locked = changed.filter((field) => !field.allowOnSubmit && !field.computed)
  if (before.docstatus === 1 && locked.length > 0)
    change.problems.push(
      `${locked.map((field) => field.name).join(', ')} cannot change after the document was submitted; cancel and amend it`,
    )
  await checkStored(change, after, before)
  refuseProblems(change)
  if (changed.length === 0)
    return { document: viewOf(access, before), updatedFields: [], warnings: change.warnings }
  requireLikeThis(access, after)
  const stored = await moveTo(work, before, after, 'update')
  // A table of others may have made something else of it.
  requireLikeThis(access, stored)
  noteOtherwise(change, after, stored, Object.keys(values))
  return {
    document: viewOf(access, stored),
    updatedFields: differing(doctype, before, stored)
      .filter((field) => access.shows(field, stored) !== 'hidden')
      .map((field) => field.name),
    warnings: change.warnings,
  }
}

/**
 * Deletes a document with all that belongs to it; its history stays. AppError `conflict` when it is
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
    throw new AppError('forbidden', 'force: only a System Manager may delete with it; leave it out')
  await inWorkThere(access, options, name, async (work) => {
    const document = await changeable(work.access, 'delete', name, work.tx)
    if (document.docstatus === 1)
      throw new AppError(
        'conflict',
        `${doctype} "${name}" is submitted; cancel it before it can be deleted (cancel_document)`,
      )
    requireState(work.access, document)
    const links = await linksTo(work, name, () => true)
    if (links.count > 0 && !options.force)
      throw new AppError(
        'conflict',
        `${doctype} "${name}" is linked from other documents${links.text}; change or delete those first`,
      )
    await chargeDocument(work, document.owner, -bytesOf(document), -1)
    await work.access.collection(work.tx).delete(name)
    await removeBelongings(work, name)
    // Its last values go into the log: in the history nobody could look them up, and they would still take room.
    const gone = differences(access.doctype, document, blankOf(document))
    await keep(work, name, 'delete', [], undefined, gone)
  })
}

/** The documents of a bulk update, by outcome. */
export interface BulkUpdated {
  readonly updated: readonly string[]
  readonly unchanged: readonly string[]
}

/** The most documents of a bulk update: one transaction holds all of them, and other writers wait for its end. */
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
  if (access.doctype.origin)
    throw new AppError(
      'forbidden',
      `${doctype} documents lie in the source "${access.doctype.origin.source}", which is written to one document at a time (update_document)`,
    )
  const conditions = await filtersOf(access, which.filters)
  if (which.names === undefined && conditions.length === 0)
    throw new AppError(
      'invalid',
      'give names, or filters such as {"status": "Open"}: changing every document is not allowed',
    )
  return await inWork(access, options, undefined, async (work) => {
    const collection = access.collection(work.tx)
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
    const failures = new Map<string, string[]>()
    for (const name of new Set(names)) {
      try {
        const before = await changeable(access, 'write', name, work.tx)
        const { updatedFields } = await updateIn(work, before, data)
        ;(updatedFields.length > 0 ? updated : unchanged).push(name)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // The others are tried too: the caller learns of several problems at once, and nothing is stored.
        failures.set(error.message, [...(failures.get(error.message) ?? []), name])
      }
    }
    const failed = [...failures.values()].flat().length
    if (failed > 0) {
      const said = [...failures].slice(0, 5).map(([message, of]) => `${listed(of, 3)}: ${message}`)
      throw new AppError(
        'invalid',
        `nothing was changed, because ${failed} of ${names.length} cannot be: ${said.join('; ')}`,
      )
    }
    return { updated, unchanged }
  })
}

/** Refuses a change of a document that was changed since the version that the caller has seen. */
function requireVersion(access: Reach, before: StoredDocument, expected: string | undefined): void {
  if (expected === undefined) return
  const version = versionOf(access, before)
  // Compared as times: one moment can be written in several ways.
  if (expected === version || Date.parse(expected) === Date.parse(version)) return
  const { modified, modified_by: by, id } = before
  const when = modified === undefined ? '' : `${by === undefined ? '' : ` by ${by}`} at ${modified}`
  throw new AppError(
    'conflict',
    `${access.doctype.name} "${id}" was changed${when}; read it again, then update (get_document)`,
  )
}

/** A change must not move a document to where the principal may not change it. */
function requireLikeThis(access: Reach, document: StoredDocument): void {
  if (access.allows('write', document)) return
  throw new AppError(
    'forbidden',
    `your roles do not allow you to change ${access.doctype.name} "${document.id}" like this; they allow it with other values`,
  )
}

function differing({ fields }: Doctype, before: StoredDocument, after: StoredDocument): readonly Field[] {
  return [...fields.values()].filter(({ name }) => !sameValue(before[name] ?? null, after[name] ?? null))
}

/** Refuses to change a document in a workflow state that the principal may not edit. */
function requireState(access: Reach, document: StoredDocument): void {
  const state = stateClosedTo(access, document)
  if (!state) return
  throw new AppError(
    'forbidden',
    `${access.doctype.name} "${document.id}" is ${statusText(document)} in the state "${state.name}", which only ${state.editRoles.join(', ')} may edit (run_workflow moves it on)`,
  )
}
