/** The pages on which a user finds, reads, and allows or denies calls of tools that need it: what no model can do for them. */
import type { Context, Middleware } from 'koa'
import { pictured } from '../audit/render.ts'
import { AppError } from '../core/errors.ts'
import type { WaitingApproval } from '../core/suspended.ts'
import type { SuspendedCalls } from '../mcp/suspended-calls.ts'
import {
  answerPage,
  formToken,
  pageEndpoint,
  requireOwnForm,
  sendTo,
  signedIn,
  readPageForm,
} from '../oauth/browser-middleware.ts'
import { paths } from '../oauth/urls.ts'
import { faultPage } from './authorization-pages.ts'
import { picturedLines, subjectOf } from './call-subject.ts'
import { forUsers, principalAt, type UserPageDeps } from './desk-endpoint.ts'
import { viewed } from './viewing.ts'

/** What the endpoints of waiting calls work with. */
export interface ApprovalsDeps extends UserPageDeps {
  readonly suspended: SuspendedCalls
}

/** GET: every call that waits for the user. */
export function approvalListEndpoint(deps: ApprovalsDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    if (!signed) return sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(ctx.path)}`)
    const calls = (await deps.suspended.waitingFor(signed.user.id)).map((call) => shownCall(call))
    return answerPage(ctx, 200, deps.render(ctx, 'approvals', { calls }))
  })
}

/** GET: what the call is about, and its exact arguments. */
export function approvalPageEndpoint(deps: ApprovalsDeps): Middleware {
  return forUsers(deps, async (ctx, user, { secret }) => {
    const call = await deps.suspended.find(user.user, idOf(ctx))
    const view = { type: 'approval.view', target: call.id }
    const subject = await viewed(deps.audit, user, view, (principal) =>
      subjectOf(deps.site.current().documents, principal, call),
    )
    const csrf = formToken(secret, purposeOf(call.id))
    answerPage(ctx, 200, deps.render(ctx, 'approval', { call: shownCall(call), subject, csrf }))
  })
}

/** POST: the decision, of the user's own browser and for this call only. */
export function approvalEndpoint(deps: ApprovalsDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const form = await readPageForm(ctx)
    const signed = await signedIn(ctx, deps)
    const id = idOf(ctx)
    requireOwnForm(ctx, deps, { secret: signed?.secret, purpose: purposeOf(id), token: form.get('csrf') })
    const decision = form.get('decision')
    if (decision !== 'approve' && decision !== 'deny')
      throw new AppError('invalid', 'decision must be approve or deny')
    await deps.suspended.decide(principalAt({ ...signed!, ctx }, deps), id, decision)
    return sendTo(ctx, 303, ctx.path)
  })
}

function idOf(ctx: Context): string {
  return ctx.path.slice(paths.approvals.length + 1)
}

function purposeOf(id: string): string {
  return `approval ${id}`
}

/** A call in the words of the pages. */
export function shownCall(call: WaitingApproval): Record<string, unknown> {
  return {
    action: `${paths.approvals}/${call.id}`,
    about: aboutOf(call.arguments),
    client: pictured(call.client?.name ?? ''),
    user: call.user,
    tool: call.tool,
    title: call.title,
    destructive: call.destructive,
    arguments: picturedLines(JSON.stringify(call.arguments, null, 2)),
    asked: call.createdAt,
    expires: call.expiresAt,
    pending: call.state === 'pending',
    state: call.state,
  }
}

/** Which document, by the names in the arguments: titles cost a look at each, and are on its page. */
function aboutOf(given: unknown): string {
  const { doctype, name } = (given ?? {}) as { readonly doctype?: unknown; readonly name?: unknown }
  return pictured([doctype, name].filter((word) => typeof word === 'string').join(' '))
}
