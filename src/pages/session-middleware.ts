/** Makes principals of users at browsers: for our pages, and for what a page of ours may ask of the platform. */
import type { Needs } from '../control/operation.ts'
import type { Context, Middleware } from 'koa'
import { AppError } from '#leaf/errors.ts'
import { principalFor, type Principal } from '../core/principal.ts'
import { withinBudget } from '../oauth/bearer.ts'
import { sendTo } from '#ui/browser.ts'
import { signedIn, type BrowserDeps } from '../users/browser-middleware.ts'
import { answerJson, traceOf } from '#ui/requests.ts'
import type { User } from '../users/people.ts'
import { readerOf } from './views.ts'
import { isFor, type PageRow, pages } from './pages.ts'

/** The dependencies for making a principal of a signed-in user. */
export type SessionDeps = Needs<'people' | 'refreshed'>

/**
 * Guards the prompt methods, which take the credentials of the MCP endpoint, and the browser session of our own pages:
 * from our own origin only, and as JSON only, which no other site can make a browser send without asking.
 */
export function bearerOrSession(
  guard: Middleware,
  deps: SessionDeps & BrowserDeps & Needs<'limits'>,
): Middleware {
  return async (ctx, next) => {
    const origin = ctx.get('Origin')
    if (ctx.get('Authorization') !== '' || (origin !== '' && origin !== deps.publicUrl()))
      return guard(ctx, next)
    const signed = await signedIn(ctx, deps)
    if (!signed) return guard(ctx, next)
    const principal = browserPrincipal(ctx, deps, signed.user.id)
    if (!principal)
      return answerJson(ctx, 403, {
        error: 'forbidden',
        message: 'assistant access is not enabled for this user',
      })
    // This is the budget that the user's API keys pay from, too.
    if (!(await withinBudget(ctx, deps.limits, 'mcp', `${principal.user} `))) return undefined
    ctx.state['principal'] = principal
    return next()
  }
}

/** Returns the principal of a user signed in at a browser; undefined when the user may not use the service. */
function browserPrincipal(
  ctx: Context,
  { people, refreshed }: SessionDeps,
  user: string,
): Principal | undefined {
  const found = people().find(user)
  if (!found) return undefined
  const trace = traceOf(ctx)
  return refreshed({
    ...principalFor(found, String(ctx.state['requestId'])),
    language: readerOf(ctx).language,
    address: String(ctx.state['address']),
    ...(trace && { trace }),
  })
}

/** Returns that principal; AppError `forbidden` for those who may not use the service. */
export function principalAt(
  { ctx, user }: { readonly ctx: Context; readonly user: { readonly id: string } },
  deps: SessionDeps,
): Principal {
  const principal = browserPrincipal(ctx, deps, user.id)
  if (!principal) throw new AppError('forbidden', 'assistant access is not enabled for this user')
  return principal
}

/** Admits a visitor to a page that is for them, as a principal where it is for users. AppError `forbidden` or `not_found`. */
export function admitted(
  visit: { readonly ctx: Context; readonly user: User },
  page: PageRow,
  deps: SessionDeps,
): Principal | undefined {
  if (page.for === 'users' || page.for === 'auditors') return principalAt(visit, deps)
  if (isFor(page, visit.user)) return undefined
  // The fault page of a missing address greets nobody.
  delete visit.ctx.state['signed']
  throw new AppError('not_found', 'nothing is at this address')
}

/** Notes how many calls wait for the person at a page, for its navigation; once a request, and not where the page knows. */
export async function noteWaiting(ctx: Context, { suspended }: Needs<'suspended'>): Promise<void> {
  const user = (ctx.state['signed'] as { readonly user: User } | undefined)?.user
  if (user?.assistantEnabled) ctx.state['waiting'] ??= (await suspended.waitingFor(user.id)).length
}

/** Sends a browser to the sign-in page, and then to where it was going. */
export function toSignIn(ctx: Context, here: string): void {
  sendTo(ctx, 303, `${pages.signIn.path}?next=${encodeURIComponent(here + searchOf(ctx))}`)
}

/** Returns the query of a page, without `done`: forms are sent with it, and lead back to it. */
export function searchOf(ctx: Context): string {
  const query = new URLSearchParams(ctx.querystring)
  query.delete('done')
  return query.size === 0 ? '' : `?${query.toString()}`
}
