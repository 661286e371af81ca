/** The page on which a user allows or denies one call of a tool that needs it: what no model can do for them. */
import type { Context, Middleware } from 'koa'
import { pictured } from '../audit/render.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { WaitingApproval } from '../core/suspended.ts'
import {
  answerPage,
  formToken,
  pageEndpoint,
  requireOwnForm,
  sendTo,
  signedIn,
  type BrowserDeps,
} from '../oauth/browser-middleware.ts'
import { originOf, readForm } from '../oauth/http-middleware.ts'
import { paths } from '../oauth/urls.ts'
import { faultPage } from './authorization-pages.ts'
import type { Render } from './views.ts'

/** Where the calls wait; AppError `not_found` for those of others. */
export interface WaitingCalls {
  find(user: string, id: string): Promise<WaitingApproval>
  decide(principal: Principal, id: string, decision: 'approve' | 'deny'): Promise<WaitingApproval>
}

/** What the two endpoints of a waiting call work with. */
export interface ApprovalsDeps extends BrowserDeps {
  readonly suspended: WaitingCalls
  readonly render: Render
  /** The principal of a user at the browser; undefined when the user may not use the service. */
  readonly principalOf: (ctx: Context, user: string) => Principal | undefined
}

/** GET: the call and its exact arguments. */
export function approvalPageEndpoint(deps: ApprovalsDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    if (!signed) return sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(ctx.path)}`)
    const call = await deps.suspended.find(signed.user.id, idOf(ctx))
    const csrf = formToken(signed.secret, purposeOf(call.id))
    return answerPage(ctx, 200, deps.render('approval', { call: viewOf(ctx, call), csrf }))
  })
}

/** POST: the decision, of the user's own browser and for this call only. */
export function approvalEndpoint(deps: ApprovalsDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const form = await readForm(ctx)
    const signed = await signedIn(ctx, deps)
    const id = idOf(ctx)
    requireOwnForm(ctx, deps, { secret: signed?.secret, purpose: purposeOf(id), token: form.get('csrf') })
    const decision = form.get('decision')
    if (decision !== 'approve' && decision !== 'deny')
      throw new AppError('invalid', 'decision must be approve or deny')
    const principal = signed && deps.principalOf(ctx, signed.user.id)
    if (!principal) throw new AppError('forbidden', 'assistant access is not enabled for this user')
    await deps.suspended.decide({ ...principal, requestId: originOf(ctx).request_id }, id, decision)
    return sendTo(ctx, 303, ctx.path)
  })
}

/** Where the page of a call is, under `public_url`. */
export const approvalsPath = '/approvals/'

function idOf(ctx: Context): string {
  return ctx.path.slice(approvalsPath.length)
}

function purposeOf(id: string): string {
  return `approval ${id}`
}

function viewOf(ctx: Context, call: WaitingApproval): Record<string, unknown> {
  return {
    action: ctx.path,
    client: call.client?.name ?? 'a program with your API key',
    user: call.user,
    tool: call.tool,
    title: call.title,
    destructive: call.destructive,
    arguments: shown(call.arguments),
    asked: minute(call.createdAt),
    expires: minute(call.expiresAt),
    pending: call.state === 'pending',
    state: call.state,
  }
}

/** What a user decides about must not hide behind invisible or reordering characters. */
function shown(value: unknown): string {
  return JSON.stringify(value, null, 2).split('\n').map(pictured).join('\n')
}

function minute(milliseconds: number): string {
  return `${isoTime(milliseconds).slice(0, 16).replace('T', ' ')} UTC`
}
