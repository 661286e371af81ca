/** Moves documents through the states of a workflow. */
import { all, always, any, asserted, bound, compared, type Condition, not } from '#state/questions.ts'
import { AppError } from '#leaf/errors.ts'
import { hasRole, type Principal } from '../../core/principal.ts'
import { changeOf, refuseProblems } from './change.ts'
import { checkStored } from './checking.ts'
import { holds } from '#state/questions.ts'
import { accessFor, type Documents, readable, type Reach, reachOf } from '../documents.ts'
import { moveTo, requireCancellable } from './lifecycle.ts'
import { expressionUser } from '../permission.ts'
import type { Transition, Workflow, WorkflowState } from '../platform/platform.ts'
import { openTo } from '../asking/filters.ts'
import { type DocumentView, viewOf } from '../asking/reading.ts'
import { titleOf } from '../asking/searching.ts'
import type { StoredDocument } from './stored.ts'
import { type ChangeOptions, inWork } from '../work.ts'

/** A transition that the principal can take now. */
export interface AvailableAction {
  readonly action: string
  readonly next_state: string
}

/** A move that was made: the states before and after, and the principal's actions in the new one. */
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
      `${doctype} has no workflow; use ${access.doctype.submittable ? 'submit_document or cancel_document' : 'update_document'}`,
    )
  return await inWork(access, options, name, async (work) => {
    const document = await readable(access, name, work.tx)
    const transition = transitionFor(access, workflow, document, action)
    const state = workflow.states.get(transition.to)!
    if (document.docstatus === 1 && state.docstatus === 2) await requireCancellable(work, document)
    if (document.docstatus === 0) {
      const change = changeOf(work, 'submit')
      await checkStored(change, document, document)
      refuseProblems(change)
    }
    const values = { workflow_state: state.name, docstatus: state.docstatus }
    const moved = await moveTo(work, document, values, 'workflow', options.comment ?? action)
    return {
      // The move may have made the document unreadable for the principal.
      document: access.allows('read', moved) ? viewOf(access, moved) : { name },
      previousState: stateOf(workflow, document),
      currentState: state.name,
      next: availableActions(access, workflow, moved),
    }
  })
}

/** Lists the transitions that the principal can take from a document's present state. */
export function availableActions(
  access: Reach,
  workflow: Workflow,
  document: StoredDocument,
): AvailableAction[] {
  return workflow.transitions
    .filter((transition) => refusalOf(access, workflow, transition, document) === undefined)
    .map(({ action, to }) => ({ action, next_state: to }))
}

/** Returns the workflow state of a document in which this principal may not edit it; undefined where they may. */
export function stateClosedTo(
  { documents, doctype, asker }: Reach,
  document: StoredDocument,
): WorkflowState | undefined {
  const workflow = documents.platform.workflows.get(doctype.name)
  const named = document['workflow_state']
  const state = workflow?.states.get(typeof named === 'string' ? named : workflow.initial)
  const isOpen = !state?.editRoles.length || state.editRoles.some((role) => hasRole(asker.principal, role))
  return isOpen ? undefined : state
}

/** A document that waits, with the keys that `get_pending_approvals` answers. */
export interface PendingApproval {
  readonly doctype: string
  readonly name: string
  readonly title: string
  readonly workflow_state: string
  readonly owner: string
  readonly creation: string
  readonly available_actions: readonly AvailableAction[]
}

/** Lists the documents that wait for something that the principal can do, oldest first. */
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
    const access = reachOf(documents, principal, documents.platform.doctypes.get(workflow.doctype)!)
    if (!access.may('read')) continue
    // A submitted document waits for nobody, though it may be cancelled.
    const waiting = all(compared('docstatus', '=', 0), movable(access, workflow))
    const holds = openTo(access, waiting)
    const collection = access.collection()
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
        available_actions: availableActions(access, workflow, document),
      })
  }
  pending.sort((a, b) =>
    a.creation < b.creation ? -1 : a.creation > b.creation ? 1 : a.name < b.name ? -1 : 1,
  )
  return { pending: pending.slice(0, query.limit), total }
}

/** Returns the condition for documents that the principal can move; `refusalOf` decides the same for one. */
function movable({ asker: { principal, now } }: Reach, workflow: Workflow): Condition {
  const asker = { user: expressionUser(principal), now }
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
  access: Reach,
  workflow: Workflow,
  document: StoredDocument,
  action: string,
): Transition {
  const state = stateOf(workflow, document)
  const candidates = workflow.transitions.filter(
    (transition) => transition.from === state && transition.action.toLowerCase() === action.toLowerCase(),
  )
  const refusals = candidates.map((transition) => refusalOf(access, workflow, transition, document))
  const open = candidates[refusals.indexOf(undefined)]
  if (open) return open
  const available = availableActions(access, workflow, document)
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

/** Tells why the principal cannot make the move; undefined when it can. */
function refusalOf(
  { asker: { principal, now } }: Reach,
  workflow: Workflow,
  transition: Transition,
  document: StoredDocument,
): string | undefined {
  if (transition.from !== stateOf(workflow, document))
    return `it is in the state "${stateOf(workflow, document)}"`
  if (!transition.roles.some((role) => hasRole(principal, role)))
    return `needs one of the roles ${transition.roles.join(', ')}`
  if (!transition.allowSelf && document.owner === principal.user) return 'not by the owner of the document'
  const scope = { doc: document, user: expressionUser(principal), now }
  if (transition.when && !holds(transition.when, scope)) return `only when ${transition.when.text}`
  return undefined
}

/** Returns the state; the first one for a document from before the workflow, or in a state that is gone. */
function stateOf(workflow: Workflow, document: StoredDocument): string {
  const state = document['workflow_state']
  return typeof state === 'string' && workflow.states.has(state) ? state : workflow.initial
}
