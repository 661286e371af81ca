import type { Context, Next } from 'koa'
import { answerJson } from '../oauth/http-middleware.ts'

/** Says which methods there are, to who used another. */
export async function wrongMethod(ctx: Context, next: Next): Promise<void> {
  await next()
  if (ctx.status !== 405) return
  const message = `${ctx.method} is not possible at this address; use ${ctx.response.get('Allow')}`
  answerJson(ctx, 405, { error: 'method_not_allowed', message })
}
