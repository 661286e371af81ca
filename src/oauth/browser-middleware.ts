/** What the sign-in and consent pages need of a browser: its session, forms bound to it, and strict headers. */
import type { Context, Middleware } from 'koa'
import { AppError } from '../core/errors.ts'
import { hmac, randomSecret, sameText } from '../core/secrets.ts'
import type { NewSession, Sessions, SignedIn } from '../users/sessions.ts'
import { admit, Gone } from '../core/request-body.ts'
import { asOAuthError, readForm } from './http-middleware.ts'
import { OAuthError, type Params } from './protocol.ts'

/** What is needed to know a browser again. */
export interface BrowserDeps {
  readonly sessions: Sessions
  readonly publicUrl: () => string
}

/** Renders the page that shows a fault. */
export type FaultPage = (ctx: Context, fault: { readonly title: string; readonly message: string }) => string

const lockedDown =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** A page: HTML under a strict policy, with faults shown as a page too. */
export function pageEndpoint(fault: FaultPage, handle: (ctx: Context) => Promise<void>): Middleware {
  return async (ctx) => {
    pageHeaders(ctx, "'self'")
    try {
      await handle(ctx)
    } catch (error) {
      const known = error instanceof AppError ? error : asOAuthError(error)
      if (!known) throw error
      const oauth = asOAuthError(error)
      ctx.status = error instanceof AppError ? statusOf(error) : (oauth?.status ?? 400)
      if (oauth) ctx.set(oauth.headers)
      answerPage(ctx, ctx.status, fault(ctx, { title: titleOf(ctx.status), message: known.message }))
    }
  }
}

/** The parameters of a form of a page; OAuthError `invalid_request` when it is something else. */
export function readPageForm(ctx: Context, limit?: number): Promise<Params> {
  return readForm(ctx, limit, pageText)
}

// One for each of the few limits: making one costs as much as reading a form.
const readers = new Map<number, Middleware>()

async function pageText(ctx: Context, limit: number): Promise<string> {
  let reader = readers.get(limit)
  if (!reader) {
    // When the first form comes: its 160 files are a tenth of a start.
    const { koaBody } = await import('koa-body')
    reader = koaBody({ json: false, urlencoded: false, textTypes: ['*/*'], textLimit: limit })
    readers.set(limit, reader)
  }
  try {
    await reader(ctx, () => Promise.resolve())
  } catch (cause) {
    if (!ctx.req.complete && ctx.req.destroyed) throw new Gone()
    ctx.set('Connection', 'close')
    const isLarge = (cause as { status?: unknown }).status === 413
    throw new OAuthError(
      'invalid_request',
      isLarge ? `the body is larger than ${limit} bytes` : 'the body cannot be read',
      { status: isLarge ? 413 : 400, cause },
    )
  }
  admit(ctx)
  const text: unknown = ctx.request.body ?? ''
  // What is not UTF-8 was decoded to replacement characters.
  if (typeof text !== 'string' || text.includes('\ufffd'))
    throw new OAuthError('invalid_request', 'the body is not UTF-8')
  return text
}

function statusOf(error: AppError): number {
  return { not_found: 404, forbidden: 403, invalid: 400, conflict: 409, unavailable: 503 }[error.code]
}

function titleOf(status: number): string {
  if (status === 403) return 'Not allowed'
  if (status === 404) return 'Not found'
  if (status === 429) return 'Too many requests'
  return 'This cannot go on'
}

/**
 * The headers of every page. Browsers apply `form-action` to where a form's answer redirects, so a form
 * that ends at a client needs the client's scheme in it. There is no Cross-Origin-Opener-Policy: it would cut
 * clients that open us in a popup off from the answer.
 */
export function pageHeaders(ctx: Context, formAction: string): void {
  ctx.set({
    'Content-Security-Policy': `${lockedDown}; form-action ${formAction}`,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cache-Control': 'no-store',
  })
}

/** Lets a page of ours run our own script, for what no form can do. */
export function allowScript(ctx: Context): void {
  const policy = String(ctx.response.headers['content-security-policy'])
  ctx.set('Content-Security-Policy', `${policy}; script-src 'self'`)
}

/** The `form-action` of a page whose form may end at this redirect URI. */
export function formActionFor(redirectUri: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(redirectUri)?.[0] ?? ''
  return [...new Set(["'self'", 'https:', scheme.toLowerCase()])].filter((source) => source !== '').join(' ')
}

/** Answers a page. */
export function answerPage(ctx: Context, status: number, html: string): void {
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = html
}

