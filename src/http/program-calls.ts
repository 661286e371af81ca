/** The busiest paths: what programs ask, at the MCP endpoint and those of OAuth. What Koa does around a request costs more than answering it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BareExchange, type Endpoint, type Exchange } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import type { Soon } from '../core/soon.ts'
import type { ProgramEndpoint } from '../oauth/endpoints.ts'
import { answerJson } from '../oauth/http-middleware.ts'
import { probeHeader } from './doctor-probe.ts'

/** What answers programs, by method and exact path. */
type ProgramCalls = ReadonlyMap<string, Endpoint>

/** The endpoints as they are looked up. */
export function callsOf(endpoints: readonly ProgramEndpoint[]): ProgramCalls {
  return new Map(
    endpoints.flatMap(([method, places, endpoint]) =>
      places.map((place) => [`${method} ${place}`, endpoint] as const),
    ),
  )
}

/** What answers a request that a program sent; what a browser's page or `doctor` sends needs more around it. */
export function programCall(
  { method, url, headers }: IncomingMessage,
  calls: ProgramCalls,
): Endpoint | undefined {
  const isPlain = headers.origin === undefined && headers[probeHeader] === undefined
  return isPlain ? calls.get(`${method} ${url}`) : undefined
}

/** Answers a request outside Koa, by the same guards and endpoint. What they throw, even at once, ends this request only. */
export function answerBare(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (exchange: Exchange) => Soon<unknown>,
  log: Log,
): void {
  const exchange = new BareExchange(request, response)
  exchange.set('Vary', 'Origin')
  const failed = (error: unknown): void => {
    log.error('unanswered error', { error })
    answerJson(exchange, 500, { error: 'server_error', message: 'internal error' })
  }
  try {
    Promise.resolve(answer(exchange))
      .catch(failed)
      .finally(() => exchange.flush())
  } catch (error) {
    failed(error)
    exchange.flush()
  }
}
