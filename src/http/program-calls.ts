/** The busiest paths: programs' calls of MCP and OAuth. What Koa does around a request costs more than answering it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BareExchange, type Endpoint, type Exchange } from '#front/exchange.ts'
import type { Log } from '#leaf/log.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Soon } from '#leaf/soon.ts'
import type { WholeAnswers } from '#front/whole-answer.ts'
import type { ProgramEndpoint } from '../oauth/endpoints/endpoints.ts'
import { answerJson } from '../web/answers.ts'
import { probeHeader } from './doctor-probe.ts'

/** The endpoints for programs, by method and exact path. */
type ProgramCalls = ReadonlyMap<string, Endpoint>

/** Returns the endpoints by the keys of `ProgramCalls`. */
export function callsOf(endpoints: readonly ProgramEndpoint[]): ProgramCalls {
  return new Map(
    endpoints.flatMap(([method, places, endpoint]) =>
      places.map((place) => [`${method} ${place}`, endpoint] as const),
    ),
  )
}

/** Returns the endpoint for a program's request; undefined for a browser's or `doctor`'s, which need more around them. */
export function programCall(
  { method, url, headers }: IncomingMessage,
  calls: ProgramCalls,
): Endpoint | undefined {
  const isPlain = headers.origin === undefined && headers[probeHeader] === undefined
  return isPlain ? calls.get(`${method} ${url}`) : undefined
}

/** Answers a request outside Koa, with the same guards and endpoint. An error of theirs, even at once, ends this request only. */
export function answerBare(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (exchange: Exchange) => Soon<unknown>,
  { log, answers }: { readonly log: Log; readonly answers: WholeAnswers },
): void {
  const exchange = new BareExchange(request, response, answers)
  exchange.set('Vary', 'Origin')
  const failed = (error: unknown): void => {
    const id = (exchange.state['requestId'] ??= randomId()) as string
    log.error('unanswered error', { request_id: id, error })
    answerJson(exchange, 500, { error: 'server_error', message: 'internal error', request_id: id })
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
