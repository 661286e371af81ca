/** The start page: who is signed in, or how to connect. */
import type { Middleware } from 'koa'
import { answerPage, pageEndpoint, signedIn, type BrowserDeps } from '../oauth/browser-middleware.ts'
import { resourceOf } from '../oauth/urls.ts'
import type { SuspendedCalls } from '../mcp/suspended-calls.ts'
import { faultPage } from './authorization-pages.ts'
import type { Render } from './views.ts'

/** What the start page works with. */
export interface HomeDeps extends BrowserDeps {
  readonly render: Render
  readonly suspended: Pick<SuspendedCalls, 'waitingFor'>
}

/** GET. */
export function homeEndpoint(deps: HomeDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    const goodbye = ctx.querystring === 'signed_out=1'
    const mcp = resourceOf(deps.publicUrl())
    const waiting = signed ? (await deps.suspended.waitingFor(signed.user.id)).length : 0
    const user = signed?.user ?? ''
    answerPage(ctx, 200, deps.render(ctx, 'home', { user, goodbye, mcp, waiting }))
  })
}
