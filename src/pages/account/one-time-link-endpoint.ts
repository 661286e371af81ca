/** The page behind a one-time link: choosing a password that nobody else knows, and ending other ways into the account. */
import type { Needs } from '../../control/operation.ts'
import type { Context } from 'koa'
import { AppError } from '#leaf/errors.ts'
import { allowScript, answerPage, formToken, requireOwnForm, sendTo, readPageForm } from '#ui/browser.ts'
import { knownVisitor, visitorSecret } from '../../users/browser-middleware.ts'
import { originOf, asked, type Params } from '#ui/requests.ts'
import { needsSecondFactor } from '../../users/people.ts'
import { pages } from '../pages.ts'
import type { FormPage } from '../route-page.ts'
import type { SignInDeps } from './sign-in-endpoint.ts'
import { waysInto, type Way, type WaysDeps } from './ways-in.ts'
import { readerOf } from '../views.ts'

/** The dependencies of the page. */
export type OneTimeLinkDeps = SignInDeps & WaysDeps & Needs<'audit' | 'links' | 'passwords'>

type Found = NonNullable<Awaited<ReturnType<OneTimeLinkDeps['links']['find']>>>

const over = 'this link was used already, has ended or was replaced; ask for another one'

/** Shows the form, which uses nothing up, since programs look at links before people do; sets the password that was chosen. */
export function oneTimeLinkEndpoint(deps: OneTimeLinkDeps): FormPage<'anybody'> {
  return {
    get: async (ctx) => {
      await deps.limits.take('authorize', originOf(ctx))
      await showForm(ctx, asked(ctx, 'link'), deps)
    },
    post: async (ctx) => {
      const origin = originOf(ctx)
      await deps.limits.take('authorize', origin)
      const form = await readPageForm(ctx)
      requireOwnForm(ctx, deps, { secret: knownVisitor(ctx, deps), purpose: 'link', form })
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
        const fault = readerOf(ctx).messages.fault(error.message)
        return showForm(ctx, secret, deps, { fault, form })
      }
      // Of two who open the link at once, one chooses.
      if (!(await deps.links.spend(link))) return refuse(user.id)
      await deps.passwords.set(user.id, password)
      const data = { purpose: link.purpose, ...(await endWays(ctx, found, form, deps)) }
      await deps.audit.record({ type: 'password.choose', status: 'ok', user: user.id, ...origin, data })
      return sendTo(ctx, 303, `${pages.signIn.path}?chosen=1`)
    },
  }
}

/** Ends every sign-in, and every way in except those that the page showed and the person kept. */
async function endWays(
  ctx: Context,
  found: Found,
  form: Params,
  deps: OneTimeLinkDeps,
): Promise<{ sessions_ended: number; ended: readonly string[]; kept: readonly string[] }> {
  const ended: string[] = []
  const endThose = async (proving: boolean): Promise<void> => {
    for (const way of (await waysOf(found, deps)).filter(({ proves }) => proves === proving)) {
      if (!(verdictOf(way, found, deps) ?? isToEnd(way, form))) continue
      ended.push(way.id)
      const told = await way.end()
      await deps.audit.record({ ...told, status: 'ok', user: found.user.id, ...originOf(ctx) })
    }
  }
  // This order keeps those who are put out from making anything new: first what signs in, then sessions, then the rest.
  await endThose(true)
  const sessions_ended = await deps.sessions.closeAll(found.user.id)
  await endThose(false)
  return { sessions_ended, ended, kept: (await waysOf(found, deps)).map(({ id }) => id) }
}

/**
 * True when a way ends whatever the person wants, false when it stays; undefined when they decide. Where a role needs a
 * second factor, a link alone does not end it: whoever made the link says so.
 */
function verdictOf({ proves }: Way, { link, user }: Found, deps: OneTimeLinkDeps): boolean | undefined {
  if (!proves) return undefined
  if (link.secondFactor) return true
  return needsSecondFactor(user, deps.settings()) ? false : undefined
}

/** True unless the person was shown the way and said that they know it. */
function isToEnd({ id }: Way, form: Params | undefined): boolean {
  return form?.get(`shown.${id}`) === undefined || form.get(`end.${id}`) !== undefined
}

/** Returns the ways in to check; an invited user has only what an operator gave them. */
async function waysOf({ link, user }: Found, deps: OneTimeLinkDeps): Promise<readonly Way[]> {
  return link.purpose === 'reset' ? waysInto(user.id, deps) : []
}

async function showForm(
  ctx: Context,
  secret: string,
  deps: OneTimeLinkDeps,
  { fault = '', form }: { readonly fault?: string; readonly form?: Params } = {},
): Promise<void> {
  const found = await deps.links.find(secret)
  if (!found) throw new AppError('not_found', over)
  const { user, link } = found
  const csrf = formToken(visitorSecret(ctx, deps), 'link')
  const ways = (await waysOf(found, deps)).map((way) => {
    const verdict = verdictOf(way, found, deps)
    return { ...way.view, id: way.id, isFixed: verdict !== undefined, ends: verdict ?? isToEnd(way, form) }
  })
  const view = { user: user.id, invited: link.purpose === 'invite', secret, csrf, fault, ways }
  // A second click in haste would be told that the link is over.
  allowScript(ctx)
  answerPage(ctx, fault === '' ? 200 : 400, deps.render(ctx, pages.oneTimeLink.view, view))
}
