/** The HTTP surface: every URL, the order of middleware, and what errors become. */
import type { RequestListener } from 'node:http'
import { Router } from '@koa/router'
import Koa, { type Context, type Middleware, type Next } from 'koa'
import { AppError } from './core/errors.ts'
import type { Endpoint, Exchange, Guard } from './core/exchange.ts'
import { iconsPath } from './core/icons.ts'
import { summing } from './core/log.ts'
import type { Principal } from './core/principal.ts'
import type { Soon } from './core/soon.ts'
import { version } from './core/version.ts'
import { healthEndpoint, readinessEndpoint } from './http/health-endpoint.ts'
import { promptMethodPrefix, promptMethodsEndpoint } from './library/prompt-methods-endpoint.ts'
import { powersIn } from './build/powers.ts'
import type { HostViews } from './mcp/call.ts'
import { mcpEndpoint } from './mcp/mcp-endpoint.ts'
import { originGuard } from './mcp/origin-endpoint.ts'
import {
  authorizationEndpoint,
  decisionEndpoint,
  type AuthorizationDeps,
} from './oauth/authorization-endpoint.ts'
import { bearer, withinBudget } from './oauth/bearer.ts'
import { pageEndpoint } from './oauth/browser-middleware.ts'
import { crossOrigin } from './oauth/cors.ts'
import { unknownWellKnownEndpoint } from './oauth/discovery-endpoint.ts'
import { programEndpoints } from './oauth/endpoints.ts'
import { answerJson } from './oauth/http-middleware.ts'
import { aliases, paths } from './oauth/urls.ts'
import {
  approvalEndpoint,
  approvalListEndpoint,
  approvalPageEndpoint,
  type ApprovalsDeps,
} from './pages/approvals-endpoint.ts'
import { accountPage, type AccountDeps } from './pages/account-page.ts'
import { adminClientsPage } from './pages/admin-clients-page.ts'
import { adminFilesPage } from './pages/admin-files-page.ts'
import { adminHealthPage } from './pages/admin-health-page.ts'
import { adminPeoplePage } from './pages/admin-people-page.ts'
import { adminToolsPage } from './pages/admin-tools-page.ts'
import { askerOf } from './pages/administration.ts'
import { auditEndpoint, auditExportEndpoint, type AuditPageDeps } from './pages/audit-endpoint.ts'
import { authorizationPages, faultPage } from './pages/authorization-pages.ts'
import { logoPath } from './pages/company.ts'
import { bundleEndpoint, connectPage } from './pages/connect-page.ts'
import { connectedAppsPage, type ConnectedAppsDeps } from './pages/connected-apps-page.ts'
import { dashboardEndpoint, deskEndpoint, pictureEndpoint, type DeskDeps } from './pages/desk-endpoint.ts'
import {
  doctypesEndpoint,
  fileEndpoint,
  recordEndpoint,
  recordsEndpoint,
} from './pages/documents-endpoint.ts'
import { createPromptDesk } from './pages/prompt-desk.ts'
import { createSiteEditor } from './pages/site-editor.ts'
import { createHostViews } from './pages/host-views.ts'
import { homeEndpoint } from './pages/home-endpoint.ts'
import {
  oneTimeLinkEndpoint,
  oneTimeLinkPageEndpoint,
  type OneTimeLinkDeps,
} from './pages/one-time-link-endpoint.ts'
import { routeOwnPage } from './pages/own-page.ts'
import { newPromptPage, promptEditorPage } from './pages/prompt-editor-page.ts'
import { promptHistoryPage, promptPage, type PromptPageDeps } from './pages/prompt-page.ts'
import { promptsEndpoint } from './pages/prompts-endpoint.ts'
import { skillEndpoint, skillsEndpoint } from './pages/skills-endpoint.ts'
import {
  passkeyEndpoint,
  passkeyPageEndpoint,
  secondStepEndpoint,
  secondStepPageEndpoint,
  type SecondStepDeps,
} from './pages/second-step-endpoint.ts'
import {
  signInEndpoint,
  signInPageEndpoint,
  signOutEndpoint,
  signOutPageEndpoint,
} from './pages/sign-in-endpoint.ts'
import {
  iconEndpoint,
  iconNames,
  logoEndpoint,
  scriptEndpoint,
  stylesheetEndpoint,
} from './pages/assets-endpoint.ts'
import { upstreamCallbackEndpoint, upstreamEndpoint, type UpstreamDeps } from './pages/upstream-endpoint.ts'
import { bearerOrSession } from './pages/session-middleware.ts'
import { createViews, type Render } from './pages/views.ts'
import { killSwitch } from './http/kill-switch-middleware.ts'
import { answerBare, callsOf, programCall } from './http/program-calls.ts'
import { knownCaller, lined } from './http/lined.ts'
import { doctorProbes, requests } from './http/requests-middleware.ts'
import { wrongMethod } from './http/wrong-method.ts'
import type { Services } from './build/services.ts'

