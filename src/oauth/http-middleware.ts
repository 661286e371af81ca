/** Reading requests and answering JSON at the OAuth endpoints; what their errors look like on the wire. */
import type { Context, Middleware } from 'koa'
import { koaBody } from 'koa-body'
import { AppError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { admit, Gone } from '../core/request-body.ts'
import { randomId } from '../core/secrets.ts'
import { parseStrict } from '../core/strict-json.ts'
import type { TraceContext } from '../core/trace-context.ts'
import { descriptionText, OAuthError, readParams, type Params } from './protocol.ts'

const formLimit = 65_536

/** An endpoint that answers JSON, never cached, and turns OAuthError into RFC 6749 §5.2 bodies. */
export function jsonEndpoint(handle: (ctx: Context) => Promise<void>): Middleware {
  return async (ctx) => {
    // RFC 6749 §5.1.
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Pragma', 'no-cache')
    try {
      await handle(ctx)
    } catch (error) {
      const fault = asOAuthError(error)
      if (!fault) throw error
      ctx.set(fault.headers)
      answerJson(ctx, fault.status, { error: fault.code, error_description: descriptionText(fault.message) })
    }
  }
}

/** Errors of our own nouns, in OAuth's words; undefined for bugs. */
export function asOAuthError(error: unknown): OAuthError | undefined {
  if (error instanceof OAuthError) return error
  if (!(error instanceof AppError)) return undefined
  if (error.code === 'unavailable')
    return new OAuthError('temporarily_unavailable', error.message, { cause: error })
  return new OAuthError('invalid_request', error.message, { cause: error })
}

/** Answers a JSON value. */
export function answerJson(ctx: Exchange, status: number, body: unknown): void {
  answerJsonText(ctx, status, JSON.stringify(body))
}

/** Answers JSON that was written before. */
export function answerJsonText(ctx: Exchange, status: number, text: string): void {
  ctx.status = status
  ctx.type = 'application/json'
  ctx.body = text
}

/** The parameters of a form body; OAuthError `invalid_request` when it is something else. */
export async function readForm(ctx: Context, limit = formLimit): Promise<Params> {
  if (!ctx.is('application/x-www-form-urlencoded')) {
    throw new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded')
  }
  return readParams(new URLSearchParams(await readText(ctx, limit)))
}

/** A JSON body; OAuthError with the code given when it is none. */
export async function readJson(ctx: Context, limit: number): Promise<unknown> {
  const text = await readText(ctx, limit)
  try {
    return parseStrict(text, 20)
  } catch (cause) {
    throw new OAuthError('invalid_client_metadata', 'the body must be a JSON object', { cause })
  }
}

/** The text of a body, whatever its type says it is: what it means is for the caller to decide. */
async function readText(ctx: Context, limit: number): Promise<string> {
  if (!['', 'identity'].includes(ctx.get('Content-Encoding')))
    throw new OAuthError('invalid_request', 'Content-Encoding is not supported', { status: 415 })
  try {
    await readerOf(limit)(ctx, nothingMore)
  } catch (cause) {
    if (!ctx.req.complete && ctx.req.destroyed) throw new Gone()
    if ((cause as { status?: unknown }).status !== 413)
      throw new OAuthError('invalid_request', 'the body cannot be read', { cause })
    ctx.set('Connection', 'close')
    throw new OAuthError('invalid_request', `the body is larger than ${limit} bytes`, { status: 413 })
  }
  admit(ctx)
  const text: unknown = ctx.request.body ?? ''
  // What is not UTF-8 was decoded to replacement characters.
  if (typeof text !== 'string' || text.includes('\ufffd'))
    throw new OAuthError('invalid_request', 'the body is not UTF-8')
  return text
}

const nothingMore = (): Promise<void> => Promise.resolve()

// One for each of the few limits: making one costs as much as reading a form.
const readers = new Map<number, Middleware>()

function readerOf(limit: number): Middleware {
  const known = readers.get(limit)
  if (known) return known
  const reader = koaBody({ json: false, urlencoded: false, textTypes: ['*/*'], textLimit: limit })
  readers.set(limit, reader)
  return reader
}

/** Where in a trace the request stands; undefined when nobody traces it. */
export function traceOf(ctx: Pick<Exchange, 'state'>): TraceContext | undefined {
  return (ctx.state as { trace?: TraceContext }).trace
}

/** What every audit event of a request says of where it came from. */
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
