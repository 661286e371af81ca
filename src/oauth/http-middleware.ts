/** Reads requests and answers JSON at the OAuth endpoints, and gives their errors the form they have on the wire. */
import { AppError } from '#leaf/errors.ts'
import type { Endpoint, Exchange } from '#front/exchange.ts'
import { BodyTooLarge, readBody } from '#front/request-body.ts'
import { parseStrict } from '#leaf/strict-json.ts'
import { answerJson, isOfType, originOf, type Params, readParams } from '#ui/requests.ts'
import { descriptionText, OAuthError, refuseRepeated } from './protocol.ts'
import type { RateLimits } from './rate-limits.ts'

const formLimit = 65_536
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Makes an endpoint that answers JSON, never cached, and turns OAuthError into RFC 6749 §5.2 bodies. */
export function jsonEndpoint(handle: (ctx: Exchange) => Promise<void>): Endpoint {
  return async (ctx) => {
    // Both headers follow RFC 6749 §5.1.
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

/** Turns our own errors into OAuth's; undefined for bugs. */
export function asOAuthError(error: unknown): OAuthError | undefined {
  if (error instanceof OAuthError) return error
  if (!(error instanceof AppError)) return undefined
  if (error.code === 'unavailable')
    return new OAuthError('temporarily_unavailable', error.message, {
      headers: { 'Retry-After': '5' },
      cause: error,
    })
  return new OAuthError('invalid_request', error.message, { cause: error })
}

/** Reads the parameters of a form body; OAuthError `invalid_request` when the body is not a form. */
export async function readForm(ctx: Exchange): Promise<Params> {
  if (!isOfType(ctx, 'application/x-www-form-urlencoded')) {
    throw new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded')
  }
  requireUnencoded(ctx)
  return readParams(new URLSearchParams(await readText(ctx, formLimit)))
}

/** Reads the form in which a client says who it is, once each, within the budgets of its address and of itself there. */
export async function readClientForm(ctx: Exchange, { limits }: { limits: RateLimits }): Promise<Params> {
  const origin = originOf(ctx)
  const params = await readForm(ctx)
  // Many users share one address behind a client's cloud: one limit is per client and address, a wider one per address.
  await limits.take('token', { ...origin, times: 10 })
  const key = `${origin.address} ${(params.get('client_id') ?? '').slice(0, 500)}`
  await limits.take('token', { ...origin, key })
  refuseRepeated(params)
  return params
}

/** Reads a JSON body; OAuthError `invalid_client_metadata` when it is not JSON. */
export async function readJson(ctx: Exchange, limit: number): Promise<unknown> {
  requireUnencoded(ctx)
  const text = await readText(ctx, limit)
  try {
    return parseStrict(text, 20)
  } catch (cause) {
    throw new OAuthError('invalid_client_metadata', 'the body must be a JSON object', { cause })
  }
}

function requireUnencoded(ctx: Exchange): void {
  if (!['', 'identity'].includes(ctx.get('Content-Encoding')))
    throw new OAuthError('invalid_request', 'Content-Encoding is not supported', { status: 415 })
}

/** Reads the text of a body, whatever its type says: the caller decides what it means. */
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
