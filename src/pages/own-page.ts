/** The one way to make a page with forms: what it shows, and what each of its forms does. */
import type { Needs } from '../control/operation.ts'
import type { Router } from '@koa/router'
import type { Context } from 'koa'
import type { AuditEvent } from '#audit/audit.ts'
import { BodyTooLarge } from '#front/request-body.ts'
import { AppError, httpStatusOf } from '#leaf/errors.ts'
import {
  allowScript,
  formToken,
  requireOwnForm,
  sendTo,
  type FormLimits,
  type PageForm,
  readPageForm,
} from '#ui/browser.ts'
import { signedIn, type BrowserDeps } from '../users/browser-middleware.ts'
import { isOfType, originOf, asked } from '#ui/requests.ts'
import type { Fault } from '#site/site-files.ts'
import type { SignedIn } from '../users/accounts.ts'
import { pageEndpoint, drawPage } from './page-endpoint.ts'
import type { PageRow } from './pages.ts'
import { admitted, searchOf, type SessionDeps, toSignIn } from './session-middleware.ts'
import { type TypedField, type ShownForm, shownForm } from '#ui/forms.ts'
import { readerOf } from './views.ts'

/** What a form's fault says beyond its message. */
interface FaultDetail {
  /** Problems behind their places, or those of a prompt's arguments. */
  readonly problems?: readonly (string | { readonly argument?: string; readonly problem?: string })[]
  /** Faults of a file of the site. */
  readonly faults?: readonly Fault[]
  /** Set when a prompt's own tests failed. */
  readonly tests?: unknown
  /** The text and digest of a file that somebody else changed meanwhile. */
  readonly present?: string
  readonly digest?: string
}

/** A visit: a signed-in user looks at a page, or sends one of its forms. */
export interface Visit extends SignedIn {
  readonly ctx: Context
  /** The form they sent, so that a form that failed still holds it. */
  readonly form?: PageForm
  /** The name of the form that failed. */
  readonly failed?: string
  readonly detail?: FaultDetail
}

/** Returns the problems of the form that was sent, each behind its place. */
export function problemsOf({ detail }: Visit): readonly string[] {
  return (detail?.problems ?? []).map((one) =>
    typeof one === 'string' ? one : `${one.argument ?? ''}: ${one.problem ?? ''}`,
  )
}

/** Returns one of a page's forms: what was typed, and what is wrong with it, stands in the one that failed. */
export function formAt(
  visit: Visit,
  name: string,
  fields: readonly TypedField[],
  values: Readonly<Record<string, unknown>> = {},
): ShownForm {
  const sent = visit.failed === name ? { form: visit.form, problems: problemsOf(visit) } : {}
  return shownForm(fields, { ...sent, values, reader: readerOf(visit.ctx), prefix: '' })
}

/** The outcome of a form. */
interface Outcome extends Pick<AuditEvent, 'data'> {
  /** The target of its event, where nobody can say it before. */
  readonly target?: string
  /** Data shown on the page this once, such as a new secret. */
  readonly once?: Readonly<Record<string, unknown>>
  /** Set when the form only asks whether it is wanted: nothing is done yet. */
  readonly isAsking?: true
  /** The page to which the person goes on, when it is another. */
  readonly to?: string
}

/** A form of a page. */
export interface Deed {
  /** The event type in the audit log; a form that changes nothing has none. */
  readonly type?: string
  /** Returns what the form is about, by which its event is found, whether it is done or refused. */
  target?(visit: Visit): string
  /** Demands a recent sign-in; others sign in again first, and with `keep` their input stays in the form. */
  readonly recent?: true | 'keep'
  run(visit: Visit, form: PageForm): Promise<Outcome | undefined>
}

/** A page with forms: what it shows and does. */
export interface OwnPage extends FormLimits {
  /** True when the page runs our script, for what no form can do. */
  readonly script?: true
  show(visit: Visit): Promise<Readonly<Record<string, unknown>>>
  readonly deeds: Readonly<Record<string, Deed>>
}

/** The dependencies of every such page. */
export type OwnPageDeps = BrowserDeps & SessionDeps & Needs<'audit' | 'clock' | 'render' | 'suspended'>

/** A page and its row in the table. */
interface Routed {
  readonly own: OwnPage
  readonly page: PageRow
}

const recentMilliseconds = 900_000

/** Answers a GET. */
export function showOwnPage(visit: Visit, routed: Routed, deps: OwnPageDeps): Promise<void> {
  const { ctx } = visit
  const done = Object.keys(routed.own.deeds).find((name) => name === asked(ctx, 'done'))
  return answer(visit, { ...routed, here: ctx.path }, deps, { done: done ?? '' })
}

