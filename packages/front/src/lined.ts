/** Begins requests in turn: it stands between the connection and every request, and recognizes known callers. */
import type { IncomingMessage, RequestListener } from 'node:http'
import { clientAddress, isTrusted, networkKey, type Networks } from '#leaf/address.ts'
import type { Exchange } from './exchange.ts'
import { briefId, sha256 } from '#leaf/secrets.ts'
import type { HeldConnections } from './held-connections.ts'
import type { Leaving } from './leaving.ts'
import type { TakenPlace } from './places.ts'
import type { WaitingLine } from './waiting-line.ts'

interface Needed {
  readonly line: WaitingLine
  readonly leaving: Leaving
  /** The trusted proxies. */
  readonly trusted: () => Networks
}

/** The callbacks by which the line learns and tells what it does not know by itself. */
export interface LineEdges {
  /** True when requests for this path skip the line. */
  readonly isUnlined: (path: string) => boolean
  /** Called for each refused request. */
  readonly refused: (refused: { path: string; method: string; requestId: string }) => void
}

/** Begins each request when it is its turn, or tells its sender to retry, before looking at it, since that must be cheap. */
export function lined(
  { line, leaving, trusted }: Needed,
  { isUnlined, refused }: LineEdges,
  listener: RequestListener,
): RequestListener {
  return (request, response) => {
    if (line.isFree()) return listener(request, response)
    const path = (request.url ?? '').split('?', 1)[0]!
    if (isUnlined(path)) return listener(request, response)
    const { socket } = request
    const caller = callerOf(request, line, trusted)
    const isShared = isTrusted(socket, trusted())
    // A stopping daemon waits for the requests in the line.
    leaving.add(response)
    response.once('close', () => {
      leaving.remove(response)
      // A proxy's connection carries the requests of others as well.
      if (!isShared) line.answered(caller, socket)
    })
    const begin = (): void => listener(request, response)
    const refuse = (): void => {
      const requestId = briefId()
      refused({ path, method: request.method ?? '', requestId })
      // The rest of an incomplete request is not waited for.
      const headers = request.complete ? comeAgain : goAway
      response.writeHead(503, { ...headers, 'X-Request-Id': requestId }).end(refusedInLine)
    }
    line.wait(caller, { begin, refuse, socket })
  }
}

/** Returns the caller whose line a request belongs in: its user where that is known, otherwise its network. */
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

/** Records the user of a valid token or session: their requests have places in reserve, and wait in the user's line. */
export function knownCaller(
  { state, req }: Pick<Exchange, 'state' | 'req'>,
  { line, connections }: { readonly line: WaitingLine; readonly connections: HeldConnections },
): void {
  const { user } = state['principal'] as { readonly user: string }
  ;(state['place'] as TakenPlace | undefined)?.isKnown(user)
  line.know((state['presented'] as string | undefined) ?? presentedBy(req), user)
  connections.know(req.socket, user)
}

/** Returns a digest of the credentials presented, so that no secret is kept. A bearer token's is the one it is looked up by. */
function presentedBy({ headers }: IncomingMessage): string {
  return sha256((headers.authorization ?? headers.cookie ?? '').replace(/^bearer +/i, ''))
}