/** Sends the browser elsewhere; the URL goes out exactly as it is. */
export function sendTo(ctx: Context, status: 302 | 303, url: string): void {
  ctx.status = status
  ctx.set('Location', url)
  ctx.set('Cache-Control', 'no-store')
  ctx.body = null
  ctx.status = status
}

/** Who is signed in at this browser. */
export async function signedIn(ctx: Context, deps: BrowserDeps): Promise<SignedIn | undefined> {
  // Kept for the layout, which greets them in their language.
  return (ctx.state['signed'] = await deps.sessions.find(ctx.cookies.get(sessionCookie(deps))))
}

/** Signs this browser in: gives it a session that it did not have before. */
export async function openSession(
  ctx: Context,
  deps: BrowserDeps,
  session: Omit<NewSession, 'agent'>,
): Promise<void> {
  const old = ctx.cookies.get(sessionCookie(deps))
  if (old !== undefined) await deps.sessions.close(old)
  const secret = await deps.sessions.open({ ...session, agent: ctx.get('User-Agent') })
  setCookie(ctx, deps, sessionCookie(deps), secret)
  if (session.pending === undefined) ctx.state['signed'] = await deps.sessions.find(secret)
}

/** Who has proved a password at this browser, and has to prove more. */
export async function pendingSession(ctx: Context, deps: BrowserDeps): Promise<SignedIn | undefined> {
  return deps.sessions.findPending(ctx.cookies.get(sessionCookie(deps)))
}

/** Signs this browser out. */
export async function closeSession(ctx: Context, deps: BrowserDeps): Promise<void> {
  const secret = ctx.cookies.get(sessionCookie(deps))
  if (secret !== undefined) await deps.sessions.close(secret)
  setCookie(ctx, deps, sessionCookie(deps), '', 'Max-Age=0')
}

/** A secret of a browser that nobody is signed in at, for the sign-in form; made when there is none. */
export function visitorSecret(ctx: Context, deps: BrowserDeps): string {
  const known = knownVisitor(ctx, deps)
  if (known !== undefined) return known
  const secret = randomSecret('ac_vs_')
  setCookie(ctx, deps, visitorCookie(deps), secret)
  return secret
}

/** The same, when there is one. */
export function knownVisitor(ctx: Context, deps: BrowserDeps): string | undefined {
  const secret = ctx.cookies.get(visitorCookie(deps))
  return secret?.startsWith('ac_vs_') && secret.length === 49 ? secret : undefined
}

function sessionCookie(deps: BrowserDeps): string {
  return `${cookiePrefix(deps)}assistant_core_session`
}

function visitorCookie(deps: BrowserDeps): string {
  return `${cookiePrefix(deps)}assistant_core_visitor`
}

function cookiePrefix(deps: BrowserDeps): string {
  return deps.publicUrl().startsWith('https:') ? '__Host-' : ''
}

function setCookie(ctx: Context, deps: BrowserDeps, name: string, value: string, more?: string): void {
  // Lax and not Strict: an authorization request arrives from the client's site.
  const secure = deps.publicUrl().startsWith('https:') ? ['Secure'] : []
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax', ...secure, ...(more ? [more] : [])]
  ctx.append('Set-Cookie', parts.join('; '))
}

/** What a form carries so that only the browser which got it can send it, and only for this purpose. */
export function formToken(secret: string, purpose: string): string {
  return hmac(secret, `form ${purpose}`)
}

/** Refuses a form that another site, browser or purpose sent. AppError `forbidden`. */
export function requireOwnForm(
  ctx: Context,
  deps: BrowserDeps,
  form: { readonly secret: string | undefined; readonly purpose: string; readonly token: string | undefined },
): void {
  requireOwnSite(ctx, deps)
  const { secret, purpose, token } = form
  if (secret === undefined || token === undefined || !sameText(token, formToken(secret, purpose))) {
    throw new AppError(
      'forbidden',
      'this form was not made for this browser, or is too old; please start again',
    )
  }
}

function requireOwnSite(ctx: Context, deps: BrowserDeps): void {
  const site = ctx.get('Sec-Fetch-Site')
  const origin = ctx.get('Origin')
  // Under `no-referrer` browsers send Origin: null with our own forms; then Sec-Fetch-Site and the token decide.
  const foreign = origin !== '' && origin !== 'null' && origin !== deps.publicUrl()
  if ((site !== '' && site !== 'same-origin') || foreign) {
    throw new AppError('forbidden', 'this form was sent from another site')
  }
}
