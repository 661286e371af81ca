/** The start page: who is signed in, or how to connect. */
import type { Middleware } from 'koa'
import { answerPage, pageEndpoint, signedIn, type BrowserDeps } from '../oauth/browser-middleware.ts'
import { resourceOf } from '../oauth/urls.ts'
import { faultPage } from './authorization-pages.ts'
import type { Render } from './views.ts'

/** GET. */
export function homeEndpoint(deps: BrowserDeps & { readonly render: Render }): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    const goodbye = ctx.querystring === 'signed_out=1'
    const mcp = resourceOf(deps.publicUrl())
    answerPage(ctx, 200, deps.render('home', { user: signed?.user ?? '', goodbye, mcp }))
  })
}