/** Routes each form of a page below it; the sender is authenticated, and the outcome is audited. */
export function routeDeeds(router: Router, { own, page }: Routed, deps: OwnPageDeps): void {
  for (const [name, deed] of Object.entries(own.deeds))
    router.post(
      `${page.path}/${name}`,
      pageEndpoint(deps.render, async (ctx) => {
        const here = ctx.path.slice(0, -name.length - 1)
        const isFile = isOfType(ctx, 'multipart/form-data')
        if (isFile && !(await signedIn(ctx, deps))) {
          // A body with a file is large, and is read for nobody who is not signed in.
          ctx.set('Connection', 'close')
          isOfThisSession(ctx, page, deps, { signed: undefined, form: undefined })
        }
        const form = await readPageForm(ctx, own).catch((error: unknown) => {
          if (isFile && error instanceof BodyTooLarge) return undefined
          throw error
        })
        // Not before the body: it may come slowly, and meanwhile a session ends or its user loses a role.
        const signed = await signedIn(ctx, deps)
        const isOfNow = (form ?? !signed) && isOfThisSession(ctx, page, deps, { signed, form })
        const visit = { ...signed!, ctx, ...(form && { form }) }
        admitted(visit, page, deps)
        if (!form) {
          const detail = { problems: [`file: must have at most ${own.largestFile} bytes`] }
          const state = { fault: detail.problems[0]!, failed: name }
          return answer({ ...visit, detail }, { own, page, here }, deps, state, 413)
        }
        const isLate = deps.clock.now() - visit.session.authTime > recentMilliseconds
        if (isOfNow && (!deed.recent || !isLate))
          return perform(visit, form, { name, deed, own, page, here }, deps)
        if (isOfNow && deed.recent !== 'keep') return toSignIn(ctx, here)
        const why = readerOf(ctx).messages.fault(isOfNow ? tooLongAgo : signedInAgain)
        const state = { fault: why, failed: name, signsIn: isOfNow }
        return answer(visit, { own, page, here }, deps, state, 403)
      }),
    )
}

const tooLongAgo = 'you signed in too long ago for this; sign in again in another tab, then send it once more'
const signedInAgain = 'you have signed in again since this form was made; look at it, then send it once more'
const signedOut =
  'you are signed out: sign in in another tab, then load this page again, and what you typed comes back'

/**
 * Tells whether the form is of this session; that of an earlier one, which came from a page of ours, is only shown again, with
 * what was typed. Every other form is refused. AppError `forbidden`.
 */
function isOfThisSession(
  ctx: Context,
  page: PageRow,
  deps: OwnPageDeps,
  { signed, form }: { readonly signed: SignedIn | undefined; readonly form: PageForm | undefined },
): boolean {
  const isOurs = ctx.get('Sec-Fetch-Site') === 'same-origin'
  if (isOurs && !signed) throw new AppError('forbidden', signedOut)
  try {
    requireOwnForm(ctx, deps, { secret: signed?.secret, purpose: purposeOf(page), form })
  } catch (error) {
    if (isOurs) return false
    throw error
  }
  return true
}

async function perform(
  visit: Visit,
  form: PageForm,
  { name, deed, ...place }: { name: string; deed: Deed } & Place,
  deps: OwnPageDeps,
): Promise<void> {
  const { ctx, user } = visit
  const target = deed.target?.(visit)
  const tell = async (event: Pick<AuditEvent, 'status' | 'error' | 'target' | 'data'>): Promise<void> => {
    if (deed.type)
      await deps.audit.record({ type: deed.type, user: user.id, target, ...originOf(ctx), ...event })
  }
  try {
    const { once, to, isAsking, ...told } = (await deed.run(visit, form)) ?? {}
    if (!isAsking) await tell({ status: 'ok', ...told })
    const search = searchOf(ctx)
    const again = `${place.here}${search}${search === '' ? '?' : '&'}done=${name}`
    if (!once) return sendTo(ctx, 303, to ?? again)
    return await answer(visit, place, deps, { once })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await tell({ status: error.code === 'forbidden' ? 'denied' : 'error', error: error.message })
    if (error.code === 'not_found') throw error
    const fault = readerOf(ctx).messages.fault(error.message)
    if (error.retryAfter !== undefined) ctx.set('Retry-After', String(error.retryAfter))
    const state = { fault, failed: name }
    const detail = (error.data ?? {}) as FaultDetail
    return answer({ ...visit, detail }, place, deps, state, httpStatusOf(error))
  }
}

/** A page, and the path at which this instance of it stands. */
interface Place extends Routed {
  readonly here: string
}

/** Answers with the page, after a form or before any. */
async function answer(
  visit: Visit,
  { own, page, here }: Place,
  deps: OwnPageDeps,
  state: { done?: string; once?: object; fault?: string; failed?: string; signsIn?: boolean },
  status = 200,
): Promise<void> {
  const { ctx } = visit
  // A form may have changed the session, or the user's preferences.
  const signed = ctx.state['signed'] as SignedIn
  if (own.script) allowScript(ctx)
  const view = await own.show({ ...visit, ...signed, ...(state.failed && { failed: state.failed }) })
  const csrf = formToken(signed.secret, purposeOf(page))
  const blank = { done: '', once: {}, fault: '', failed: '', signsIn: false }
  const place = { page: here, search: searchOf(ctx), csrf }
  await drawPage(ctx, page, { ...blank, ...state, ...view, ...place }, deps, status)
}

function purposeOf({ path }: PageRow): string {
  return `page ${path}`
}
