/** A user at a browser as a principal: for our pages, and for what a page of ours may ask of the platform. */
import type { Context, Middleware } from 'koa'
import { principalFor, type Principal } from '../core/principal.ts'
import { withinBudget } from '../oauth/bearer.ts'
import { signedIn, type BrowserDeps } from '../oauth/browser-middleware.ts'
import { answerJson, traceOf } from '../oauth/http-middleware.ts'
import type { RateLimits } from '../oauth/rate-limits.ts'
import type { People } from '../users/people.ts'

/** What makes a principal of who is signed in. */
export interface SessionDeps {
  readonly people: () => People
  /** Undefined once the user may not use the service. */
  readonly refreshed: (principal: Principal) => Principal | undefined
}

/**
 * The prompt methods take what the MCP endpoint takes, and the browser session of our own pages: from our own
 * origin only, and as JSON only, which no other site can make a browser send without asking.
 */
export function bearerOrSession(
  guard: Middleware,
  deps: SessionDeps & BrowserDeps & { readonly limits: RateLimits },
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
    // The same that its API keys pay from.
    if (!(await withinBudget(ctx, deps.limits, 'mcp', `${principal.user} `))) return undefined
    ctx.state['principal'] = principal
    return next()
  }
}

/** The principal of a user who is signed in at a browser; undefined when the user may not use the service. */
export function browserPrincipal(
  ctx: Context,
  { people, refreshed }: SessionDeps,
  user: string,
): Principal | undefined {
  const found = people().find(user)
  if (!found) return undefined
  const trace = traceOf(ctx)
  return refreshed({
    ...principalFor(found, String(ctx.state['requestId'])),
    address: String(ctx.state['address']),
    ...(trace && { trace }),
  })
}
