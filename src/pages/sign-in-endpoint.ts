/** Signing in and out with a browser. */
import type { Context, Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import { pictured } from '../audit/render.ts'
import { AppError } from '../core/errors.ts'
import type { Settings } from '../core/settings.ts'
import {
  answerPage,
  closeSession,
  formToken,
  knownVisitor,
  openSession,
  pageEndpoint,
  pageHeaders,
  requireOwnForm,
  sendTo,
  signedIn,
  visitorSecret,
  type BrowserDeps,
  readPageForm,
} from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import type { Clients } from '../oauth/clients.ts'
import type { RateLimits } from '../oauth/rate-limits.ts'
import type { Client } from '../oauth/records.ts'
import { aliases, paths } from '../oauth/urls.ts'
import { hasSecondFactor, type Accounts } from '../users/accounts.ts'
import type { People, User } from '../users/people.ts'
import { needsSecondFactor, type SignIn } from '../users/sign-in.ts'
import { faultPage } from './authorization-pages.ts'
import type { Render } from './views.ts'

/** What the sign-in page works with. */
export interface SignInDeps extends BrowserDeps {
  readonly settings: () => Settings
  readonly limits: RateLimits
  readonly signIn: SignIn
  readonly accounts: Accounts
  readonly clients: Pick<Clients, 'find'>
  readonly render: Render
}

/** GET: the sign-in form. */
export function signInPageEndpoint(deps: SignInDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    const next = new URLSearchParams(ctx.querystring).get('next')
    await showForm(ctx, deps, { status: 200, next: safeNext(next) })
  })
}

/** POST: the filled form. */
export function signInEndpoint(deps: SignInDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const origin = originOf(ctx)
    const form = await readPageForm(ctx)
    const next = safeNext(form.get('next') ?? null)
    const secret = knownVisitor(ctx, deps)
    requireOwnForm(ctx, deps, { secret, purpose: 'sign-in', token: form.get('csrf') })
    const username = form.get('username') ?? ''
    if (!deps.settings().login.passwords) {
      return showForm(ctx, deps, { status: 403, next, fault: { name: 'sign_in.no_passwords' } })
    }
    const outcome = await deps.signIn.attempt({ username, password: form.get('password') ?? '' }, origin)
    if (outcome.kind === 'wait') {
      ctx.set('Retry-After', String(outcome.seconds))
      const fault = { name: 'sign_in.wait', values: { n: outcome.seconds } }
      return showForm(ctx, deps, { status: 429, next, username, fault })
    }
    if (outcome.kind === 'refused')
      return showForm(ctx, deps, { status: 403, next, username, fault: { name: 'sign_in.wrong' } })
    const { user } = outcome
    const pending = await missingFor(user, deps)
    const session = { user: user.id, method: 'password', address: origin.address } as const
    await openSession(ctx, deps, pending ? { ...session, pending } : session)
    return sendTo(ctx, 303, pending ? `${paths.secondStep}?next=${encodeURIComponent(next)}` : next)
  })
}

/** Lets in whom a proof other than a password names, or nobody, and tells which. AppError `forbidden`. */
export async function letIn(
  ctx: Context,
  { people, audit, ...deps }: BrowserDeps & { readonly people: () => People; readonly audit: Audit },
  { proven, method, refusal }: { proven: string | undefined; method: 'passkey' | 'oidc'; refusal: string },
): Promise<void> {
  const origin = originOf(ctx)
  const user = proven === undefined ? undefined : people().find(proven)
  const ending = user?.enabled
    ? ({ type: 'sign_in.ok', status: 'ok' } as const)
    : ({ type: 'sign_in.fail', status: 'denied' } as const)
  const who = proven === undefined ? {} : { user: user?.id ?? proven }
  await audit.record({ ...ending, ...who, ...origin, data: { method } })
  if (!user?.enabled) throw new AppError('forbidden', refusal)
  await openSession(ctx, deps, { user: user.id, method, address: origin.address })
}

async function showForm(
  ctx: Context,
  deps: SignInDeps,
  form: {
    status: number
    next: string
    username?: string
    /** A message, by its name. */
    fault?: { readonly name: string; readonly values?: Readonly<Record<string, unknown>> }
  },
): Promise<void> {
  const { login } = deps.settings()
  const asked = new URLSearchParams(form.next.split('?')[1] ?? '')
  const client = asked.get('client_id')
  // The answer to this form may redirect on to a client, so the policy has to let it.
  pageHeaders(ctx, formActionOf(form.next))
  const page = deps.render(ctx, 'sign-in', {
    next: form.next,
    csrf: formToken(visitorSecret(ctx, deps), 'sign-in'),
    chosen: ctx.querystring === 'chosen=1',
    username: form.username ?? asked.get('login_hint') ?? '',
    app: client === null ? '' : pictured((await knownApp(client, deps))?.name ?? ''),
    fault: form.fault ?? '',
    passwords: login.passwords,
    upstream: login.oidc && { label: login.oidc.label ?? '' },
  })
  answerPage(ctx, form.status, page)
}

/** What the password alone does not prove; undefined when it is enough. */
async function missingFor(
  user: User,
  { accounts, settings }: SignInDeps,
): Promise<'prove' | 'enrol' | undefined> {
  if (hasSecondFactor(await accounts.of(user.id))) return 'prove'
  return needsSecondFactor(user, settings()) ? 'enrol' : undefined
}

/** The app that sent the person here; one that cannot be told now is told of on the consent page. */
async function knownApp(id: string, { clients }: SignInDeps): Promise<Client | undefined> {
  return clients.find(id).catch(() => undefined)
}

/** The `form-action` of a page whose form ends where the person was going. */
export function formActionOf(next: string): string {
  const redirectUri = new URLSearchParams(next.split('?')[1] ?? '').get('redirect_uri') ?? ''
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(redirectUri)?.[0].toLowerCase()
  return scheme === undefined ? "'self'" : `'self' https: ${scheme}`
}

const ownPage =
  /^\/(connected-apps|approvals|desk|audit|account|connect|documents|admin|prompts|new-prompt|skills)(\/[\w%.~-]+)*$/

/** Where the browser goes after signing in: one of our own pages, never elsewhere. */
export function safeNext(next: string | null): string {
  const own: readonly string[] = [paths.authorize, aliases.authorize, paths.home]
  if (next === null || !/^\/[\x21-\x7e]*$/.test(next) || next.includes('\\') || next.length > 12_000)
    return paths.home
  const path = next.split('?')[0] ?? ''
  // What browsers make of dots, written out or encoded, must still be the same page.
  const isPlain = new URL(path, 'http://localhost').pathname === path
  return isPlain && (own.includes(path) || ownPage.test(path)) ? next : paths.home
}

/** GET: asks before signing out. */
export function signOutPageEndpoint(deps: SignInDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const signed = await signedIn(ctx, deps)
    if (!signed) return sendTo(ctx, 303, paths.home)
    const csrf = formToken(signed.secret, 'sign-out')
    return answerPage(ctx, 200, deps.render(ctx, 'sign-out', { user: signed.user, csrf }))
  })
}

/** POST: signs out. */
export function signOutEndpoint(deps: SignInDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const form = await readPageForm(ctx)
    const signed = await signedIn(ctx, deps)
    requireOwnForm(ctx, deps, { secret: signed?.secret, purpose: 'sign-out', token: form.get('csrf') })
    await closeSession(ctx, deps)
    return sendTo(ctx, 303, `${paths.home}?signed_out=1`)
  })
}
