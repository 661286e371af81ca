/** Signing in at the company's OpenID provider: there and back. */
import type { Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import { knownVisitor, pageEndpoint, sendTo, visitorSecret } from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import type { OpenIdProvider } from '../oauth/upstream.ts'
import type { People } from '../users/people.ts'
import { faultPage } from './authorization-pages.ts'
import { letIn, safeNext, type SignInDeps } from './sign-in-endpoint.ts'

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
    await deps.limits.take('authorize', originOf(ctx))
    const visitor = knownVisitor(ctx, deps)
    if (visitor === undefined) throw new AppError('forbidden', 'the sign-in was begun in another browser')
    const { email, next } = await deps.upstream.finish(visitor, ctx.querystring)
    const refusal = `${email} is not a user here; ask your administrator`
    await letIn(ctx, deps, { proven: email, method: 'oidc', refusal })
    sendTo(ctx, 303, next)
  })
}
