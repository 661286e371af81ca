/** The user's consent: what the page shows, what is approved, and when it was approved before. */
import type { Context } from 'koa'
import type { Clock } from '../core/clock.ts'
import type { Powers, PowersOf } from '../core/powers.ts'
import type { SignedIn } from '../users/sessions.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { answerPage, formActionFor, formToken, pageHeaders } from './browser-middleware.ts'
import { mixesScripts } from './client-metadata.ts'
import type { Approval, Grants } from './grants.ts'
import type { Grant } from './records.ts'
import { isLoopback } from './redirect-uris.ts'
import { identityOf } from './scopes.ts'
import { paths } from './urls.ts'

/** What the consent page shows. */
export interface ConsentView {
  readonly action: string
  readonly request: string
  readonly time: string
  readonly csrf: string
  readonly clientName: string
  /** Where the client's document is; such a client is vouched for by that site. */
  readonly clientHost: string | undefined
  readonly redirectHost: string
  /** The code goes to a program on the user's own machine, which anything there could be. */
  readonly local: boolean
  readonly unverified: boolean
  /** A word of the name mixes alphabets, as a name does that wants to look like another. */
  readonly mixedScripts: boolean
  /** As it asked; they restrict no tool (specification §5.6), so `powers` says what it may do. */
  readonly scopes: readonly string[]
  /** What it is told of the user. */
  readonly identity: ReturnType<typeof identityOf>
  /** What it may do, today and with the user's roles; undefined when the user may not use the service. */
  readonly powers: Powers | undefined
  readonly user: string
}

/** What consent works with. */
export interface ConsentDeps {
  readonly clock: Clock
  readonly grants: Grants
  readonly powers: PowersOf
  readonly pages: { readonly consent: (ctx: Context, view: ConsentView) => string }
}

/** The browser says that no other site led it here; one that says nothing does not count. */
export function isOwnVisit(ctx: Context): boolean {
  return ['none', 'same-origin'].includes(ctx.get('Sec-Fetch-Site'))
}

/** What is asked for, as narrow as the user wants it. */
export type NarrowedRequest = AuthorizationRequest & { readonly readOnly?: true }

/** Only what narrows, to be spread into what is kept. */
export function narrowed({ readOnly }: { readonly readOnly?: boolean }): Pick<NarrowedRequest, 'readOnly'> {
  return readOnly ? { readOnly: true } : {}
}

/**
 * What the user approved before, when that is the same and spares them the page. Never when another site sent them, and
 * never for an app on the user's machine that anyone there can pretend to be (RFC 8252 §8.6).
 */
export async function rememberedGrant(
  ctx: Context,
  request: AuthorizationRequest,
  signed: SignedIn,
  deps: ConsentDeps,
): Promise<Grant | undefined> {
  if (request.prompts.includes('consent') || !isOwnVisit(ctx)) return undefined
  if (request.client.authMethod === 'none' && !request.redirectUri.startsWith('https:')) return undefined
  return deps.grants.covering(approvalOf(request, signed))
}

/** What the user approves by this request. */
export function approvalOf(request: NarrowedRequest, signed: SignedIn): Approval {
  const { client, redirectHost, scopes } = request
  return {
    user: signed.user.id,
    client: client.id,
    clientName: client.name,
    redirectHost,
    scopes,
    ...narrowed(request),
  }
}

/** The consent page, with a form that only this browser can send, for this request only. */
export function showConsent(
  ctx: Context,
  request: AuthorizationRequest,
  signed: SignedIn,
  deps: ConsentDeps,
): void {
  const { client, redirectUri } = request
  const time = String(deps.clock.now())
  pageHeaders(ctx, formActionFor(redirectUri))
  const page = deps.pages.consent(ctx, {
    action: paths.authorize,
    request: ctx.querystring,
    time,
    csrf: formToken(signed.secret, consentPurpose(ctx.querystring, time)),
    clientName: client.name,
    clientHost: client.source === 'document' ? new URL(client.id).host : undefined,
    redirectHost: request.redirectHost,
    local: isLoopback(redirectUri) || !/^https?:/i.test(redirectUri),
    unverified: client.source === 'dynamic',
    mixedScripts: mixesScripts(client.name),
    scopes: request.scopes,
    identity: identityOf(request.scopes),
    powers: deps.powers(signed.user.id, client, {}),
    user: signed.user.id,
  })
  answerPage(ctx, 200, page)
}

/** What the consent form of a request is for, as its token is made of. */
export function consentPurpose(query: string, time: string): string {
  return `consent ${time} ${query}`
}
