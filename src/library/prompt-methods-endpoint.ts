/**
 * The prompt template methods on the network (specification §4.7): POST with a JSON body, answers in the
 * platform's envelope `{"message": …}`. Whoever calls is in `ctx.state.principal`, put there by the
 * middleware before. Only JSON is accepted, which no form of another site can send.
 */
import type { Context, Middleware } from 'koa'
import { AppError, messageOf, type AppErrorCode } from '../core/errors.ts'
import { BodyTooLarge, readBody } from '../core/request-body.ts'
import type { Principal } from '../core/principal.ts'
import { parseStrict } from '../core/strict-json.ts'
import type { PromptMethod } from './prompt-methods.ts'

/** What every path of a method begins with; its name follows. */
export const promptMethodPrefix =
  '/api/method/assistant_core.assistant_core.doctype.prompt_template.prompt_template.'

const largestBody = 1024 * 1024
const deepest = 100

const statuses: Readonly<Record<AppErrorCode, number>> = {
  invalid: 400,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  unavailable: 503,
}

/** Answers every path that begins with the prefix. */
export function promptMethodsEndpoint(methods: () => Readonly<Record<string, PromptMethod>>): Middleware {
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
    // The middleware before answers 401 with its challenge; this is the bolt behind that lock.
    if (!principal) return refuse(ctx, 401, 'invalid_token', 'authentication is required')
    if (!ctx.is('application/json')) {
      return refuse(ctx, 415, 'unsupported_media_type', 'the body must be application/json')
    }
    try {
      const text = await readText(ctx)
      ctx.body = { message: await method.call(principal, parsed(text), text) }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.code === 'unavailable') ctx.set('Retry-After', '5')
      refuse(ctx, error.data === tooLarge ? 413 : statuses[error.code], error.code, error.message, error.data)
    }
  }
}

const tooLarge = Symbol('the body is too large')

async function readText(ctx: Context): Promise<string> {
  const bytes = await readBody(ctx, largestBody).catch((cause: unknown) => {
    if (!(cause instanceof BodyTooLarge)) throw cause
    ctx.set('Connection', 'close')
    throw new AppError('invalid', `the body must have at most ${largestBody} bytes`, { data: tooLarge })
  })
  const text = bytes.toString('utf8')
  return text.trim() === '' ? '{}' : text
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
