/** Moving documents through the states of a workflow. */
import { all, always, any, asserted, bound, compared, type Condition, not } from '../core/conditions.ts'
import { AppError } from '../core/errors.ts'
import { hasRole, type Principal } from '../core/principal.ts'
import { changeOf, refuseProblems } from './change.ts'
import { checkStored } from './checking.ts'
import { holds } from './expression.ts'
import { accessFor, collectionFor, type Documents, readable } from './documents.ts'
import { moveTo, requireCancellable } from './lifecycle.ts'
import { accessTo, expressionUser } from './permission.ts'
import type { Transition, Workflow } from './platform.ts'
import { type DocumentView, openTo, viewOf } from './reading.ts'
import { titleOf } from './searching.ts'
import type { StoredDocument } from './stored.ts'
import { type ChangeOptions, inWork } from './work.ts'

/** A move that the principal can make now. */
export interface AvailableAction {
  readonly action: string
  readonly next_state: string
}

/** Where a document came from and went, and what the principal can do with it there. */
export interface WorkflowMove {
  readonly document: DocumentView
  readonly previousState: string
  readonly currentState: string
  readonly next: readonly AvailableAction[]
}

/**
 * Moves a document by an action of its workflow. AppError `invalid` for an action that its state does
 * not have, `forbidden` for one that the principal may not take, `conflict` when others build upon what
 * would be cancelled.
 */
export async function runWorkflow(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  action: string,
  options: ChangeOptions & { readonly comment?: string } = {},
): Promise<WorkflowMove> {
  const access = accessFor(documents, principal, doctype)
  const workflow = documents.platform.workflows.get(doctype)
  if (!workflow)
    throw new AppError(
      'invalid',
      `${doctype} has no workflow${access.doctype.submittable ? '; use submit_document' : ''}`,
    )
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    const document = await readable(documents, access, name, work.tx)
    const transition = transitionFor(documents, principal, workflow, document, action)
    const state = workflow.states.get(transition.to)!
    if (document.docstatus === 1 && state.docstatus === 2) await requireCancellable(work, access, document)
    if (document.docstatus === 0) {
      const change = changeOf(work, access, 'submit')
      await checkStored(change, document, document)
      refuseProblems(change)
    }
    const values = { workflow_state: state.name, docstatus: state.docstatus }
    const moved = await moveTo(work, access, document, values, 'workflow', options.comment ?? action)
    return {
      // The move may have taken it out of the principal's sight.
      document: access.allows('read', moved) ? viewOf(documents, access, moved) : { name },
      previousState: stateOf(workflow, document),
      currentState: state.name,
      next: availableActions(documents, principal, workflow, moved),
    }
  })
}

/** The moves that the principal can make with a document as it is. */
export function availableActions(
  documents: Documents,
  principal: Principal,
  workflow: Workflow,
  document: StoredDocument,
): AvailableAction[] {
  return workflow.transitions
    .filter((transition) => refusalOf(documents, principal, workflow, transition, document) === undefined)
    .map(({ action, to }) => ({ action, next_state: to }))
}

/** A document that waits, in the names in which `get_pending_approvals` answers. */
export interface PendingApproval {
  readonly doctype: string
  readonly name: string
  readonly title: string
  readonly workflow_state: string
  readonly owner: string
  readonly creation: string
  readonly available_actions: readonly AvailableAction[]
}

