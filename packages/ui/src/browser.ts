/** Pages and browsers: strict headers, cookies, and forms that only the browser can send that got them. */
import type { Context } from 'koa'
import type { Exchange } from '#front/exchange.ts'
import { AppError } from '#leaf/errors.ts'
import { hmac, sameText } from '#leaf/secrets.ts'
import type { Params } from './requests.ts'
export * from './page-form.ts'
export * from './page-streams.ts'

/** A request of a browser for a page: a Koa context is one, and so is the bare one of an authorization request. */
export interface PageExchange extends Exchange {
  readonly querystring: string
  /** Says that the answer depends on these headers of the request. */
  vary(names: string): void
  acceptsLanguages(...languages: string[]): string | false
  acceptsEncodings(...encodings: string[]): string | false
}

/** The address at which browsers know us. */
interface Published {
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

/**
 * Returns the value of a cookie of ours, the first of that name (RFC 6265 §5.4). Only plain spaces are left out: with any other in
 * front, browsers take a name for one without the prefix `__Host-`, which other hosts of the domain may set.
 */
export function cookieOf(ctx: Exchange, at: Published, name: string): string | undefined {
  const all = ctx.get('Cookie').split(/; */)
  const begin = `${cookiePrefix(at)}${name}=`
  return all.find((pair) => pair.startsWith(begin))?.slice(begin.length)
}

/** Gives the browser a cookie that no script and no other site can read. */
export function setCookie(ctx: Context, at: Published, name: string, value: string, more?: string): void {
  // Lax, not Strict: an authorization request arrives from the client's site.
  const all = [`${cookiePrefix(at)}${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax']
  const parts = [...all, ...(isSecure(at) ? ['Secure'] : []), ...(more ? [more] : [])]
  ctx.append('Set-Cookie', parts.join('; '))
}

const isSecure = ({ publicUrl }: Published): boolean => publicUrl().startsWith('https:')
const cookiePrefix = (at: Published): string => (isSecure(at) ? '__Host-' : '')

/** Returns the token of a form, so that only the browser that got it can send it, and only for this purpose. */
export function formToken(secret: string, purpose: string): string {
  return hmac(secret, `form ${purpose}`)
}

/** Refuses a form that another site or browser sent, or that was made for another purpose. AppError `forbidden`. */
export function requireOwnForm(
  ctx: Exchange,
  at: Published,
  {
    secret,
    purpose,
    form,
  }: { readonly secret: string | undefined; readonly purpose: string; readonly form: Params | undefined },
): void {
  requireOwnSite(ctx, at)
  const token = form?.get('csrf')
  if (secret === undefined || token === undefined || !sameText(token, formToken(secret, purpose))) {
    throw new AppError(
      'forbidden',
      'this form was not made for this browser, or is too old; please start again',
    )
  }
}

function requireOwnSite(ctx: Exchange, { publicUrl }: Published): void {
  const site = ctx.get('Sec-Fetch-Site')
  const origin = ctx.get('Origin')
  // Under `no-referrer` browsers send Origin: null with our own forms; then Sec-Fetch-Site and the token decide.
  const foreign = origin !== '' && origin !== 'null' && origin !== publicUrl()
  if ((site !== '' && site !== 'same-origin') || foreign) {
    throw new AppError('forbidden', 'this form was sent from another site')
  }
}
