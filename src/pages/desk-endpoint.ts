/** The desk: dashboards and charts that tools stored, drawn for whoever looks, with that user's own permissions. */
import type { Context, Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import type { Snapshot } from '../build/snapshot.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { SuspendedCalls } from '../mcp/suspended-calls.ts'
import { answerPage, pageEndpoint, sendTo, signedIn, type BrowserDeps } from '../oauth/browser-middleware.ts'
import { paths } from '../oauth/urls.ts'
import type { Site } from '../site/kept-site.ts'
import type { SignedIn } from '../users/sessions.ts'
import { faultPage } from './authorization-pages.ts'
import { dashboardOfDesk, dashboardsFor, pictureFor, type DeskParts } from './desk.ts'
import { browserPrincipal, type SessionDeps } from './session-middleware.ts'
import { viewed } from './viewing.ts'
import type { Render } from './views.ts'

/** What a page for users works with. */
export interface UserPageDeps extends BrowserDeps, SessionDeps {
  readonly audit: Audit
  readonly site: Pick<Site<Snapshot>, 'current'>
  readonly render: Render
}

/** What the pages of the desk work with. */
export interface DeskDeps extends UserPageDeps, DeskParts {
  readonly suspended: Pick<SuspendedCalls, 'waitingFor'>
}

/** GET: the dashboards that the user may see. */
export function deskEndpoint(deps: DeskDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const dashboards = await viewed(deps.audit, user, { type: 'desk.view' }, (principal) =>
      dashboardsFor(deps.site.current().documents, principal),
    )
    const waiting = (await deps.suspended.waitingFor(user.user)).length
    answerPage(ctx, 200, deps.render(ctx, 'desk', { dashboards, user: user.user, waiting }))
  })
}

/** GET: one dashboard. */
export function dashboardEndpoint(deps: DeskDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const id = idOf(ctx)
    const view = { type: 'desk.view', target: `Dashboard/${id}` }
    const dashboard = await viewed(deps.audit, user, view, (principal) =>
      dashboardOfDesk(deps.site.current().documents, principal, id, deps.clock.now()),
    )
    answerPage(ctx, 200, deps.render(ctx, 'dashboard', { dashboard }))
  })
}

/** GET: the picture of one chart. */
export function pictureEndpoint(deps: DeskDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const gone = new AbortController()
    ctx.res.once('close', () => gone.abort())
    const image = await pictureFor(deps, user, idOf(ctx), {
      dark: 'dark' in ctx.query,
      narrow: 'narrow' in ctx.query,
      signal: gone.signal,
    })
    ctx.status = 200
    ctx.type = image.mimeType
    ctx.etag = image.id
    // Kept by the browser, but asked for each time: what the user may see may have changed.
    ctx.set('Cache-Control', 'private, no-cache')
    if (ctx.get('If-None-Match') === ctx.response.get('ETag')) ctx.status = 304
    else ctx.body = Buffer.from(image.data, 'base64')
  })
}

/** A page for those who are signed in and may use the service. */
export function forUsers(
  deps: UserPageDeps,
  handle: (ctx: Context, principal: Principal, signed: SignedIn) => Promise<void>,
): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    if (!signed) return sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(ctx.path)}`)
    await handle(ctx, principalAt({ ...signed, ctx }, deps), signed)
  })
}

/** The principal of who is signed in; AppError `forbidden` for those who may not use the service. */
export function principalAt(
  { ctx, user }: { readonly ctx: Context; readonly user: { readonly id: string } },
  deps: SessionDeps,
): Principal {
  const principal = browserPrincipal(ctx, deps, user.id)
  if (!principal) throw new AppError('forbidden', 'assistant access is not enabled for this user')
  return principal
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
