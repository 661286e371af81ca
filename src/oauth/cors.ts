/** Decides which pages of other origins may call us (CORS): discovery for all, the rest by *Allowed Public Client Origins*. */
import cors from '@koa/cors'
import type { Context, Middleware } from 'koa'
import { linesOf, type Settings } from '../core/settings.ts'
import { aliases, paths } from './urls.ts'
import type { Parts } from './parts.ts'

const forClients = new Set<string>([
  paths.register,
  paths.pushed,
  paths.token,
  paths.revoke,
  paths.userinfo,
  paths.mcp,
  aliases.token,
  aliases.register,
])
const methods = 'GET, HEAD, POST, DELETE, OPTIONS'
const headers = [
  'authorization',
  'content-type',
  'accept',
  'mcp-protocol-version',
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
  'last-event-id',
  'idempotency-key',
  'x-mcp-tools',
  'x-mcp-exclude-tools',
  'x-mcp-readonly',
]
const exposed = 'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After'

/** The dependencies of the rule for other origins. */
export type CrossOriginDeps = Parts<'settings' | 'publicUrl' | 'trace' | 'log'>

/** True when any page may call this path. */
function isOpen(path: string): boolean {
  return path.startsWith('/.well-known/') || path === paths.jwks
}

/** True when pages of other origins may call this path, all or some: its answers depend on who asks. */
export function variesByOrigin(path: string): boolean {
  return isOpen(path) || forClients.has(path)
}

/** Answers preflights before any authentication, and marks answers; stands in front of all routes. */
export function crossOrigin(deps: CrossOriginDeps): Middleware {
  return (ctx, next) => {
    if (!variesByOrigin(ctx.path)) return next()
    const open = isOpen(ctx.path)
    const asks = ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== ''
    if (ctx.get('Origin') === '' && !asks) {
      ctx.vary('Origin')
      return next()
    }
    const allowed = open ? '*' : allowedOrigin(ctx.get('Origin'), deps.settings())
    if (allowed === undefined) tellRefusal(ctx.get('Origin'), deps)
    const answer = cors({
      origin: () => allowed ?? '',
      allowMethods: methods,
      allowHeaders: asks ? grantedHeaders(ctx) : headers,
      exposeHeaders: exposed,
      maxAge: 7200,
    })
    return answer(ctx, asks ? refusePreflight(ctx) : next)
  }
}

/** Answers a preflight that nobody may make, with nothing granted. */
function refusePreflight(ctx: Context): () => Promise<void> {
  return () => {
    ctx.status = 204
    return Promise.resolve()
  }
}

/** Tells the operator, once for each origin, which line would allow it: the browser tells its page nothing. */
function tellRefusal(origin: string, { publicUrl, trace, log }: CrossOriginDeps): void {
  if (!/^https?:\/\/[a-z0-9.:[\]-]{1,200}$/i.test(origin) || origin === new URL(publicUrl()).origin) return
  const remedy = `to allow it, add it to the settings: oauth: { allowed_public_client_origins: ["${origin}"] }`
  if (trace.refuseOrigin(origin, `the browser keeps pages of ${origin} out; ${remedy}`))
    log.warn('a web page of another origin was refused', { origin, remedy })
}

/** Returns the allowed origin, if any. The opaque origin `null` is nobody's: sandboxed frames and files have it. */
function allowedOrigin(origin: string, settings: Settings): string | undefined {
  const listed = linesOf(settings.oauth.allowed_public_client_origins)
  if (origin === '' || origin === 'null') return undefined
  if (listed.includes('*')) return '*'
  const plain = listed.map((line) => line.toLowerCase().replace(/\/$/, ''))
  return plain.includes(origin.toLowerCase()) ? origin : undefined
}

/** Returns the headers asked for that we know: a wildcard would not cover Authorization, nor a prefix. */
function grantedHeaders(ctx: Context): string[] {
  const asked = ctx
    .get('Access-Control-Request-Headers')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const granted = asked.filter((name) => headers.includes(name) || /^mcp-param-[a-z0-9-]+$/.test(name))
  return [...new Set([...headers, ...granted])]
}
