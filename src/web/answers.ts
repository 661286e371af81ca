/** Answers in JSON, and what every request tells about itself. */
import type { Context } from 'koa'
import type { Exchange } from '#front/exchange.ts'
import { randomId } from '#leaf/secrets.ts'
import type { TraceContext } from '#telemetry/trace-context.ts'

/** Answers a JSON value. */
export function answerJson(ctx: Exchange, status: number, body: unknown): void {
  answerJsonText(ctx, status, JSON.stringify(body))
}

/** Answers JSON that is already a text. */
export function answerJsonText(ctx: Exchange, status: number, text: string): void {
  ctx.status = status
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = text
}

/** Answers a file to be saved, which a browser never shows as a page of ours. */
export function answerDownload(ctx: Context, name: string, type: string, body: unknown): void {
  ctx.status = 200
  ctx.type = type
  ctx.attachment(name)
  ctx.body = body
}

/** True when a request declares a body of this media type, with any parameters. */
export function isOfType(ctx: Exchange, type: string): boolean {
  const said = ctx.get('Content-Type')
  const end = said.indexOf(';')
  return (end < 0 ? said : said.slice(0, end)).trim().toLowerCase() === type
}

/** Returns the request's place in a trace; undefined when nobody traces it. */
export function traceOf(ctx: Pick<Exchange, 'state'>): TraceContext | undefined {
  return (ctx.state as { trace?: TraceContext }).trace
}

/** Returns the origin of a request, which each of its audit events records. */
export function originOf(ctx: Pick<Exchange, 'req' | 'state'>): {
  request_id: string
  address: string
  trace_id?: string
} {
  const state = ctx.state as { requestId?: string; address?: string }
  const trace = traceOf(ctx)
  return {
    request_id: (state.requestId ??= randomId()),
    address: state.address ?? ctx.req.socket.remoteAddress ?? '',
    ...(trace && { trace_id: trace.traceId }),
  }
}
