/** Whose turn it is: what stands between the connection and every request, and knows callers again. */
import type { IncomingMessage, RequestListener } from 'node:http'
import { clientAddress, networkKey, type Networks } from '../core/address.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Principal } from '../core/principal.ts'
import { briefId, sha256 } from '../core/secrets.ts'
import { endpointOf, methodOf } from './endpoint-names.ts'
import { healthPaths } from './health-endpoint.ts'
import type { HeldConnections } from './held-connections.ts'
import type { Leaving } from './leaving.ts'
import type { Metrics } from './metrics.ts'
import type { TakenPlace } from './places.ts'
import { isTrusted } from './requests-middleware.ts'
import type { WaitingLine } from './waiting-line.ts'

interface Needed {
  readonly line: WaitingLine
  readonly metrics: Metrics
  readonly leaving: Leaving
  /** The proxies that are believed. */
  readonly trusted: () => Networks
  /** Hears of each request that is refused. */
  readonly tell: (fields: { request_id: string }) => void
}

/** Begins each request when it is its turn, or tells its sender to come again: before it is looked at, since that must cost little. */
export function lined(
  { line, leaving, metrics, trusted, tell }: Needed,
  listener: RequestListener,
): RequestListener {
  return (request, response) => {
    if (line.isFree()) return listener(request, response)
    const path = (request.url ?? '').split('?', 1)[0]!
    if (healthPaths.has(path)) return listener(request, response)
    const { socket } = request
    const caller = callerOf(request, line, trusted)
    const isShared = isTrusted({ req: request }, trusted())
    // Whoever waits is waited for when the daemon stops.
    leaving.add(response)
    response.once('close', () => {
      leaving.remove(response)
      // A proxy's connection brings what others ask next.
      if (!isShared) line.answered(caller, socket)
    })
    const begin = (): void => listener(request, response)
    const refuse = (): void => {
      const requestId = briefId()
      metrics.shed(endpointOf(path), methodOf(request.method ?? ''))
      tell({ request_id: requestId })
      // What of it has not come by now is not waited for.
      const headers = request.complete ? comeAgain : goAway
      response.writeHead(503, { ...headers, 'X-Request-Id': requestId }).end(refusedInLine)
    }
    line.wait(caller, { begin, refuse, socket })
  }
}

/** Whose line a request belongs in: its user's where that is known, otherwise its network's. */
function callerOf(request: IncomingMessage, line: WaitingLine, trusted: () => Networks): string {
  const user = line.userOf(presentedBy(request))
  if (user !== undefined) return `user ${user}`
  const forwarded = request.headers['x-forwarded-for']
  return networkKey(
    clientAddress(request.socket.remoteAddress ?? '', forwarded && String(forwarded), trusted()),
  )
}

const refusedInLine = JSON.stringify({ error: 'unavailable', message: 'too many requests are in progress' })
const comeAgain = {
  'Content-Type': 'application/json',
  'Content-Length': refusedInLine.length,
  'Retry-After': '1',
  'X-Content-Type-Options': 'nosniff',
}
const goAway = { ...comeAgain, Connection: 'close' }

/** Whoever asks is known by a token or session that works: such work has places in reserve, and is its user's in the line. */
export function knownCaller(
  { state, req }: Pick<Exchange, 'state' | 'req'>,
  { line, connections }: { readonly line: WaitingLine; readonly connections: HeldConnections },
): void {
  ;(state['place'] as TakenPlace | undefined)?.isKnown()
  const { user } = state['principal'] as Principal
  line.know((state['presented'] as string | undefined) ?? presentedBy(req), user)
  connections.know(req.socket, user)
}

/** What says who asks, as a digest: nothing secret is kept to know it by. That of a bearer token is the one that it is found by. */
function presentedBy({ headers }: IncomingMessage): string {
  return sha256((headers.authorization ?? headers.cookie ?? '').replace(/^bearer +/i, ''))
}
