/** The pages on which a user finds, reads, and allows or denies tool calls that need it, which no model can do for them. */
import type { Needs } from '../../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import { formToken, requireOwnForm, sendTo, readPageForm } from '#ui/browser.ts'
import { signedIn } from '../../users/browser-middleware.ts'
import { pathPart } from '#ui/requests.ts'
import { shownCall, subjectOf } from './call-subject.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import type { FormPage, Showing } from '../route-page.ts'
import { principalAt } from '../session-middleware.ts'
import { documentsFor, viewed } from './viewing.ts'

/** The dependencies of the endpoints for waiting calls. */
type ApprovalsDeps = UserPageDeps & Needs<'suspended'>

/** Answers GET with every call that waits for the user. */
export function approvalListEndpoint({ suspended }: ApprovalsDeps): Showing<'users'> {
  return async (ctx, { user }) => {
    const waiting = await suspended.waitingFor(user)
    ctx.state['waiting'] = waiting.length
    return { calls: waiting.map((call) => shownCall(call)) }
  }
}

/** Shows the subject of the call and its exact arguments; takes the decision from the user's own browser, for this call only. */
export function approvalEndpoint(deps: ApprovalsDeps): FormPage<'users'> {
  return {
    get: async (ctx, user, { secret }) => {
      const call = await deps.suspended.find(user.user, pathPart(ctx, 'id'))
      const view = { type: 'approval.view', target: call.id }
      const subject = await viewed(deps.audit, user, view, (principal) =>
        subjectOf(documentsFor(principal, deps), principal, call),
      )
      return { call: shownCall(call), subject, csrf: formToken(secret, purposeOf(call.id)) }
    },
    post: async (ctx) => {
      const form = await readPageForm(ctx)
      const signed = await signedIn(ctx, deps)
      const id = pathPart(ctx, 'id')
      requireOwnForm(ctx, deps, { secret: signed?.secret, purpose: purposeOf(id), form })
      const decision = form.get('decision')
      if (decision !== 'approve' && decision !== 'deny')
        throw new AppError('invalid', 'decision must be approve or deny')
      await deps.suspended.decide(principalAt({ ...signed!, ctx }, deps), id, decision)
      return sendTo(ctx, 303, ctx.path)
    },
  }
}

function purposeOf(id: string): string {
  return `approval ${id}`
}
