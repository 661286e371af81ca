/** The HTTP surface: every URL, the order of middleware, and what errors become. */
import type { RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type * as KoaRouter from '@koa/router'
import Koa, { type Context, type Middleware, type Next } from 'koa'
import { AppError } from '#leaf/errors.ts'
import type { Exchange, Guard } from '#front/exchange.ts'
import { summing } from '#leaf/log.ts'
import type { Principal } from './core/principal.ts'
import type { Soon } from '#leaf/soon.ts'
import { healthEndpoint, readinessEndpoint } from './http/health-endpoint.ts'
import { promptMethodPrefix, promptMethodsEndpoint } from './library/prompt-methods-endpoint.ts'
import { mcpEndpoint } from './mcp/mcp-endpoint.ts'
import { originGuard } from './mcp/origin-endpoint.ts'
import { bearer, withinBudget } from './oauth/bearer.ts'
import { crossOrigin } from './oauth/cors.ts'
import { unknownWellKnownEndpoint } from './oauth/endpoints/discovery-endpoint.ts'
import { type ProgramEndpoint, programEndpoints } from './oauth/endpoints/endpoints.ts'
import { answerJson } from '#ui/requests.ts'
import { signedIn } from './users/browser-middleware.ts'
import { paths } from './oauth/urls.ts'
import { pageEndpoint } from './pages/page-endpoint.ts'
import { isOfPages } from './pages/pages.ts'
import { authorizationPage, routePages } from './pages/routes.ts'
import { bearerOrSession } from './pages/session-middleware.ts'
import { killSwitch } from './http/kill-switch-middleware.ts'
import { answerBare, bareCall, callsOf } from './http/program-calls.ts'
import { knownCaller, lined } from '#front/front.ts'
import { doctorProbes, linedBy, requests } from './http/requests-middleware.ts'
import { wrongMethod } from './http/wrong-method.ts'
import type { Services } from './house/services.ts'

// An `import` of it imports Node's HTTP (`leaf/src/node-http.ts`).
const { Router } = createRequire(import.meta.url)('@koa/router') as typeof KoaRouter

/** Returns the listener that answers all HTTP requests. */
export function createApp(services: Services): RequestListener {
  const { settings, log, answers } = services
  const router = new Router()
  router.get('/healthz', healthEndpoint(services))
  router.get('/readyz', readinessEndpoint(services))
  const open = killSwitch(settings)
  const programs = programEndpoints(services).map(([method, places, endpoint]): ProgramEndpoint => [
    method,
    places,
    (ctx) => open(ctx, () => endpoint(ctx)),
  ])
  for (const [method, places, endpoint] of programs) router.register([...places], [method], endpoint)
  router.all('/.well-known/{*rest}', unknownWellKnownEndpoint())
  // Pages that the main switch closes have a router of their own: looking through all others would cost them a tenth.
  const switched = new Router().use((ctx, next) => open(ctx, next))
  routePages({ open: router, switched }, services)

  const guard = bearer(services)
  const served = guardedMcp(services, guard)
  const mcp: Answer = (ctx, reached) => open(ctx, () => served(ctx, reached))
  const authenticated = bearerOrSession(guard, services)
  const caller: Middleware = (ctx, next) => open(ctx, () => authenticated(ctx, next))
  const promptMethods = promptMethodsEndpoint(
    () => services.promptMethods,
    (ctx, body) => arrival(ctx, body, services),
  )
  const told = { isOfPages, tell: summing(log, 'too many requests: some were refused') }
  const arrive = requests(services, told)

  const app = new Koa()
  app.on('error', (error: unknown) => log.error('unanswered error', { error }))
  app.use(arrive)
  app.use(doctorProbes(services.probe, services.trusted))
  app.use(crossOrigin(services))
  app.use((ctx, next) => (ctx.path === paths.mcp ? mcp(ctx, () => void (ctx.respond = false)) : next()))
  app.use((ctx, next) =>
    ctx.path.startsWith(promptMethodPrefix)
      ? caller(ctx, () =>
          previewed(ctx, services, () => {
            knownCaller(ctx, services)
            return promptMethods(ctx, next)
          }),
        )
      : next(),
  )
  app.use(switched.routes())
  app.use(router.routes())
  app.use(wrongMethod)
  app.use(router.allowedMethods())
  app.use(notFound(services))
  const listener = app.callback()
  const forMcp: ProgramEndpoint = ['POST', [paths.mcp], (exchange) => mcp(exchange, nothing)]
  const calls = callsOf([...programs, forMcp], [authorizationPage(services)], open)
  const bare = { log, answers, guard: arrive, koa: app.createContext.bind(app) }
  return lined(services, linedBy(services, told), (request, response) => {
    const call = bareCall(request, calls)
    if (call) answerBare(request, response, call, bare)
    else void listener(request, response)
  })
}

type Answer = (exchange: Exchange, reached: () => void) => Soon<unknown>

/** Wraps the MCP endpoint in its guards; calls `reached` when the endpoint will write the answer itself. */
function guardedMcp(services: Services, guard: Guard): Answer {
  const origins = originGuard(services)
  const mcp = mcpEndpoint(services)
  return (exchange, reached) =>
    origins(exchange, () =>
      guard(exchange, () => {
        knownCaller(exchange, services)
        reached()
        return mcp(exchange)
      }),
    )
}

const nothing = (): void => undefined

/** Waits for the body of a prompt method, as MCP does; undefined if the right to send it has ended meanwhile. */
function arrival(ctx: Context, body: Promise<Buffer>, services: Services): Promise<Buffer | undefined> {
  const { principal, signed } = ctx.state as { principal: Principal; signed?: unknown }
  // The end of one session is announced to nobody.
  const holds = signed ? async () => Boolean(await signedIn(ctx, services)) : undefined
  return services.running.arrival(principal, body, holds)
}

/** Charges a preview, which costs more than other methods, to the user's budget for previews, whatever the credential. */
async function previewed(ctx: Context, { limits }: Services, next: Next): Promise<void> {
  const { user } = ctx.state['principal'] as Principal
  const isPreview = ctx.path === `${promptMethodPrefix}preview_template`
  if (!isPreview || (await withinBudget(ctx, limits, 'preview', user))) await next()
}

/** Answers 404: JSON for programs, for people a page with a way back. */
function notFound({ render }: Services): Middleware {
  const message = 'nothing is at this address'
  const page = pageEndpoint(render, () => Promise.reject(new AppError('not_found', message)))
  return async (ctx) => {
    if (ctx.status !== 404 || ctx.body !== undefined) return
    if (ctx.method === 'GET' && ctx.accepts('json', 'html') === 'html') await page(ctx)
    else answerJson(ctx, 404, { error: 'not_found', message })
  }
}
