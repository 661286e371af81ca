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
import { formActionOf, letIn, safeNext, type SignInDeps } from './sign-in-endpoint.ts'

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

/** A browser at which the password was right, and where it goes from here. */
interface StepVisit {
  readonly ctx: Context
  readonly pending: SignedIn
  readonly next: string
  readonly deps: SecondStepDeps
}

/** GET: asks for what is missing. */
export function secondStepPageEndpoint(deps: SecondStepDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const next = safeNext(new URLSearchParams(ctx.querystring).get('next'))
    const pending = await pendingSession(ctx, deps)
    if (!pending) return sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(next)}`)
    return showStep({ ctx, pending, next, deps }, {})
  })
}

/** POST: the code, the passkey, or the first of either. */
export function secondStepEndpoint(deps: SecondStepDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const form = await readPageForm(ctx)
    const pending = await pendingSession(ctx, deps)
    requireOwnForm(ctx, deps, { secret: pending?.secret, purpose: 'second step', token: form.get('csrf') })
    const next = safeNext(form.get('next') ?? null)
    const work = pending!.session.pending === 'enrol' ? enrol : prove
    return work({ ctx, pending: pending!, next, deps }, form)
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
    const form = await readPageForm(ctx)
    const visitor = knownVisitor(ctx, deps)
    requireOwnForm(ctx, deps, { secret: visitor, purpose: 'passkey', token: form.get('csrf') })
    await deps.limits.take('authorize', originOf(ctx))
    const proven = await deps.passkeys.prove(visitor!, form.get('credential') ?? '')
    const refusal = 'the passkey could not be checked; please try again'
    await letIn(ctx, deps, { proven, method: 'passkey', refusal })
    return sendTo(ctx, 303, safeNext(form.get('next') ?? null))
  })
}

async function prove(visit: StepVisit, form: Params): Promise<void> {
  const { ctx, deps } = visit
  const { user, secret } = visit.pending
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
  if (outcome.kind === 'signed_in') return enter(visit)
  if (outcome.kind === 'refused') return showStep(visit, { fault: 'second.wrong' }, 403)
  ctx.set('Retry-After', String(outcome.seconds))
  return showStep(visit, { fault: 'second.wait' }, 429)
}

async function enrol(visit: StepVisit, form: Params): Promise<void> {
  const { ctx, next, deps } = visit
  const { user, secret } = visit.pending
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
    return showStep(visit, { fault: 'second.wrong', secret: begun }, 400)
  }
  const event = { type: 'second_factor.add', status: 'ok', user: user.id, target } as const
  await deps.audit.record({ ...event, ...originOf(ctx) })
  await enter(visit)
  ctx.remove('Location')
  return answerPage(ctx, 200, deps.render(ctx, 'recovery-codes', { codes, next }))
}

/** Gives the browser a session of its own in the place of the one that waited. */
async function enter({ ctx, pending: { user, session }, next, deps }: StepVisit): Promise<void> {
  await openSession(ctx, deps, { user: user.id, method: session.method, address: originOf(ctx).address })
  sendTo(ctx, 303, next)
}

async function showStep(
  { ctx, pending: { user, session, account, secret }, next, deps }: StepVisit,
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
    authenticator: enrols && secondFactors.begin(user.id, site, isSecret ? begun : undefined),
  }
  answerPage(ctx, status, deps.render(ctx, 'second-step', view))
}
