import type { Guard } from '#front/exchange.ts'
import type { Settings } from '../core/settings.ts'
import { answerJson } from '#ui/requests.ts'

/** Closes MCP, OAuth and the methods of prompts while `server.enabled` is false; pages that people open stay open. */
export function killSwitch(settings: () => Settings): Guard {
  return (ctx, next) => {
    if (settings().server.enabled) return next()
    ctx.set('Retry-After', '60')
    return answerJson(ctx, 503, { error: 'unavailable', message: 'the server is switched off' })
  }
}