/** Everything that answers HTTP. */
export function createApp(services: Services): RequestListener {
  const { settings, log } = services
  const render = createViews({ settings })
  const powers = powersIn(services)

  const router = new Router()
  router.get('/healthz', healthEndpoint(services))
  router.get('/readyz', readinessEndpoint(services))
  const programs = programEndpoints(services)
  for (const [method, places, endpoint] of programs) router.register([...places], [method], endpoint)
  router.all('/.well-known/{*rest}', unknownWellKnownEndpoint())
  const prompts = createPromptDesk(services)
  routePages(router, { ...services, prompts, powers, render })
  const asking = { ...services, ask: askerOf(services), render, desk: createSiteEditor(services) }
  for (const page of [adminHealthPage, adminPeoplePage, adminToolsPage, adminClientsPage, adminFilesPage])
    routeOwnPage(router, page(asking), asking)

  const guard = bearer(services)
  const mcp = guardedMcp(services, guard, createHostViews({ ...services, render }))
  const caller = bearerOrSession(guard, services)
  const promptMethods = promptMethodsEndpoint(() => services.promptMethods)
  const around = { ...services, tell: summing(log, 'too many requests: some were refused') }
  const [arrive, open] = [requests(around), killSwitch(settings)]

  const app = new Koa()
  app.on('error', (error: unknown) => log.error('unanswered error', { error }))
  app.use(arrive)
  app.use(doctorProbes(services.probe, services.trusted))
  app.use(open)
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
  app.use(authorizationRoutes({ ...services, powers, pages: authorizationPages(render) }))
  app.use(router.routes())
  app.use(wrongMethod)
  app.use(router.allowedMethods())
  app.use(notFound(render))
  const listener = app.callback()
  const calls = callsOf([...programs, ['POST', [paths.mcp], (exchange) => mcp(exchange, nothing)]])
  const answered = (exchange: Exchange, endpoint: Endpoint): Soon<unknown> =>
    arrive(exchange, () => open(exchange, () => endpoint(exchange)))
  return lined(around, (request, response) => {
    const endpoint = programCall(request, calls)
    if (endpoint) answerBare(request, response, (exchange) => answered(exchange, endpoint), log)
    else void listener(request, response)
  })
}

type Answer = (exchange: Exchange, reached: () => void) => Soon<unknown>

