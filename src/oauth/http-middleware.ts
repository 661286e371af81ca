/** Reading requests and answering JSON at the OAuth endpoints; what their errors look like on the wire. */
import { AppError } from '../core/errors.ts'
import type { Endpoint, Exchange } from '../core/exchange.ts'
import { BodyTooLarge, readBody } from '../core/request-body.ts'
import { randomId } from '../core/secrets.ts'
import { parseStrict } from '../core/strict-json.ts'
import type { TraceContext } from '../core/trace-context.ts'
import { descriptionText, OAuthError, readParams, type Params } from './protocol.ts'

const formLimit = 65_536
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** An endpoint that answers JSON, never cached, and turns OAuthError into RFC 6749 §5.2 bodies. */
export function jsonEndpoint(handle: (ctx: Exchange) => Promise<void>): Endpoint {
  return async (ctx) => {
    // RFC 6749 §5.1.
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Pragma', 'no-cache')
    try {
      await handle(ctx)
    } catch (error) {
      const fault = asOAuthError(error)
      if (!fault) throw error
      for (const [name, value] of Object.entries(fault.headers)) ctx.set(name, value)
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
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = text
}

/** The parameters of a form body; OAuthError `invalid_request` when it is something else. */
export async function readForm<Ctx extends Exchange>(
  ctx: Ctx,
  limit = formLimit,
  textOf: (ctx: Ctx, limit: number) => Promise<string> = readText,
): Promise<Params> {
  if (!isOfType(ctx, 'application/x-www-form-urlencoded')) {
    throw new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded')
  }
  requireUnencoded(ctx)
  return readParams(new URLSearchParams(await textOf(ctx, limit)))
}

/** A JSON body; OAuthError with the code given when it is none. */
export async function readJson(ctx: Exchange, limit: number): Promise<unknown> {
  requireUnencoded(ctx)
  const text = await readText(ctx, limit)
  try {
    return parseStrict(text, 20)
  } catch (cause) {
    throw new OAuthError('invalid_client_metadata', 'the body must be a JSON object', { cause })
  }
}

/** Whether a request says that its body is of a media type, with whatever parameters. */
export function isOfType(ctx: Exchange, type: string): boolean {
  const said = ctx.get('Content-Type')
  const end = said.indexOf(';')
  return (end < 0 ? said : said.slice(0, end)).trim().toLowerCase() === type
}

function requireUnencoded(ctx: Exchange): void {
  if (!['', 'identity'].includes(ctx.get('Content-Encoding')))
    throw new OAuthError('invalid_request', 'Content-Encoding is not supported', { status: 415 })
}

/** The text of a body, whatever its type says it is: what it means is for the caller to decide. */
async function readText(ctx: Exchange, limit: number): Promise<string> {
  const bytes = await readBody(ctx, limit).catch((error: unknown) => {
    if (!(error instanceof BodyTooLarge)) throw error
    ctx.set('Connection', 'close')
    throw new OAuthError('invalid_request', error.message, { status: 413 })
  })
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new OAuthError('invalid_request', 'the body is not UTF-8', { cause })
  }
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
