/**
 * Checks which browsers' pages may call the endpoint (MCP transports, DNS rebinding): the Host must be a name of
 * ours, and an Origin, if there is one, must be allowed.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { linesOf, type Settings } from '../core/settings.ts'

// A page cannot make a browser send these as the Host of a name of its own.
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Returns why a request with these headers is refused, or undefined. */
export type OriginCheck = (headers: IncomingHttpHeaders) => string | undefined

/** Makes the check for a public URL and settings; once for each reload. */
export function originCheck(publicUrl: string, settings: Settings): OriginCheck {
  const own = new URL(publicUrl)
  const hosts = new Set([own.hostname, ...linesOf(settings.server.allowed_hosts).map(hostName)])
  const listed = [
    ...linesOf(settings.server.allowed_origins),
    ...linesOf(settings.oauth.allowed_public_client_origins),
  ]
  const origins = new Set([own.origin, ...listed.map((origin) => origin.toLowerCase().replace(/\/$/, ''))])
  const anyOrigin = origins.has('*')

  return ({ host, origin }) => {
    const name = hostName(host ?? '')
    if (!hosts.has(name) && !loopback.has(name)) return `host ${JSON.stringify(host ?? '')} is not allowed`
    if (origin === undefined || anyOrigin || origins.has(origin.toLowerCase())) return undefined
    if (URL.canParse(origin) && loopback.has(new URL(origin).hostname)) return undefined
    return `origin ${JSON.stringify(origin)} is not allowed`
  }
}

/** Returns `example.com:8080` without the port, which proxies add and drop. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '')
}
