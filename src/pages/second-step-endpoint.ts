/** The second step of signing in: a code or a passkey, or setting one up where the user's role needs it. */
import type { Context, Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import {
  allowScript,
  answerPage,
  formToken,
  knownVisitor,
  openSession,
  pageEndpoint,
  pageHeaders,
  pendingSession,
  requireOwnForm,
  sendTo,
  visitorSecret,
  readPageForm,
} from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import type { Params } from '../oauth/protocol.ts'
import { paths } from '../oauth/urls.ts'
import type { Accounts } from '../users/accounts.ts'
import type { Passkeys } from '../users/passkeys.ts'
import type { People } from '../users/people.ts'
import type { SecondFactors } from '../users/second-factors.ts'
import type { SignedIn } from '../users/sessions.ts'
import { faultPage } from './authorization-pages.ts'
import { formActionOf, safeNext, type SignInDeps } from './sign-in-endpoint.ts'

/** What the second step works with. */
export interface SecondStepDeps extends SignInDeps {
  readonly audit: Audit
  readonly accounts: Accounts
  readonly people: () => People
  readonly passkeys: Passkeys
  readonly secondFactors: SecondFactors
}

interface Step {
  readonly fault?: string
  /** A secret that was begun, while its code is asked for again. */
  readonly secret?: string
}

/** GET: asks for what is missing. */
export function secondStepPageEndpoint(deps: SecondStepDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const next = safeNext(new URLSearchParams(ctx.querystring).get('next'))
    const pending = await pendingSession(ctx, deps)
    if (!pending) return sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(next)}`)
    return showStep(ctx, pending, next, deps, {})
  })
}

/** POST: the code, the passkey, or the first of either. */
export function secondStepEndpoint(deps: SecondStepDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const form = await readPageForm(ctx)
    const pending = await pendingSession(ctx, deps)
    requireOwnForm(ctx, deps, { secret: pending?.secret, purpose: 'second step', token: form.get('csrf') })
    const next = safeNext(form.get('next') ?? null)
    return pending!.session.pending === 'enrol'
      ? enrol(ctx, pending!, form, next, deps)
      : prove(ctx, pending!, form, next, deps)
  })
}

/** GET: asks the device for a passkey. The page is apart from that of the password, which runs no script. */
export function passkeyPageEndpoint(deps: SecondStepDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    const next = safeNext(new URLSearchParams(ctx.querystring).get('next'))
    const visitor = visitorSecret(ctx, deps)
    pageHeaders(ctx, formActionOf(next))
    allowScript(ctx)
    const options = JSON.stringify(await deps.passkeys.request(visitor))
    const csrf = formToken(visitor, 'passkey')
    return answerPage(ctx, 200, deps.render(ctx, 'passkey', { next, csrf, options }))
  })
}

/** POST: a passkey by itself, which proves both that somebody has it and that it is them. */
export function passkeyEndpoint(deps: SecondStepDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const origin = originOf(ctx)
    const form = await readPageForm(ctx)
    const visitor = knownVisitor(ctx, deps)
    requireOwnForm(ctx, deps, { secret: visitor, purpose: 'passkey', token: form.get('csrf') })
    await deps.limits.take('authorize', origin)
    const proven = await deps.passkeys.prove(visitor!, form.get('credential') ?? '')
    const user = proven === undefined ? undefined : deps.people().find(proven)
    await deps.audit.record({
      type: user?.enabled ? 'sign_in.ok' : 'sign_in.fail',
      status: user?.enabled ? 'ok' : 'denied',
      ...(proven !== undefined && { user: proven }),
      ...origin,
      data: { method: 'passkey' },
    })
    if (!user?.enabled) throw new AppError('forbidden', 'the passkey could not be checked; please try again')
    await openSession(ctx, deps, { user: user.id, method: 'passkey', address: origin.address })
    return sendTo(ctx, 303, safeNext(form.get('next') ?? null))
  })
}

async function prove(
  ctx: Context,
  pending: SignedIn,
  form: Params,
  next: string,
  deps: SecondStepDeps,
): Promise<void> {
  const { user, secret } = pending
  const credential = form.get('credential') ?? ''
  const outcome = await deps.signIn.attemptSecond(
    user.id,
    originOf(ctx),
    credential === '' ? 'code' : 'passkey',
    async () =>
      credential === ''
        ? deps.secondFactors.spend(user.id, form.get('code') ?? '')
        : (await deps.passkeys.prove(secret, credential)) === user.id,
  )
  if (outcome.kind === 'signed_in') return enter(ctx, pending, next, deps)
  if (outcome.kind === 'refused') return showStep(ctx, pending, next, deps, { fault: 'second.wrong' }, 403)
  ctx.set('Retry-After', String(outcome.seconds))
  return showStep(ctx, pending, next, deps, { fault: 'second.wait' }, 429)
}

async function enrol(
  ctx: Context,
  pending: SignedIn,
  form: Params,
  next: string,
  deps: SecondStepDeps,
): Promise<void> {
  const { user, secret } = pending
  const credential = form.get('credential') ?? ''
  const target = credential === '' ? 'totp' : 'passkey'
  const begun = form.get('secret') ?? ''
  let codes: readonly string[]
  try {
    if (target === 'passkey') await deps.passkeys.add(secret, user.id, '', credential)
    codes =
      target === 'passkey'
        ? await deps.secondFactors.renewCodes(user.id)
        : await deps.secondFactors.set(user.id, begun, form.get('code') ?? '')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return showStep(ctx, pending, next, deps, { fault: 'second.wrong', secret: begun }, 400)
  }
  const event = { type: 'second_factor.add', status: 'ok', user: user.id, target } as const
  await deps.audit.record({ ...event, ...originOf(ctx) })
  await enter(ctx, pending, next, deps)
  ctx.remove('Location')
  return answerPage(ctx, 200, deps.render(ctx, 'recovery-codes', { codes, next }))
}

/** Gives the browser a session of its own in the place of the one that waited. */
async function enter(
  ctx: Context,
  { user, session }: SignedIn,
  next: string,
  deps: SecondStepDeps,
): Promise<void> {
  await openSession(ctx, deps, { user: user.id, method: session.method, address: originOf(ctx).address })
  sendTo(ctx, 303, next)
}

async function showStep(
  ctx: Context,
  { user, session, account, secret }: SignedIn,
  next: string,
  deps: SecondStepDeps,
  { fault = '', secret: begun }: Step,
  status = 200,
): Promise<void> {
  const site = deps.settings().server.display_name
  const enrols = session.pending === 'enrol'
  const isSecret = /^[A-Z2-7]{32}$/.test(begun ?? '')
  const { secondFactors, passkeys } = deps
  pageHeaders(ctx, formActionOf(next))
  allowScript(ctx)
  const options = enrols
    ? await passkeys.creation(secret, account, { user: user.fullName, site })
    : await passkeys.request(secret)
  const view = {
    next,
    fault,
    enrols,
    csrf: formToken(secret, 'second step'),
    options: JSON.stringify(options),
    hasCodes: enrols || account.totp !== undefined || account.recoveryCodes !== undefined,
    hasPasskeys: enrols || (account.passkeys ?? []).length > 0,
    authenticator:
      enrols && (isSecret ? secondFactors.again(begun!, user.id, site) : secondFactors.begin(user.id, site)),
  }
  answerPage(ctx, status, deps.render(ctx, 'second-step', view))
}