/** The documents that wait for something that the principal can do, oldest first. */
export async function pendingApprovals(
  documents: Documents,
  principal: Principal,
  query: { readonly doctype?: string; readonly limit: number },
): Promise<{ readonly pending: readonly PendingApproval[]; readonly total: number }> {
  if (query.doctype !== undefined) accessFor(documents, principal, query.doctype)
  const pending: PendingApproval[] = []
  let total = 0
  for (const workflow of documents.platform.workflows.values()) {
    if (query.doctype !== undefined && workflow.doctype !== query.doctype) continue
    const access = accessTo(
      principal,
      documents.platform.doctypes.get(workflow.doctype)!,
      documents.clock.now(),
    )
    if (!access.may('read')) continue
    // What is submitted waits for nobody, though it may be cancelled.
    const waiting = all(compared('docstatus', '=', 0), movable(documents, principal, workflow))
    const holds = openTo(access, waiting)
    const collection = collectionFor(documents, access.doctype)
    total += await collection.count({ holds })
    const order = [{ field: 'creation' }]
    const found = await collection.find({ holds, order, limit: query.limit })
    access.show(found)
    for (const document of found)
      pending.push({
        doctype: workflow.doctype,
        name: document.id,
        title: titleOf(access, document),
        workflow_state: stateOf(workflow, document),
        owner: document.owner,
        creation: document.creation,
        available_actions: availableActions(documents, principal, workflow, document),
      })
  }
  pending.sort((a, b) =>
    a.creation < b.creation ? -1 : a.creation > b.creation ? 1 : a.name < b.name ? -1 : 1,
  )
  return { pending: pending.slice(0, query.limit), total }
}

/** What holds of the documents that the principal can move; `refusalOf` says the same of one. */
function movable(documents: Documents, principal: Principal, workflow: Workflow): Condition {
  const asker = { user: expressionUser(principal), now: documents.clock.now() }
  const known = compared('workflow_state', 'in', [...workflow.states.keys()])
  return any(
    ...workflow.transitions
      .filter(({ roles }) => roles.some((role) => hasRole(principal, role)))
      .map(({ from, allowSelf, when }) =>
        all(
          from === workflow.initial
            ? any(compared('workflow_state', '=', from), not(known))
            : compared('workflow_state', '=', from),
          allowSelf ? always : compared('owner', '!=', principal.user),
          when ? asserted(bound(when.term, asker)) : always,
        ),
      ),
  )
}

function transitionFor(
  documents: Documents,
  principal: Principal,
  workflow: Workflow,
  document: StoredDocument,
  action: string,
): Transition {
  const state = stateOf(workflow, document)
  const candidates = workflow.transitions.filter(
    (transition) => transition.from === state && transition.action.toLowerCase() === action.toLowerCase(),
  )
  const refusals = candidates.map((transition) =>
    refusalOf(documents, principal, workflow, transition, document),
  )
  const open = candidates[refusals.indexOf(undefined)]
  if (open) return open
  const available = availableActions(documents, principal, workflow, document)
  const can =
    available.length > 0
      ? `you can: ${available.map((other) => other.action).join(', ')}`
      : 'you can do nothing with it now'
  if (refusals.length > 0) throw new AppError('forbidden', `"${action}": ${refusals[0]!}; ${can}`)
  throw new AppError(
    'invalid',
    `${workflow.doctype} "${document.id}" is in the state "${state}", which has no action "${action}"; ${can}`,
  )
}

/** Why the principal cannot make the move; undefined when it can. */
function refusalOf(
  documents: Documents,
  principal: Principal,
  workflow: Workflow,
  transition: Transition,
  document: StoredDocument,
): string | undefined {
  if (transition.from !== stateOf(workflow, document))
    return `it is in the state "${stateOf(workflow, document)}"`
  if (!transition.roles.some((role) => hasRole(principal, role)))
    return `needs one of the roles ${transition.roles.join(', ')}`
  if (!transition.allowSelf && document.owner === principal.user) return 'not by the owner of the document'
  const scope = { doc: document, user: expressionUser(principal), now: documents.clock.now() }
  if (transition.when && !holds(transition.when, scope)) return `only when ${transition.when.text}`
  return undefined
}

/** The first state for a document from before the workflow, or in a state that is gone. */
function stateOf(workflow: Workflow, document: StoredDocument): string {
  const state = document['workflow_state']
  return typeof state === 'string' && workflow.states.has(state) ? state : workflow.initial
}
