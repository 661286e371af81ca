import type { Guard } from '../core/exchange.ts'
import type { Settings } from '../core/settings.ts'
import { answerJson } from '../oauth/http-middleware.ts'
import { isPage } from './endpoint-names.ts'
import { healthPaths } from './health-endpoint.ts'

/** `server.enabled: false` closes MCP and OAuth; sign-in, pages and health stay. */
export function killSwitch(settings: () => Settings): Guard {
  return (ctx, next) => {
    if (settings().server.enabled || healthPaths.has(ctx.path) || isPage(ctx.path)) return next()
    ctx.set('Retry-After', '60')
    return answerJson(ctx, 503, { error: 'unavailable', message: 'the server is switched off' })
  }
}
