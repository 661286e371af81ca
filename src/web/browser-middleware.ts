/** Pages and browsers: the session of a browser, forms bound to it, and strict headers. */
import type { Context } from 'koa'
import type { Exchange } from '#front/exchange.ts'
import { AppError } from '#leaf/errors.ts'
import { hmac, randomSecret, sameText } from '#leaf/secrets.ts'
import type { NewSession, Sessions, SignedIn } from '../users/sessions.ts'

/** A request of a browser for a page: a Koa context is one, and so is the bare one of an authorization request. */
export interface PageExchange extends Exchange {
  readonly querystring: string
  /** Says that the answer depends on these headers of the request. */
  vary(names: string): void
  acceptsLanguages(...languages: string[]): string | false
  acceptsEncodings(...encodings: string[]): string | false
}

/** The dependencies for recognizing a browser. */
export interface BrowserDeps {
  readonly sessions: Sessions
  readonly publicUrl: () => string
}

const lockedDown =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/**
 * Sets the headers of every page. Browsers apply `form-action` to where a form's answer redirects, so a form
 * that ends at a client needs the client's scheme in it. There is no Cross-Origin-Opener-Policy: it would cut
 * clients that open us in a popup off from the answer.
 */
export function pageHeaders(ctx: Exchange, formAction: string): void {
  ctx.set('Content-Security-Policy', `${lockedDown}; form-action ${formAction}`)
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.set('X-Content-Type-Options', 'nosniff')
  ctx.set('X-Frame-Options', 'DENY')
  ctx.set('Cache-Control', 'no-store')
}

/** Lets a page of ours run our own script, for what forms cannot do, and that script ask us. */
export function allowScript(ctx: Context): void {
  const policy = String(ctx.response.headers['content-security-policy'])
  ctx.set('Content-Security-Policy', `${policy}; connect-src 'self'; script-src 'self'`)
}

/** Returns the `form-action` of a page whose form may end at this redirect URI. */
export function formActionFor(redirectUri: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(redirectUri)?.[0] ?? ''
  return [...new Set(["'self'", 'https:', scheme.toLowerCase()])].filter((source) => source !== '').join(' ')
}

/** Answers a page. */
export function answerPage(ctx: Exchange, status: number, html: string): void {
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = html
}

/** Redirects the browser; the URL goes out exactly as it is. */
export function sendTo(ctx: Exchange, status: 302 | 303, url: string): void {
  ctx.status = status
  ctx.set('Location', url)
  ctx.set('Cache-Control', 'no-store')
  ctx.body = null
  ctx.status = status
}

/** Returns the user who is signed in at this browser. */
export async function signedIn(ctx: Exchange, deps: BrowserDeps): Promise<SignedIn | undefined> {
  // The layout uses this to greet them in their language.
  return (ctx.state['signed'] = await deps.sessions.find(cookieOf(ctx, sessionCookie(deps))))
}

/** Signs this browser in: gives it a new session. */
export async function openSession(
  ctx: Context,
  deps: BrowserDeps,
  session: Omit<NewSession, 'agent'>,
): Promise<void> {
  const old = cookieOf(ctx, sessionCookie(deps))
  if (old !== undefined) await deps.sessions.close(old)
  const secret = await deps.sessions.open({ ...session, agent: ctx.get('User-Agent') })
  setCookie(ctx, deps, sessionCookie(deps), secret)
  if (session.pending === undefined) ctx.state['signed'] = await deps.sessions.find(secret)
}

/** Returns the user who has proved a password at this browser and has to prove more. */
export async function pendingSession(ctx: Context, deps: BrowserDeps): Promise<SignedIn | undefined> {
  return deps.sessions.findPending(cookieOf(ctx, sessionCookie(deps)))
}

/** Signs this browser out. */
export async function closeSession(ctx: Context, deps: BrowserDeps): Promise<void> {
  const secret = cookieOf(ctx, sessionCookie(deps))
  if (secret !== undefined) await deps.sessions.close(secret)
  setCookie(ctx, deps, sessionCookie(deps), '', 'Max-Age=0')
  // Drafts that the browser kept are for whoever signed out.
  ctx.set('Clear-Site-Data', '"storage"')
}

/** Returns the secret, for the sign-in form, of a browser at which nobody is signed in; makes one when there is none. */
export function visitorSecret(ctx: Context, deps: BrowserDeps): string {
  const known = knownVisitor(ctx, deps)
  if (known !== undefined) return known
  const secret = randomSecret('ac_vs_')
  setCookie(ctx, deps, visitorCookie(deps), secret)
  return secret
}

/** Returns the same secret when there is one. */
export function knownVisitor(ctx: Context, deps: BrowserDeps): string | undefined {
  const secret = cookieOf(ctx, visitorCookie(deps))
  return secret?.startsWith('ac_vs_') && secret.length === 49 ? secret : undefined
}

/**
 * Returns the value of a cookie, the first of that name (RFC 6265 §5.4). Only plain spaces are left out: with any other in front,
 * browsers take a name for one without the prefix `__Host-`, which other hosts of the domain may set.
 */
function cookieOf(ctx: Exchange, name: string): string | undefined {
  const all = ctx.get('Cookie').split(/; */)
  return all.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
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
  // Lax, not Strict: an authorization request arrives from the client's site.
  const secure = deps.publicUrl().startsWith('https:') ? ['Secure'] : []
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax', ...secure, ...(more ? [more] : [])]
  ctx.append('Set-Cookie', parts.join('; '))
}

/** Returns the token of a form, so that only the browser that got it can send it, and only for this purpose. */
export function formToken(secret: string, purpose: string): string {
  return hmac(secret, `form ${purpose}`)
}

/** Refuses a form that another site or browser sent, or that was made for another purpose. AppError `forbidden`. */
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
