/** The second step of signing in: a code or a passkey, or setting one up where the user's role needs it. */
import type { Needs } from '../../control/operation.ts'
import type { Context } from 'koa'
import { AppError } from '#leaf/errors.ts'
import {
  allowScript,
  answerPage,
  formToken,
  pageHeaders,
  requireOwnForm,
  sendTo,
  readPageForm,
} from '#ui/browser.ts'
import { knownVisitor, openSession, pendingSession, visitorSecret } from '../../users/browser-middleware.ts'
import { originOf, asked, type Params } from '#ui/requests.ts'
import { hasSecondFactor } from '#credentials/accounts.ts'
import type { SignedIn } from '../../users/accounts.ts'
import { pages } from '../pages.ts'
import type { FormPage } from '../route-page.ts'
import { formActionOf, letIn, safeNext, type SignInDeps } from './sign-in-endpoint.ts'
import { readerOf } from '../views.ts'

/** The dependencies of the second step. */
export type SecondStepDeps = SignInDeps & Needs<'audit' | 'people' | 'passkeys' | 'secondFactors'>

interface Step {
  readonly fault?: string
  /** The fault of the code for a secret that was begun. */
  readonly codeFault?: string
  /** The secret that was begun, while its code is asked for again. */
  readonly secret?: string
}

/** A browser at which the password was right, and where it goes from here. */
interface StepVisit {
  readonly ctx: Context
  readonly pending: SignedIn
  readonly next: string
  readonly deps: SecondStepDeps
}

/** Asks for what is missing, and takes the code, the passkey, or the first of either. */
export function secondStepEndpoint(deps: SecondStepDeps): FormPage<'anybody'> {
  return {
    get: async (ctx) => {
      const next = safeNext(asked(ctx, 'next'))
      const pending = await pendingSession(ctx, deps)
      if (!pending) return sendTo(ctx, 303, `${pages.signIn.path}?next=${encodeURIComponent(next)}`)
      return showStep({ ctx, pending, next, deps }, {})
    },
    post: async (ctx) => {
      const form = await readPageForm(ctx)
      const pending = await pendingSession(ctx, deps)
      requireOwnForm(ctx, deps, { secret: pending?.secret, purpose: 'second step', form })
      const next = safeNext(form.get('next'))
      const work = isToEnrol(pending!) ? enrol : prove
      return work({ ctx, pending: pending!, next, deps }, form)
    },
  }
}

/** Asks the device for a passkey, which proves both that somebody has it and that it is them. The page is apart from that of
 * the password, which runs no script. */
export function passkeyEndpoint(deps: SecondStepDeps): FormPage<'anybody'> {
  return {
    get: async (ctx) => {
      await deps.limits.take('authorize', originOf(ctx))
      const next = safeNext(asked(ctx, 'next'))
      const visitor = visitorSecret(ctx, deps)
      pageHeaders(ctx, formActionOf(next))
      allowScript(ctx)
      const options = JSON.stringify(await deps.passkeys.request(visitor))
      return { next, csrf: formToken(visitor, 'passkey'), options }
    },
    post: async (ctx) => {
      const form = await readPageForm(ctx)
      const visitor = knownVisitor(ctx, deps)
      requireOwnForm(ctx, deps, { secret: visitor, purpose: 'passkey', form })
      await deps.limits.take('authorize', originOf(ctx))
      const { address } = originOf(ctx)
      const proven = await deps.passkeys.prove(visitor!, form.get('credential') ?? '', address)
      const refusal = 'the passkey could not be checked; please try again'
      await letIn(ctx, deps, { proven, method: 'passkey', refusal })
      return sendTo(ctx, 303, safeNext(form.get('next')))
    },
  }
}

/** True when the user must set one up. A user who has one by now proves it: another browser with the password may have waited. */
function isToEnrol({ session, account }: SignedIn): boolean {
  return session.pending === 'enrol' && !hasSecondFactor(account)
}

async function prove(visit: StepVisit, form: Params): Promise<void> {
  const { ctx, deps } = visit
  const { user, secret } = visit.pending
  const credential = form.get('credential') ?? ''
  const origin = originOf(ctx)
  const outcome = await deps.signIn.attemptSecond(
    user.id,
    origin,
    credential === '' ? 'code' : 'passkey',
    async () =>
      credential === ''
        ? deps.secondFactors.spend(user.id, form.get('code') ?? '')
        : (await deps.passkeys.prove(secret, credential, origin.address)) === user.id,
  )
  if (outcome.kind === 'signed_in') return enter(visit)
  const words = readerOf(ctx).messages
  if (outcome.kind === 'refused') return showStep(visit, { fault: words.text('second.wrong') }, 403)
  ctx.set('Retry-After', String(outcome.seconds))
  return showStep(visit, { fault: words.text('second.wait') }, 429)
}

async function enrol(visit: StepVisit, form: Params): Promise<void> {
  const { ctx, next, deps } = visit
  const { user, secret } = visit.pending
  const credential = form.get('credential') ?? ''
  const target = credential === '' ? 'totp' : 'passkey'
  const begun = form.get('secret') ?? ''
  const words = readerOf(ctx).messages
  const origin = originOf(ctx)
  const event = { type: 'second_factor.add', user: user.id, target, ...origin } as const
  let codes: readonly string[]
  try {
    if (target === 'passkey') await deps.passkeys.add(secret, user.id, '', credential, origin.address)
    codes =
      target === 'passkey'
        ? await deps.secondFactors.renewCodes(user.id)
        : await deps.secondFactors.set(user.id, begun, form.get('code') ?? '', origin.address)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await deps.audit.record({ ...event, status: 'error', error: error.message })
    const why = words.fault(error.message)
    return showStep(visit, { [target === 'totp' ? 'codeFault' : 'fault']: why, secret: begun }, 400)
  }
  await deps.audit.record({ ...event, status: 'ok' })
  await enter(visit)
  ctx.remove('Location')
  return answerPage(ctx, 200, deps.render(ctx, 'recovery-codes', { codes, next }))
}

/** Opens a full session for the browser, in the place of the one that waited. */
async function enter({ ctx, pending: { user, session }, next, deps }: StepVisit): Promise<void> {
  await openSession(ctx, deps, { user: user.id, method: session.method, address: originOf(ctx).address })
  sendTo(ctx, 303, next)
}

async function showStep(
  { ctx, pending, next, deps }: StepVisit,
  { fault = '', codeFault = '', secret: begun }: Step,
  status = 200,
): Promise<void> {
  const { user, account, secret } = pending
  const site = deps.settings().server.display_name
  const enrols = isToEnrol(pending)
  const { secondFactors, passkeys } = deps
  pageHeaders(ctx, formActionOf(next))
  allowScript(ctx)
  const options = enrols
    ? await passkeys.creation(secret, account, { user: user.fullName, site })
    : await passkeys.request(secret)
  const view = {
    next,
    fault,
    codeFault,
    enrols,
    csrf: formToken(secret, 'second step'),
    options: JSON.stringify(options),
    hasCodes: !enrols && (account.totp !== undefined || account.recoveryCodes !== undefined),
    hasPasskeys: enrols || (account.passkeys ?? []).length > 0,
    begun: enrols && secondFactors.begin(user.id, site, begun),
  }
  answerPage(ctx, status, deps.render(ctx, pages.secondStep.view, view))
}
