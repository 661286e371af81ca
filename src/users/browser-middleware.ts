/** The session of a browser: who is signed in at it, and the secret of one at which nobody is. */
import type { Context } from 'koa'
import type { Exchange } from '#front/exchange.ts'
import { randomSecret } from '#leaf/secrets.ts'
import { cookieOf, setCookie } from '#ui/browser.ts'
import type { NewSession, Sessions } from '#credentials/sessions.ts'
import type { Account, SignedIn } from './accounts.ts'
import type { User } from './people.ts'

/** The dependencies for recognizing a browser. */
export interface BrowserDeps {
  readonly sessions: Sessions<User, Account>
  readonly publicUrl: () => string
}

const sessionCookie = 'assistant_core_session'
const visitorCookie = 'assistant_core_visitor'

/** Returns the user who is signed in at this browser. */
export async function signedIn(ctx: Exchange, deps: BrowserDeps): Promise<SignedIn | undefined> {
  // The layout uses this to greet them in their language.
  return (ctx.state['signed'] = await deps.sessions.find(cookieOf(ctx, deps, sessionCookie)))
}

/** Signs this browser in: gives it a new session. */
export async function openSession(
  ctx: Context,
  deps: BrowserDeps,
  session: Omit<NewSession, 'agent'>,
): Promise<void> {
  const old = cookieOf(ctx, deps, sessionCookie)
  if (old !== undefined) await deps.sessions.close(old)
  const secret = await deps.sessions.open({ ...session, agent: ctx.get('User-Agent') })
  setCookie(ctx, deps, sessionCookie, secret)
  if (session.pending === undefined) ctx.state['signed'] = await deps.sessions.find(secret)
}

/** Returns the user who has proved a password at this browser and has to prove more. */
export async function pendingSession(ctx: Context, deps: BrowserDeps): Promise<SignedIn | undefined> {
  return deps.sessions.findPending(cookieOf(ctx, deps, sessionCookie))
}

/** Signs this browser out. */
export async function closeSession(ctx: Context, deps: BrowserDeps): Promise<void> {
  const secret = cookieOf(ctx, deps, sessionCookie)
  if (secret !== undefined) await deps.sessions.close(secret)
  setCookie(ctx, deps, sessionCookie, '', 'Max-Age=0')
  // Drafts that the browser kept are for whoever signed out.
  ctx.set('Clear-Site-Data', '"storage"')
}

/** Returns the secret, for the sign-in form, of a browser at which nobody is signed in; makes one when there is none. */
export function visitorSecret(ctx: Context, deps: BrowserDeps): string {
  const known = knownVisitor(ctx, deps)
  if (known !== undefined) return known
  const secret = randomSecret('ac_vs_')
  setCookie(ctx, deps, visitorCookie, secret)
  return secret
}

/** Returns the same secret when there is one. */
export function knownVisitor(ctx: Context, deps: BrowserDeps): string | undefined {
  const secret = cookieOf(ctx, deps, visitorCookie)
  return secret?.startsWith('ac_vs_') && secret.length === 49 ? secret : undefined
}
