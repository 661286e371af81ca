/** The pages on which a user finds, reads, and allows or denies calls of tools that need it: what no model can do for them. */
import type { Context, Middleware } from 'koa'
import { pictured } from '../audit/render.ts'
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
  readPageForm,
} from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import { paths } from '../oauth/urls.ts'
import { faultPage } from './authorization-pages.ts'
import type { Render } from './views.ts'

/** Where the calls wait; AppError `not_found` for those of others. */
export interface WaitingCalls {
  waitingFor(user: string): Promise<readonly WaitingApproval[]>
  find(user: string, id: string): Promise<WaitingApproval>
  decide(principal: Principal, id: string, decision: 'approve' | 'deny'): Promise<WaitingApproval>
}

/** What a call is about, in the values that whoever decides may read. */
export interface CallSubject {
  readonly doctype?: string
  readonly name?: string
  readonly title?: string
  /** Whether there is a document of this name that they may read. */
  readonly found?: boolean
  /** Fields that the call sets; `from` where the document is there. */
  readonly changes?: readonly { readonly label: string; readonly from?: string; readonly to: string }[]
  /** The main fields of a document that the call does something else with. */
  readonly fields?: readonly { readonly label: string; readonly value: string }[]
  /** Arguments of several lines, such as programs. */
  readonly texts: readonly (readonly [name: string, text: string])[]
}

/** Tells what a call is about. */
export type SubjectOf = (principal: Principal, call: WaitingApproval) => Promise<CallSubject>

/** What the endpoints of waiting calls work with. */
export interface ApprovalsDeps extends BrowserDeps {
  readonly suspended: WaitingCalls
  readonly subjectOf: SubjectOf
  readonly render: Render
  /** The principal of a user at the browser; undefined when the user may not use the service. */
  readonly principalOf: (ctx: Context, user: string) => Principal | undefined
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
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    if (!signed) return sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(ctx.path)}`)
    const call = await deps.suspended.find(signed.user.id, idOf(ctx))
    const principal = deps.principalOf(ctx, signed.user.id)
    if (!principal) throw new AppError('forbidden', 'assistant access is not enabled for this user')
    const subject = subjectView(await deps.subjectOf(principal, call))
    const csrf = formToken(signed.secret, purposeOf(call.id))
    return answerPage(ctx, 200, deps.render(ctx, 'approval', { call: shownCall(call), subject, csrf }))
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
    const principal = signed && deps.principalOf(ctx, signed.user.id)
    if (!principal) throw new AppError('forbidden', 'assistant access is not enabled for this user')
    await deps.suspended.decide({ ...principal, requestId: originOf(ctx).request_id }, id, decision)
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
    arguments: shown(call.arguments),
    asked: call.createdAt,
    expires: call.expiresAt,
    pending: call.state === 'pending',
    state: call.state,
  }
}

/** What a user decides about must not hide behind invisible or reordering characters. */
function shown(value: unknown): string {
  return lines(JSON.stringify(value, null, 2))
}

function lines(text: string): string {
  return text.split('\n').map(pictured).join('\n')
}

/** Which document, by the names in the arguments: titles cost a look at each, and are on its page. */
function aboutOf(given: unknown): string {
  const { doctype, name } = (given ?? {}) as { readonly doctype?: unknown; readonly name?: unknown }
  return pictured([doctype, name].filter((word) => typeof word === 'string').join(' '))
}

function subjectView({ title, changes, fields, texts, ...rest }: CallSubject): Record<string, unknown> {
  return {
    ...rest,
    title: pictured(title ?? ''),
    changes: changes?.map(({ label, from = '', to }) => ({ label, from: lines(from), to: lines(to) })) ?? [],
    fields: fields?.map(({ label, value }) => ({ label, value: lines(value) })) ?? [],
    texts: texts.map(([name, text]) => ({ name: pictured(name), text: lines(text) })),
  }
}