/** The MCP endpoint behind its guards; `reached` is called when it will write the answer itself. */
function guardedMcp(services: Services, guard: Guard, views: HostViews): Answer {
  const { settings, site, publicUrl } = services
  const origins = originGuard({ publicUrl, settings })
  const mcp = mcpEndpoint({
    ...services,
    views,
    key: services.signingKey,
    snapshot: (principal) => site.current().for(principal),
    version,
  })
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

/** In a router of their own: looking through all pages for them would cost a tenth of them. */
function authorizationRoutes(deps: AuthorizationDeps): Middleware {
  const router = new Router()
  router.get([paths.authorize, aliases.authorize], authorizationEndpoint(deps))
  router.post([paths.authorize, aliases.authorize], decisionEndpoint(deps))
  return router.routes() as Middleware
}

function routePages(
  router: Router,
  deps: UpstreamDeps &
    ConnectedAppsDeps &
    ApprovalsDeps &
    DeskDeps &
    AuditPageDeps &
    AccountDeps &
    PromptPageDeps &
    SecondStepDeps &
    OneTimeLinkDeps,
): void {
  router.get(paths.home, homeEndpoint(deps))
  router.get(paths.signIn, signInPageEndpoint(deps))
  router.post(paths.signIn, signInEndpoint(deps))
  router.get(paths.signInUpstream, upstreamEndpoint(deps))
  router.get(paths.signInUpstreamCallback, upstreamCallbackEndpoint(deps))
  router.get(paths.signInPasskey, passkeyPageEndpoint(deps))
  router.post(paths.signInPasskey, passkeyEndpoint(deps))
  router.get(paths.secondStep, secondStepPageEndpoint(deps))
  router.post(paths.secondStep, secondStepEndpoint(deps))
  router.get(paths.oneTimeLink, oneTimeLinkPageEndpoint(deps))
  router.post(paths.oneTimeLink, oneTimeLinkEndpoint(deps))
  const promptPages = [promptEditorPage, promptHistoryPage, promptPage, newPromptPage]
  for (const page of [accountPage, connectedAppsPage, connectPage, ...promptPages])
    routeOwnPage(router, page(deps), deps)
  router.get(`${paths.connect}/assistant-core.mcpb`, bundleEndpoint(deps))
  router.get('/assets/page.mjs', scriptEndpoint())
  router.get(paths.signOut, signOutPageEndpoint(deps))
  router.post(paths.signOut, signOutEndpoint(deps))
  router.get(paths.approvals, approvalListEndpoint(deps))
  router.get(`${paths.approvals}/:id`, approvalPageEndpoint(deps))
  router.post(`${paths.approvals}/:id`, approvalEndpoint(deps))
  router.get(paths.desk, deskEndpoint(deps))
  router.get(`${paths.desk}/charts/:id`, pictureEndpoint(deps))
  router.get(`${paths.desk}/:id`, dashboardEndpoint(deps))
  router.get(paths.documents, doctypesEndpoint(deps))
  router.get(`${paths.documents}/:doctype`, recordsEndpoint(deps))
  router.get(`${paths.documents}/:doctype/:name`, recordEndpoint(deps))
  router.get(`${paths.documents}/:doctype/:name/files/:id`, fileEndpoint(deps))
  router.get(paths.prompts, promptsEndpoint(deps))
  router.get(paths.skills, skillsEndpoint(deps))
  router.get([`${paths.skills}/:name`, `${paths.skills}/:name/files/{*path}`], skillEndpoint(deps))
  router.get(paths.audit, auditEndpoint(deps))
  router.get(`${paths.audit}/:file`, auditExportEndpoint(deps))
  router.get(paths.stylesheet, stylesheetEndpoint(deps.settings))
  router.get(logoPath, logoEndpoint(deps.site))
  router.get('/favicon.ico', iconEndpoint('server.png'))
  for (const name of iconNames) router.get(iconsPath + name, iconEndpoint(name))
}

/** A preview costs more than other methods, whoever asks for it by whatever credential. */
async function previewed(ctx: Context, { limits }: Pick<Services, 'limits'>, next: Next): Promise<void> {
  const { user } = ctx.state['principal'] as Principal
  const isPreview = ctx.path === `${promptMethodPrefix}preview_template`
  if (!isPreview || (await withinBudget(ctx, limits, 'preview', user))) await next()
}

/** Programs get JSON, people a page with a way back. */
function notFound(render: Render): Middleware {
  const message = 'nothing is at this address'
  const page = pageEndpoint(faultPage(render), () => Promise.reject(new AppError('not_found', message)))
  return async (ctx, next) => {
    if (ctx.status !== 404 || ctx.body !== undefined) return
    if (ctx.method === 'GET' && ctx.accepts('json', 'html') === 'html') await page(ctx, next)
    else answerJson(ctx, 404, { error: 'not_found', message })
  }
}
