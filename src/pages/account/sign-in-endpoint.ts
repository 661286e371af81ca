/** The endpoints for signing in and out with a browser. */
import type { Needs } from '../../control/operation.ts'
import type { Context } from 'koa'
import { pictured } from '#leaf/pictured.ts'
import { AppError } from '#leaf/errors.ts'
import {
  answerPage,
  formActionFor,
  formToken,
  pageHeaders,
  requireOwnForm,
  sendTo,
  readPageForm,
} from '#ui/browser.ts'
import {
  closeSession,
  knownVisitor,
  openSession,
  signedIn,
  visitorSecret,
  type BrowserDeps,
} from '../../users/browser-middleware.ts'
import { originOf, asked } from '#ui/requests.ts'
import { hasSecondFactor } from '#credentials/accounts.ts'
import { type User, needsSecondFactor } from '../../users/people.ts'
import { isBehindSignIn, pages } from '../pages.ts'
import type { FormPage } from '../route-page.ts'

/** The dependencies of the sign-in page. */
export type SignInDeps = BrowserDeps &
  Needs<'settings' | 'limits' | 'signIn' | 'accounts' | 'clients' | 'render'>

/** Shows the sign-in form, and takes it. */
export function signInEndpoint(deps: SignInDeps): FormPage<'anybody'> {
  return {
    get: async (ctx) => {
      await deps.limits.take('authorize', originOf(ctx))
      await showForm(ctx, deps, { status: 200, next: safeNext(asked(ctx, 'next')) })
    },
    post: async (ctx) => {
      const origin = originOf(ctx)
      const form = await readPageForm(ctx)
      const next = safeNext(form.get('next'))
      const secret = knownVisitor(ctx, deps)
      requireOwnForm(ctx, deps, { secret, purpose: 'sign-in', form })
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
      return sendTo(ctx, 303, pending ? `${pages.secondStep.path}?next=${encodeURIComponent(next)}` : next)
    },
  }
}

/** Signs in the user whom a proof other than a password names, if any and without doubt; audits which. AppError `forbidden`. */
export async function letIn(
  ctx: Context,
  { people, audit, ...deps }: BrowserDeps & Needs<'people' | 'audit'>,
  {
    proven,
    method,
    refusal,
    doubt,
  }: { proven: string | undefined; method: 'passkey' | 'oidc'; refusal: string; doubt?: string },
): Promise<void> {
  const origin = originOf(ctx)
  const user = proven === undefined ? undefined : people().find(proven)
  const isIn = user?.enabled === true && doubt === undefined
  const ending = isIn
    ? ({ type: 'sign_in.ok', status: 'ok' } as const)
    : ({ type: 'sign_in.fail', status: 'denied', error: doubt } as const)
  const who = proven === undefined ? {} : { user: user?.id ?? proven }
  await audit.record({ ...ending, ...who, ...origin, data: { method } })
  if (!isIn) throw new AppError('forbidden', refusal)
  await openSession(ctx, deps, { user: user.id, method, address: origin.address })
}

async function showForm(
  ctx: Context,
  deps: SignInDeps,
  form: {
    status: number
    next: string
    username?: string
    /** The name of a message. */
    fault?: { readonly name: string; readonly values?: Readonly<Record<string, unknown>> }
  },
): Promise<void> {
  const { login } = deps.settings()
  const asked = new URLSearchParams(form.next.split('?')[1] ?? '')
  const client = asked.get('client_id')
  // The answer to this form may redirect on to a client, so the policy has to allow it.
  pageHeaders(ctx, formActionOf(form.next))
  const page = deps.render(ctx, pages.signIn.view, {
    next: form.next,
    csrf: formToken(visitorSecret(ctx, deps), 'sign-in'),
    chosen: ctx.querystring === 'chosen=1',
    username: form.username ?? asked.get('login_hint') ?? '',
    // An app that cannot be told now is told of on the consent page.
    app:
      client === null ? '' : pictured((await deps.clients.find(client).catch(() => undefined))?.name ?? ''),
    fault: form.fault ?? '',
    passwords: login.passwords,
    upstream: login.oidc && { label: login.oidc.label ?? '' },
  })
  answerPage(ctx, form.status, page)
}

/** Returns what the password alone does not prove; undefined when it is enough. */
async function missingFor(
  user: User,
  { accounts, settings }: SignInDeps,
): Promise<'prove' | 'enrol' | undefined> {
  if (hasSecondFactor(await accounts.of(user.id))) return 'prove'
  return needsSecondFactor(user, settings()) ? 'enrol' : undefined
}

/** Returns the `form-action` of a page whose form ends where the person was going. */
export function formActionOf(next: string): string {
  const redirectUri = new URLSearchParams(next.split('?')[1] ?? '').get('redirect_uri') ?? ''
  return /^[a-z][a-z0-9+.-]*:/i.test(redirectUri) ? formActionFor(redirectUri) : "'self'"
}

/** Returns the place to go after signing in: one of our own pages, never elsewhere. */
export function safeNext(next = ''): string {
  if (!/^\/[\x21-\x7e]*$/.test(next) || next.includes('\\') || next.length > 12_000) return pages.home.path
  const path = next.split('?')[0] ?? ''
  // Browsers resolve dots, written out or encoded; the result must still be the same page.
  const isPlain = new URL(path, 'http://localhost').pathname === path
  return isPlain && isBehindSignIn(path) ? next : pages.home.path
}

/** Asks before signing out, and signs out. */
export function signOutEndpoint(deps: SignInDeps): FormPage<'anybody'> {
  return {
    get: async (ctx) => {
      const signed = await signedIn(ctx, deps)
      if (!signed) return sendTo(ctx, 303, pages.home.path)
      const csrf = formToken(signed.secret, 'sign-out')
      return { user: signed.user, csrf }
    },
    post: async (ctx) => {
      const form = await readPageForm(ctx)
      const signed = await signedIn(ctx, deps)
      requireOwnForm(ctx, deps, { secret: signed?.secret, purpose: 'sign-out', form })
      await closeSession(ctx, deps)
      return sendTo(ctx, 303, `${pages.home.path}?signed_out=1`)
    },
  }
}
