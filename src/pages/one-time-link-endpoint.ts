/** The page behind a one-time link: choosing a password that nobody else knows. */
import type { Context, Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import {
  answerPage,
  formToken,
  knownVisitor,
  pageEndpoint,
  requireOwnForm,
  sendTo,
  visitorSecret,
  readPageForm,
} from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import { paths } from '../oauth/urls.ts'
import type { OneTimeLinks } from '../users/one-time-links.ts'
import type { Passwords } from '../users/passwords.ts'
import type { SecondFactors } from '../users/second-factors.ts'
import { faultPage } from './authorization-pages.ts'
import { messages } from './messages.ts'
import type { SignInDeps } from './sign-in-endpoint.ts'
import { languageOf } from './views.ts'

/** What the page works with. */
export interface OneTimeLinkDeps extends SignInDeps {
  readonly audit: Audit
  readonly links: OneTimeLinks
  readonly passwords: Passwords
  readonly secondFactors: SecondFactors
}

const over = 'this link was used already, has ended or was replaced; ask for another one'

/** GET: the form; looking at it uses nothing up, since programs look at links before people do. */
export function oneTimeLinkPageEndpoint(deps: OneTimeLinkDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    const secret = new URLSearchParams(ctx.querystring).get('link') ?? ''
    await showForm(ctx, secret, deps, '', 200)
  })
}

/** POST: the password that was chosen. */
export function oneTimeLinkEndpoint(deps: OneTimeLinkDeps): Middleware {
  return pageEndpoint(faultPage(deps.render), async (ctx) => {
    const origin = originOf(ctx)
    await deps.limits.take('authorize', origin)
    const form = await readPageForm(ctx)
    requireOwnForm(ctx, deps, { secret: knownVisitor(ctx, deps), purpose: 'link', token: form.get('csrf') })
    const secret = form.get('link') ?? ''
    const refuse = async (user?: string): Promise<never> => {
      const who = user === undefined ? {} : { user }
      await deps.audit.record({ type: 'password.choose', status: 'denied', ...who, ...origin, error: over })
      throw new AppError('not_found', over)
    }
    const found = await deps.links.find(secret)
    if (!found) return refuse()
    const { link, user } = found
    const password = form.get('new') ?? ''
    try {
      if (password !== form.get('again')) throw new AppError('invalid', 'the two passwords differ')
      deps.passwords.check(user.id, password)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const fault = messages[languageOf(ctx)].fault(error.message)
      return showForm(ctx, secret, deps, fault, 400)
    }
    // Of two who open it at once, one chooses.
    if (!(await deps.links.spend(link))) return refuse(user.id)
    await deps.passwords.set(user.id, password)
    if (link.secondFactor) await deps.secondFactors.remove(user.id, { all: true }, false)
    const sessions_ended = await deps.sessions.closeAll(user.id)
    const data = { purpose: link.purpose, second_factor: link.secondFactor, sessions_ended }
    await deps.audit.record({ type: 'password.choose', status: 'ok', user: user.id, ...origin, data })
    return sendTo(ctx, 303, `${paths.signIn}?chosen=1`)
  })
}

async function showForm(
  ctx: Context,
  secret: string,
  deps: OneTimeLinkDeps,
  fault: string,
  status: number,
): Promise<void> {
  const found = await deps.links.find(secret)
  if (!found) throw new AppError('not_found', over)
  const { user, link } = found
  const csrf = formToken(visitorSecret(ctx, deps), 'link')
  const view = { user: user.id, invited: link.purpose === 'invite', secret, csrf, fault }
  answerPage(ctx, status, deps.render(ctx, 'choose-password', view))
}
