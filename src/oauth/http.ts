/** Reading requests and answering JSON at the OAuth endpoints; what their errors look like on the wire. */
import type { Context, Middleware } from 'koa'
import { AppError } from '../core/errors.ts'
import { randomId } from '../core/secrets.ts'
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
export function answerJson(ctx: Context, status: number, body: unknown): void {
  ctx.status = status
  ctx.type = 'application/json'
  ctx.body = JSON.stringify(body)
}

/** The parameters of a form body; OAuthError `invalid_request` when it is something else. */
export async function readForm(ctx: Context): Promise<Params> {
  if (!ctx.is('application/x-www-form-urlencoded')) {
    throw new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded')
  }
  return readParams(new URLSearchParams(await readBody(ctx, formLimit)))
}

/** A JSON body; OAuthError with the code given when it is none. */
export async function readJson(ctx: Context, limit: number): Promise<unknown> {
  const text = await readBody(ctx, limit)
  try {
    return JSON.parse(text, (key, value: unknown) => {
      if (key === '__proto__') throw new SyntaxError('a key is not allowed')
      return value
    })
  } catch (cause) {
    throw new OAuthError('invalid_client_metadata', 'the body must be a JSON object', { cause })
  }
}

async function readBody(ctx: Context, limit: number): Promise<string> {
  const tooLarge = (): OAuthError => {
    ctx.set('Connection', 'close')
    return new OAuthError('invalid_request', `the body is larger than ${limit} bytes`, { status: 413 })
  }
  if (Number(ctx.get('Content-Length') || 0) > limit) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw tooLarge()
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (cause) {
    throw new OAuthError('invalid_request', 'the body is not UTF-8', { cause })
  }
}

/** What every audit event of a request says of where it came from. */
export function originOf(ctx: Context): { request_id: string; address: string } {
  const state = ctx.state as { requestId?: string; address?: string }
  return {
    request_id: (state.requestId ??= randomId()),
    address: state.address ?? ctx.req.socket.remoteAddress ?? '',
  }
}
