/** The desk: dashboards and charts that tools stored, drawn for whoever looks, with that user's own permissions. */
import type { Context, Middleware } from 'koa'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { answerPage, pageEndpoint, sendTo, signedIn, type BrowserDeps } from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import { paths } from '../oauth/urls.ts'
import type { WaitingCalls } from './approvals-endpoint.ts'
import { faultPage } from './authorization-pages.ts'
import type { Render } from './views.ts'

/** A dashboard as the list shows it. */
export interface Dashboard {
  readonly id: string
  readonly name: string
  readonly owner: string
}

/** A chart of a dashboard, with its numbers for who does not see the picture. */
export interface DrawnChart {
  readonly id: string
  readonly name: string
  readonly points: readonly { readonly label: string; readonly value: number }[]
}

/** Where the page gets what it shows; AppError `not_found` for what the principal may not see. */
export interface Desk {
  dashboards(principal: Principal): Promise<readonly Dashboard[]>
  dashboard(principal: Principal, id: string): Promise<Dashboard & { readonly charts: readonly DrawnChart[] }>
  picture(
    principal: Principal,
    chart: string,
    look: { readonly dark: boolean; readonly narrow: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly mimeType: string; readonly bytes: Buffer; readonly id: string }>
}

/** What a page for users works with. */
export interface UserPageDeps extends BrowserDeps {
  readonly render: Render
  /** The principal of a user at the browser; undefined when the user may not use the service. */
  readonly principalOf: (ctx: Context, user: string) => Principal | undefined
}

/** What the pages of the desk work with. */
export interface DeskDeps extends UserPageDeps {
  readonly desk: Desk
  readonly suspended: Pick<WaitingCalls, 'waitingFor'>
}

/** GET: the dashboards that the user may see. */
export function deskEndpoint(deps: DeskDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const dashboards = await deps.desk.dashboards(principal)
    const waiting = (await deps.suspended.waitingFor(principal.user)).length
    answerPage(ctx, 200, deps.render(ctx, 'desk', { dashboards, user: principal.user, waiting }))
  })
}

/** GET: one dashboard. */
export function dashboardEndpoint(deps: DeskDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const dashboard = await deps.desk.dashboard(principal, idOf(ctx))
    answerPage(ctx, 200, deps.render(ctx, 'dashboard', { dashboard }))
  })
}

/** GET: the picture of one chart. */
export function pictureEndpoint(deps: DeskDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const gone = new AbortController()
    ctx.res.once('close', () => gone.abort())
    const { mimeType, bytes, id } = await deps.desk.picture(
      principal,
      idOf(ctx),
      { dark: 'dark' in ctx.query, narrow: 'narrow' in ctx.query },
      gone.signal,
    )
    ctx.status = 200
    ctx.type = mimeType
    ctx.etag = id
    // Kept by the browser, but asked for each time: what the user may see may have changed.
    ctx.set('Cache-Control', 'private, no-cache')
    if (ctx.get('If-None-Match') === ctx.response.get('ETag')) ctx.status = 304
    else ctx.body = bytes
  })
}

/** A page for those who are signed in and may use the service. */
export function forUsers(
  deps: UserPageDeps,
  handle: (ctx: Context, principal: Principal) => Promise<void>,
): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    if (!signed) return sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(ctx.path)}`)
    await handle(ctx, principalAt({ ...signed, ctx }, deps))
  })
}

/** The principal of who is signed in; AppError `forbidden` for those who may not use the service. */
export function principalAt(
  { ctx, user }: { readonly ctx: Context; readonly user: { readonly id: string } },
  deps: Pick<UserPageDeps, 'principalOf'>,
): Principal {
  const principal = deps.principalOf(ctx, user.id)
  if (!principal) throw new AppError('forbidden', 'assistant access is not enabled for this user')
  return { ...principal, requestId: originOf(ctx).request_id }
}

function idOf(ctx: Context): string {
  return partsBelow(ctx, paths.desk).at(-1)!
}

/** The parts of the address below a path, as they were before they were written into it. AppError `not_found`. */
export function partsBelow(ctx: Context, path: string): string[] {
  try {
    return ctx.path
      .slice(path.length + 1)
      .split('/')
      .map((part) => decodeURIComponent(part))
  } catch {
    throw new AppError('not_found', 'nothing is at this address')
  }
}
