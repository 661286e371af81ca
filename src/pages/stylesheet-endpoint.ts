/** The stylesheet of the pages. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Middleware } from 'koa'

/** GET: the one stylesheet; the policy of the pages allows no other. */
export function stylesheetEndpoint(): Middleware {
  const css = readFileSync(join(import.meta.dirname, 'views/pages.css'), 'utf8')
  return (ctx) => {
    ctx.set({ 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' })
    ctx.type = 'text/css; charset=utf-8'
    ctx.body = css
  }
}
