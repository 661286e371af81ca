/** Signing in at the company's OpenID provider: there and back. */
import type { Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import {
  knownVisitor,
  openSession,
  pageEndpoint,
  sendTo,
  visitorSecret,
} from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import type { OpenIdProvider } from '../oauth/upstream.ts'
import type { People } from '../users/people.ts'
import { faultPage } from './authorization-pages.ts'
import { safeNext, type SignInDeps } from './sign-in-endpoint.ts'

/** What it works with. */
export interface UpstreamDeps extends SignInDeps {
  readonly people: () => People
  readonly audit: Audit
  readonly upstream: OpenIdProvider
}

/** GET: sends the browser to the provider. */
export function upstreamEndpoint(deps: UpstreamDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    const next = safeNext(new URLSearchParams(ctx.querystring).get('next'))
    sendTo(ctx, 303, await deps.upstream.begin(visitorSecret(ctx, deps), next))
  })
}

/** GET: takes the browser back and signs it in. */
export function upstreamCallbackEndpoint(deps: UpstreamDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const origin = originOf(ctx)
    await deps.limits.take('authorize', origin)
    const visitor = knownVisitor(ctx, deps)
    if (visitor === undefined) throw new AppError('forbidden', 'the sign-in was begun in another browser')
    const { email, next } = await deps.upstream.finish(visitor, ctx.querystring)
    const user = deps.people().find(email)
    await deps.audit.record({
      type: user?.enabled ? 'sign_in.ok' : 'sign_in.fail',
      status: user?.enabled ? 'ok' : 'denied',
      user: user?.id ?? email,
      ...origin,
      data: { method: 'oidc' },
    })
    if (!user?.enabled) throw new AppError('forbidden', `${email} is not a user here; ask your administrator`)
    await openSession(ctx, deps, { user: user.id, method: 'oidc', address: origin.address })
    sendTo(ctx, 303, next)
  })
}
