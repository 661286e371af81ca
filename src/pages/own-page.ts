/** The one way in which a page with forms is made: what it shows, and what each of its forms does. */
import type { Router } from '@koa/router'
import type { Context } from 'koa'
import type { Audit } from '../audit/audit.ts'
import type { AuditEvent } from '../audit/event.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import {
  allowScript,
  answerPage,
  formToken,
  pageEndpoint,
  requireOwnForm,
  sendTo,
  signedIn,
  type BrowserDeps,
  readPageForm,
} from '../oauth/browser-middleware.ts'
import { originOf } from '../oauth/http-middleware.ts'
import type { Params } from '../oauth/protocol.ts'
import { paths } from '../oauth/urls.ts'
import type { User } from '../users/people.ts'
import type { SignedIn } from '../users/sessions.ts'
import { faultPage } from './authorization-pages.ts'
import { messages } from './messages.ts'
import { languageOf, type Render } from './views.ts'

/** Somebody who is signed in and looks at a page, or sends one of its forms. */
export interface Visit extends SignedIn {
  readonly ctx: Context
  /** What they sent, so that a form that failed still holds it. */
  readonly form?: Params
  /** What the fault of a form says beyond its words. */
  readonly detail?: unknown
}

/** What a form did. */
interface Outcome extends Pick<AuditEvent, 'target' | 'data'> {
  /** Shown on the page this once, such as a new secret. */
  readonly once?: Readonly<Record<string, unknown>>
  /** Where the person goes on, when that is another page. */
  readonly to?: string
}

/** One form of a page. */
export interface Deed {
  /** What the audit log calls it; a form that changes nothing has none. */
  readonly type?: string
  /** Only for somebody who proved who they are a short while ago; others prove it first, and `keep` what they typed. */
  readonly recent?: true | 'keep'
  run(visit: Visit, form: Params): Promise<Outcome | undefined>
}

/** A page: everything but its view. */
export interface OwnPage {
  /** May have parameters, such as `/prompts/:id`. */
  readonly path: string
  readonly view: string
  /** Whether the page runs our script, for what no form can do. */
  readonly script?: true
  /** How many bytes its forms may have; 65,536 unless told. */
  readonly largest?: number
  /** Whom it is there for; for others nothing is at its address. */
  readonly isFor?: (user: User) => boolean
  show(visit: Visit): Promise<Readonly<Record<string, unknown>>>
  readonly deeds: Readonly<Record<string, Deed>>
}

/** What every such page works with. */
export interface OwnPageDeps extends BrowserDeps {
  readonly audit: Audit
  readonly clock: Clock
  readonly render: Render
}

const recentMilliseconds = 900_000

/** Routes the page, and each of its forms below it; who sends one is known, and what comes of it is told. */
export function routeOwnPage(router: Router, page: OwnPage, deps: OwnPageDeps): void {
  const fault = faultPage(deps.render)
  router.get(
    page.path,
    pageEndpoint(fault, async (ctx) => {
      const signed = await signedIn(ctx, deps)
      if (!signed) return toSignIn(ctx, ctx.path)
      requireForThem(ctx, page, signed)
      const asked = new URLSearchParams(ctx.querystring).get('done')
      const done = Object.keys(page.deeds).find((name) => name === asked)
      return answer({ ...signed, ctx }, { page, here: ctx.path }, deps, { done: done ?? '' })
    }),
  )
  for (const [name, deed] of Object.entries(page.deeds))
    router.post(
      `${page.path}/${name}`,
      pageEndpoint(fault, async (ctx) => {
        const form = await readPageForm(ctx, page.largest)
        const here = ctx.path.slice(0, -name.length - 1)
        const signed = await signedIn(ctx, deps)
        const secret = signed?.secret
        requireOwnForm(ctx, deps, { secret, purpose: purposeOf(page), token: form.get('csrf') })
        requireForThem(ctx, page, signed!)
        const visit = { ...signed!, ctx, form }
        const isLate = deps.clock.now() - visit.session.authTime > recentMilliseconds
        if (!deed.recent || !isLate) return perform(visit, form, { name, deed, page, here }, deps)
        if (deed.recent !== 'keep') return toSignIn(ctx, here)
        const why = messages[languageOf(ctx)].fault('you signed in too long ago for this; sign in again')
        return answer(visit, { page, here }, deps, { fault: why, failed: name }, 403)
      }),
    )
}

async function perform(
  visit: Visit,
  form: Params,
  { name, deed, ...place }: { name: string; deed: Deed } & Place,
  deps: OwnPageDeps,
): Promise<void> {
  const { ctx, user } = visit
  const tell = async (event: Pick<AuditEvent, 'status' | 'error' | 'target' | 'data'>): Promise<void> => {
    if (deed.type) await deps.audit.record({ type: deed.type, user: user.id, ...originOf(ctx), ...event })
  }
  try {
    const { once, to, ...told } = (await deed.run(visit, form)) ?? {}
    await tell({ status: 'ok', ...told })
    const search = searchOf(ctx)
    const again = `${place.here}${search}${search === '' ? '?' : '&'}done=${name}`
    if (!once) return sendTo(ctx, 303, to ?? again)
    return await answer(visit, place, deps, { once })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await tell({ status: error.code === 'forbidden' ? 'denied' : 'error', error: error.message })
    if (error.code === 'not_found') throw error
    const fault = messages[languageOf(ctx)].fault(error.message)
    return answer(
      { ...visit, detail: error.data },
      place,
      deps,
      { fault, failed: name },
      { invalid: 400, conflict: 409, forbidden: 403, unavailable: 503 }[error.code],
    )
  }
}

/** A page, and the path at which this one of it stands. */
interface Place {
  readonly page: OwnPage
  readonly here: string
}

/** The page, after a form or before any. */
async function answer(
  visit: Visit,
  { page, here }: Place,
  deps: OwnPageDeps,
  state: { done?: string; once?: object; fault?: string; failed?: string },
  status = 200,
): Promise<void> {
  const { ctx } = visit
  // A form may have changed who is here, or what they chose.
  const signed = ctx.state['signed'] as SignedIn
  if (page.script) allowScript(ctx)
  const view = await page.show({ ...visit, ...signed })
  const csrf = formToken(signed.secret, purposeOf(page))
  const blank = { done: '', once: {}, fault: '', failed: '' }
  const place = { page: here, search: searchOf(ctx), csrf }
  answerPage(ctx, status, deps.render(ctx, page.view, { ...blank, ...state, ...view, ...place }))
}

/** What the page is about beside its path: forms are sent with it, and lead back to it. */
function searchOf(ctx: Context): string {
  const query = new URLSearchParams(ctx.querystring)
  query.delete('done')
  return query.size === 0 ? '' : `?${query.toString()}`
}

function requireForThem(ctx: Context, { isFor }: OwnPage, { user }: SignedIn): void {
  if (isFor?.(user) ?? true) return
  // What is at no address greets nobody.
  delete ctx.state['signed']
  throw new AppError('not_found', 'nothing is at this address')
}

function toSignIn(ctx: Context, here: string): void {
  sendTo(ctx, 303, `${paths.signIn}?next=${encodeURIComponent(here + searchOf(ctx))}`)
}

function purposeOf({ path }: OwnPage): string {
  return `page ${path}`
}
