/** The busiest path: a program's message to the MCP endpoint. What Koa does around a request costs more than answering it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BareExchange, type Exchange } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import { answerJson } from '../oauth/http-middleware.ts'
import { paths } from '../oauth/urls.ts'
import { probeHeader } from './doctor-probe.ts'

/** Whether a request is a program's message; what a browser or `doctor` sends needs more around it. */
export function isProgramCall({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    url === paths.mcp &&
    headers.origin === undefined &&
    headers[probeHeader] === undefined
  )
}

/** Answers a request outside Koa, by the same guards and endpoint. What they throw, even at once, ends this request only. */
export function answerBare(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (exchange: Exchange) => Promise<unknown>,
  log: Log,
): void {
  const exchange = new BareExchange(request, response)
  exchange.set('Vary', 'Origin')
  new Promise((resolve) => resolve(answer(exchange)))
    .catch((error: unknown) => {
      log.error('unanswered error', { error })
      answerJson(exchange, 500, { error: 'server_error', message: 'internal error' })
    })
    .finally(() => exchange.flush())
}
