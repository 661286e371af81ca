/** Makes a route of a row of the page table: checks the visitor, and draws the page by its view. */
import type { Router } from '@koa/router'
import type { Context, Middleware } from 'koa'
import type { Principal } from '../core/principal.ts'
import { signedIn } from '../users/browser-middleware.ts'
import type { SignedIn } from '../users/accounts.ts'
import { type OwnPage, type OwnPageDeps, routeDeeds, showOwnPage } from './own-page.ts'
import { pageEndpoint, drawPage } from './page-endpoint.ts'
import type { PageRow } from './pages.ts'
import { admitted, toSignIn } from './session-middleware.ts'

/** The data for the view; nothing where the request is answered already. */
type Shown = Promise<Readonly<Record<string, unknown>> | undefined | void>

/** Answers GET of a page, with arguments by the page's audience. */
export type Showing<Audience extends PageRow['for']> = Audience extends 'anybody'
  ? (ctx: Context) => Shown
  : (ctx: Context, principal: Principal, signed: SignedIn) => Shown

/** Answers a request by itself, such as a submitted form. */
type Acting = (ctx: Context) => Promise<void>

/** A file that pages load, without the frame of a page. */
interface Loaded {
  readonly file: Middleware
}

/** A page that shows something, and takes a form at the same address. */
export interface FormPage<Audience extends PageRow['for']> {
  readonly get: Showing<Audience>
  readonly post: Acting
}

/** Answers GET of a file by itself, for a visitor who is admitted. */
type VisitorFile = (ctx: Context, principal: Principal | undefined, signed: SignedIn) => Promise<void>

type Plain<Audience extends PageRow['for']> = Showing<Audience> | FormPage<Audience>

/** The answers that a page of this row must have. */
export type AnswersOf<Row extends PageRow> = Row['for'] extends 'anybody'
  ? Plain<'anybody'> | Loaded
  : Row['for'] extends 'users' | 'auditors'
    ? Plain<'users'> | OwnPage
    : Row extends { readonly view: string }
      ? OwnPage
      : VisitorFile

/** Routes one page. */
export function routePage(
  router: Router,
  page: PageRow,
  answers: Plain<'anybody'> | Plain<'users'> | Loaded | OwnPage,
  deps: OwnPageDeps,
): void {
  const paths = page.alias === undefined ? [page.path] : [page.path, page.alias]
  if ('file' in answers) return void router.get(paths, answers.file)
  const get = showingOf(answers, page, deps)
  const draw = async (ctx: Context): Promise<void> => {
    const shown = await show(ctx, page, get, deps)
    if (shown) await drawPage(ctx, page, shown, deps)
  }
  router.get(paths, pageEndpoint(deps.render, draw))
  if ('deeds' in answers) routeDeeds(router, { own: answers, page }, deps)
  else if ('post' in answers) router.post(paths, pageEndpoint(deps.render, answers.post))
}

function showingOf(
  answers: Plain<'anybody'> | Plain<'users'> | OwnPage,
  page: PageRow,
  deps: OwnPageDeps,
): Showing<'users'> {
  if (typeof answers === 'function') return answers
  if ('get' in answers) return answers.get
  return (ctx, _, signed) => showOwnPage({ ...signed, ctx }, { own: answers, page }, deps)
}

async function show(ctx: Context, page: PageRow, get: Showing<'users'>, deps: OwnPageDeps): Shown {
  if (page.for === 'anybody') return (get as Showing<'anybody'>)(ctx)
  const signed = await signedIn(ctx, deps)
  if (!signed) return toSignIn(ctx, ctx.path)
  return get(ctx, admitted({ ...signed, ctx }, page, deps)!, signed)
}
