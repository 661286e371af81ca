/**
 * Serves the prompt template methods (specification §4.7): POST with a JSON body, answers in the
 * platform's envelope `{"message": …}`. An earlier middleware puts the caller into `ctx.state.principal`.
 * Only JSON is accepted, which no form of another site can send.
 */
import type { Context, Middleware } from 'koa'
import { AppError, httpStatusOf, messageOf } from '#leaf/errors.ts'
import { BodyTooLarge, readBody } from '#front/request-body.ts'
import type { Principal } from '../core/principal.ts'
import { parseStrict } from '#leaf/strict-json.ts'
import type { PromptMethod } from './prompt-methods.ts'

/** The path prefix of every method; the method's name follows. */
export const promptMethodPrefix =
  '/api/method/assistant_core.assistant_core.doctype.prompt_template.prompt_template.'

const largestBody = 1024 * 1024
const deepest = 100

/** Handles every path that begins with the prefix. `arrival` gives no body where the right to send it ended meanwhile. */
export function promptMethodsEndpoint(
  methods: () => Readonly<Record<string, PromptMethod>>,
  arrival: (ctx: Context, body: Promise<Buffer>) => Promise<Buffer | undefined>,
): Middleware {
  return async (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    const name = ctx.path.slice(promptMethodPrefix.length)
    const method = Object.hasOwn(methods(), name) ? methods()[name] : undefined
    if (!ctx.path.startsWith(promptMethodPrefix) || !method)
      return refuse(ctx, 404, 'not_found', `there is no method "${name}"`)
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST')
      return refuse(ctx, 405, 'method_not_allowed', 'send a POST with a JSON body')
    }
    const principal = ctx.state['principal'] as Principal | undefined
    // An earlier middleware answers 401 with its challenge; this check is a second safeguard.
    if (!principal) return refuse(ctx, 401, 'invalid_token', 'authentication is required')
    if (!ctx.is('application/json')) {
      return refuse(ctx, 415, 'unsupported_media_type', 'the body must be application/json')
    }
    try {
      const bytes = await arrival(ctx, readBytes(ctx))
      if (!bytes) return refuse(ctx, 401, 'invalid_token', 'the access has ended')
      const text = bytes.toString('utf8').trim() || '{}'
      ctx.body = { message: await method.call(principal, parsed(text), text) }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { code, retryAfter, data, message } = error
      if (code === 'unavailable') ctx.set('Retry-After', String(retryAfter ?? 5))
      const name = retryAfter === undefined ? code : 'rate_limited'
      refuse(ctx, data === tooLarge ? 413 : httpStatusOf(error), name, message, data)
    }
  }
}

const tooLarge = Symbol('the body is too large')

function readBytes(ctx: Context): Promise<Buffer> {
  return readBody(ctx, largestBody).catch((cause: unknown) => {
    if (!(cause instanceof BodyTooLarge)) throw cause
    ctx.set('Connection', 'close')
    throw new AppError('invalid', `the body must have at most ${largestBody} bytes`, { data: tooLarge })
  })
}

function parsed(text: string): unknown {
  try {
    return parseStrict(text, deepest)
  } catch (error) {
    throw new AppError('invalid', `the body is not JSON: ${messageOf(error)}`)
  }
}

function refuse(ctx: Context, status: number, error: string, message: string, data?: unknown): void {
  ctx.status = status
  ctx.body = { error, message, ...(typeof data === 'object' && data !== null && { data }) }
}
