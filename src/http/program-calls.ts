/** The busiest paths: programs' calls of MCP and OAuth, and authorization requests. What Koa does around a request costs more than most answers. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { BareExchange, type Guard } from '#front/exchange.ts'
import type { Log } from '#leaf/log.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Soon } from '#leaf/soon.ts'
import type { WholeAnswers } from '#front/whole-answer.ts'
import { variesByOrigin } from '../oauth/cors.ts'
import type { ProgramEndpoint } from '../oauth/endpoints/endpoints.ts'
import { answerJson } from '#ui/requests.ts'
import type { PageExchange } from '#ui/browser.ts'
import { probeHeader } from './doctor-probe.ts'

/** An endpoint that is answered outside Koa. */
interface BareCall {
  readonly endpoint: (exchange: PageExchange) => Soon<unknown>
  /** True for a page, which is at its path whatever the query. */
  readonly isPage?: true
  readonly varies: boolean
}

/** Such endpoints, by method and exact path. */
type BareCalls = ReadonlyMap<string, BareCall>

/** Returns the endpoints by the keys of `BareCalls`; `pages` answer GET and POST at each of their places, behind the guard. */
export function callsOf(
  endpoints: readonly ProgramEndpoint[],
  pages: readonly (readonly [
    places: readonly string[],
    Readonly<Record<'get' | 'post', BareCall['endpoint']>>,
  ])[],
  guard: Guard,
): BareCalls {
  const programs = endpoints.flatMap(([method, places, endpoint]) =>
    places.map((place) => [`${method} ${place}`, { endpoint, varies: variesByOrigin(place) }] as const),
  )
  const guarded = (place: string, page: BareCall['endpoint']): BareCall => ({
    endpoint: (exchange) => guard(exchange, () => page(exchange)),
    isPage: true,
    varies: variesByOrigin(place),
  })
  const shown = pages.flatMap(([places, { get, post }]) =>
    places.flatMap((place) => [
      [`GET ${place}`, guarded(place, get)] as const,
      [`POST ${place}`, guarded(place, post)] as const,
    ]),
  )
  return new Map<string, BareCall>([...programs, ...shown])
}

/** Returns the endpoint for a request outside Koa; undefined for what needs more around it, such as another origin's, or `doctor`'s. */
export function bareCall(
  { method, url = '', headers }: IncomingMessage,
  calls: BareCalls,
): BareCall | undefined {
  const known = calls.get(`${method} ${url}`)
  // Under `no-referrer`, which our pages are, browsers send this with our own forms.
  const isOwn = headers.origin === undefined || (headers.origin === 'null' && known?.isPage)
  if (!isOwn || headers[probeHeader] !== undefined) return undefined
  if (known || method !== 'GET' || !url.includes('?')) return known
  const page = calls.get(`GET ${url.slice(0, url.indexOf('?'))}`)
  return page?.isPage ? page : undefined
}

/** A bare exchange that can show a page: Koa reads what a browser accepts, once a page asks. */
class BarePage extends BareExchange implements PageExchange {
  readonly #koa: () => Pick<Context, 'acceptsLanguages' | 'acceptsEncodings'>

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { answers, koa }: Pick<BareDeps, 'answers' | 'koa'>,
  ) {
    super(request, response, answers)
    this.#koa = () => koa(request, response)
  }

  vary(names: string): void {
    const { Vary: before } = this.headers
    this.set('Vary', before === undefined ? names : `${before}, ${names}`)
  }

  acceptsLanguages(...languages: string[]): string | false {
    return this.#koa().acceptsLanguages(...languages)
  }

  acceptsEncodings(...encodings: string[]): string | false {
    return this.#koa().acceptsEncodings(...encodings)
  }
}

interface BareDeps {
  readonly log: Log
  readonly answers: WholeAnswers
  /** Makes Koa's context of a request. */
  readonly koa: (request: IncomingMessage, response: ServerResponse) => Context
}

/** Answers a request outside Koa, with the same guards and endpoint. An error of theirs, even at once, ends this request only. */
export function answerBare(
  request: IncomingMessage,
  response: ServerResponse,
  { endpoint, varies }: Pick<BareCall, 'endpoint' | 'varies'>,
  { guard, ...deps }: BareDeps & { readonly guard: Guard },
): void {
  const exchange = new BarePage(request, response, deps)
  if (varies) exchange.vary('Origin')
  const failed = (error: unknown): void => {
    const id = (exchange.state['requestId'] ??= randomId()) as string
    deps.log.error('unanswered error', { request_id: id, error })
    answerJson(exchange, 500, { error: 'server_error', message: 'internal error', request_id: id })
  }
  try {
    Promise.resolve(guard(exchange, () => endpoint(exchange)))
      .catch(failed)
      .finally(() => exchange.flush())
  } catch (error) {
    failed(error)
    exchange.flush()
  }
}
