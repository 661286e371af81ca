/** What every request tells and asks, and answers in JSON and as files: for pages and for programs. */
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

/** The parameters of a query or form. */
export interface Params {
  get(name: string): string | undefined
  /** The values of `resource`, the only parameter that may come several times (RFC 8707 §2). */
  readonly resources: readonly string[]
  /** Names that came more than once, which RFC 6749 §3.1 forbids. */
  readonly repeated: readonly string[]
}

/** Reads the parameters of a query or a form body. */
export function readParams(search: URLSearchParams): Params {
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  const resources: string[] = []
  for (const [name, value] of search) {
    // RFC 6749 §3.1: a parameter without a value counts as omitted.
    if (value === '') continue
    if (name === 'resource') resources.push(value)
    else if (values.has(name)) repeated.add(name)
    else values.set(name, value)
  }
  return { get: (name) => values.get(name), resources, repeated: [...repeated] }
}

/** Returns one parameter of the query of an address; empty when it is not there. */
export function asked({ querystring }: Pick<Context, 'querystring'>, name: string): string {
  return (new URLSearchParams(querystring).get(name) ?? '').trim()
}

/** Returns a part of the path of an address by its name in the page table; empty when it is not there. */
export function pathPart(ctx: Context, name: string): string {
  return (ctx['params'] as Readonly<Record<string, string | undefined>>)[name] ?? ''
}

/** Returns the query of the same question from its first page on, with something else in it. */
export function queryOf(
  { querystring }: Pick<Context, 'querystring'>,
  other: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams([...new URLSearchParams(querystring)].filter(([, value]) => value !== ''))
  for (const name of ['after', 'offset']) query.delete(name)
  for (const [name, value] of Object.entries(other)) query.set(name, value)
  return query.toString()
}
