import type { Context, Next } from 'koa'
import { answerJson } from '#ui/requests.ts'

/** Answers a request with the wrong method by naming those that exist. */
export async function wrongMethod(ctx: Context, next: Next): Promise<void> {
  await next()
  if (ctx.status !== 405) return
  const message = `${ctx.method} is not possible at this address; use ${ctx.response.get('Allow')}`
  answerJson(ctx, 405, { error: 'method_not_allowed', message })
}
