import type { Guard } from '#front/exchange.ts'
import type { Settings } from '../core/settings.ts'
import { originCheck, type OriginCheck } from './origin.ts'
import type { McpDeps } from './call.ts'
import { errorCodes } from './json-rpc.ts'

/** Refuses foreign hosts and origins with 403; it runs before the token is checked, so that a page learns nothing. */
export function originGuard(deps: Pick<McpDeps, 'publicUrl'> & { readonly settings: () => Settings }): Guard {
  const checkOf = originChecks(deps)
  return (ctx, next) => {
    const problem = twoHosts(ctx.req.rawHeaders) ?? checkOf(deps.settings())(ctx.req.headers)
    if (problem === undefined) return next()
    ctx.status = 403
    ctx.type = 'application/json'
    ctx.body = JSON.stringify({
      jsonrpc: '2.0',
      id: null,
      error: { code: errorCodes.invalidRequest, message: problem },
    })
    return undefined
  }
}

/** Returns the problem of two Host headers: Node keeps one, and a proxy may have used the other (RFC 9112 §3.2). */
function twoHosts(raw: readonly string[]): string | undefined {
  let hosts = 0
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1 ? 'the request has more than one Host header' : undefined
}

/** Returns the Host and Origin rules, made anew when the settings change. */
function originChecks(deps: Pick<McpDeps, 'publicUrl'>): (settings: Settings) => OriginCheck {
  let made: { readonly settings: Settings; readonly url: string; readonly check: OriginCheck } | undefined
  return (settings) => {
    const url = deps.publicUrl()
    if (made?.settings !== settings || made.url !== url) {
      made = { settings, url, check: originCheck(url, settings) }
    }
    return made.check
  }
}
