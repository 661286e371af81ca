import type { Context } from 'koa'
import type { Needs } from '../control/operation.ts'
import type { PageRow } from './pages.ts'
import { AppError, httpStatusOf } from '#leaf/errors.ts'
import { BodyTooLarge } from '#front/request-body.ts'
import { asOAuthError } from '../oauth/http-middleware.ts'
import { answerPage, type PageExchange, pageHeaders } from '#ui/browser.ts'
import { packPage, type Render } from '#ui/pages.ts'
import { readerOf } from './views.ts'
import { noteWaiting } from './session-middleware.ts'

/** Makes the endpoint of a page: HTML under a strict policy, with faults shown as a page too. */
export function pageEndpoint<One extends PageExchange = Context>(
  render: Render,
  handle: (ctx: One) => Promise<void>,
): (ctx: One) => Promise<void> {
  return async (ctx) => {
    pageHeaders(ctx, "'self'")
    try {
      await handle(ctx)
    } catch (error) {
      const oauth = asOAuthError(error)
      const known = error instanceof AppError || error instanceof BodyTooLarge ? error : oauth
      if (!known) throw error
      for (const [name, value] of Object.entries(oauth?.headers ?? {})) ctx.set(name, value)
      const status = statusOf(known)
      const words = readerOf(ctx).messages
      const fault = { title: words.fault(titleOf(status)), message: words.fault(known.message) }
      answerPage(ctx, status, render(ctx, 'fault', fault))
    }
    packPage(ctx)
  }
}

/** Answers with a page by its view. */
export async function drawPage(
  ctx: Context,
  page: PageRow,
  shown: Readonly<Record<string, unknown>>,
  deps: Needs<'render' | 'suspended'>,
  status = 200,
): Promise<void> {
  await noteWaiting(ctx, deps)
  // What the address asks for may be wrong as well: the page says so where it was asked.
  answerPage(ctx, shown['isFaulty'] === true ? 400 : status, deps.render(ctx, page.view!, shown))
}

function statusOf(fault: AppError | BodyTooLarge | { readonly status: number }): number {
  if (fault instanceof AppError) return httpStatusOf(fault)
  return fault instanceof BodyTooLarge ? 413 : fault.status
}

function titleOf(status: number): string {
  if (status === 403) return 'Not allowed'
  if (status === 404) return 'Not found'
  if (status === 429) return 'Too many requests'
  return 'This cannot go on'
}
