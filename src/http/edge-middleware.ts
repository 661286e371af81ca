/** What stands around every endpoint: what an error becomes that it did not answer, and the main switch. */
import { AppError } from '../core/errors.ts'
import type { Exchange, Guard } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import { Gone } from '../core/request-body.ts'
import type { Settings } from '../core/settings.ts'
import { answerJson } from '../oauth/http-middleware.ts'
import { healthPaths } from './health-endpoint.ts'
import { isPage, requestFields } from './requests-middleware.ts'

/** What an error becomes that nobody below answered. */
export function edge(log: Log): Guard {
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof Gone)) answerFault(ctx, error, log)
    }
  }
}

function answerFault(ctx: Exchange, error: unknown, log: Log): void {
  const requestId = String(ctx.state['requestId'])
  // Whatever was prepared for the answer that failed must not leave with this one.
  for (const name of Object.keys(ctx.response.headers))
    if (!/^(access-control-|vary$|x-content-type|x-request-id)/i.test(name)) ctx.remove(name)
  if (error instanceof AppError) {
    const status = { not_found: 404, forbidden: 403, invalid: 400, conflict: 409, unavailable: 503 }[
      error.code
    ]
    if (status === 503) ctx.set('Retry-After', '5')
    return answerJson(ctx, status, { error: error.code, message: error.message })
  }
  log.error('request failed', { ...requestFields(ctx), error })
  return answerJson(ctx, 500, { error: 'server_error', message: 'internal error', request_id: requestId })
}

/** `server.enabled: false` closes MCP and OAuth; sign-in, pages and health stay. */
export function killSwitch(settings: () => Settings): Guard {
  return async (ctx, next) => {
    if (settings().server.enabled || healthPaths.has(ctx.path) || isPage(ctx.path)) return next()
    ctx.set('Retry-After', '60')
    return answerJson(ctx, 503, { error: 'unavailable', message: 'the server is switched off' })
  }
}
