/** Connected apps: what has access to the user, and taking it away at once. */
import type { Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import { isoTime, type Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import {
  answerPage,
  formToken,
  pageEndpoint,
  requireOwnForm,
  sendTo,
  signedIn,
  type BrowserDeps,
} from '../oauth/browser-middleware.ts'
import type { Grants } from '../oauth/grants.ts'
import { originOf, readForm } from '../oauth/http-middleware.ts'
import type { Grant } from '../oauth/records.ts'
import { scopeInWords } from '../oauth/scopes.ts'
import type { Tokens } from '../oauth/tokens.ts'
import { paths } from '../oauth/urls.ts'
import type { Usage } from '../oauth/usage.ts'
import { faultPage } from './authorization-pages.ts'
import type { Render } from './views.ts'

/** What the page works with. */
export interface ConnectedAppsDeps extends BrowserDeps {
  readonly audit: Audit
  readonly grants: Grants
  readonly tokens: Tokens
  readonly usage: Usage
  readonly clock: Clock
  readonly render: Render
}

const toSignIn = `${paths.signIn}?next=${encodeURIComponent(paths.connectedApps)}`

/** GET: the user's grants. */
export function connectedAppsEndpoint(deps: ConnectedAppsDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    if (!signed) return sendTo(ctx, 303, toSignIn)
    const grants = await deps.grants.list({ user: signed.user.id })
    const apps = await Promise.all(grants.map((grant) => describe(grant, deps)))
    const csrf = formToken(signed.secret, 'connected-apps')
    const revoked = ctx.querystring === 'revoked=1'
    return answerPage(ctx, 200, deps.render('connected-apps', { apps, csrf, revoked }))
  })
}

async function describe(grant: Grant, deps: ConnectedAppsDeps): Promise<Record<string, unknown>> {
  const families = await deps.tokens.families({ grant: grant.id })
  const now = deps.clock.now()
  const active = families.some((family) => family.revokedAt === undefined && family.expiresAt > now)
  const { lastUsedAt, calls } = await deps.usage.of(families.map((family) => family.id))
  return {
    id: grant.id,
    name: grant.clientName,
    host: grant.redirectHost,
    scopes: grant.scopes.map(scopeInWords).join('; '),
    active,
    granted: minute(grant.approvedAt),
    lastUsed: lastUsedAt === undefined ? '' : minute(lastUsedAt),
    calls,
  }
}

function minute(milliseconds: number): string {
  return `${isoTime(milliseconds).slice(0, 16).replace('T', ' ')} UTC`
}

/** POST: ends a grant and everything that came of it. Another user's grant does not exist. */
export function revokeAppEndpoint(deps: ConnectedAppsDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const form = await readForm(ctx)
    const signed = await signedIn(ctx, deps)
    requireOwnForm(ctx, deps, { secret: signed?.secret, purpose: 'connected-apps', token: form.get('csrf') })
    const grant = signed && (await deps.grants.find(form.get('grant') ?? '', signed.user.id))
    if (!grant) throw new AppError('not_found', 'there is no such app')
    await deps.tokens.revoke({ grant: grant.id }, 'the user revoked it')
    await deps.audit.record({
      type: 'grant.revoke',
      status: 'ok',
      user: grant.user,
      client: grant.client,
      ...originOf(ctx),
      target: grant.id,
    })
    return sendTo(ctx, 303, `${paths.connectedApps}?revoked=1`)
  })
}
