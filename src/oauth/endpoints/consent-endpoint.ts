/** The user's consent: the content of the page, the approval, and the approval given before. */
import type { Exchange } from '#front/exchange.ts'
import type { Powers } from '../../core/powers.ts'
import type { SignedIn } from '../../users/accounts.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { answerPage, formActionFor, formToken, type PageExchange, pageHeaders } from '#ui/browser.ts'
import { mixesScripts } from '../clients/client-metadata.ts'
import type { Approval } from '../tokens/grants.ts'
import { originOf } from '#ui/requests.ts'
import type { Grant } from '../records.ts'
import { isLoopback } from '../clients/redirect-uris.ts'
import { type ToldIdentity, identityTold } from '../tokens/id-tokens.ts'
import { paths } from '../urls.ts'
import type { Parts } from '../parts.ts'

/** The content of the consent page. */
export interface ConsentView {
  readonly action: string
  readonly request: string
  readonly time: string
  readonly csrf: string
  readonly clientName: string
  /** The host of the client's document; that site vouches for the client. */
  readonly clientHost: string | undefined
  readonly redirectHost: string
  /** True when the code goes to a program on the user's own machine, which anything there could be. */
  readonly local: boolean
  readonly unverified: boolean
  /** True when a word of the name mixes alphabets, as a name does that wants to look like another. */
  readonly mixedScripts: boolean
  /** The scopes as requested; they restrict no tool (specification §5.6), so `powers` says what the client may do. */
  readonly scopes: readonly string[]
  /** The data of the user that the client is told. */
  readonly identity: ToldIdentity
  /** The client's powers, today and with the user's roles; undefined when the user may not use the service. */
  readonly powers: Powers | undefined
  readonly user: string
}

/** The dependencies of consent. */
export type ConsentDeps = Parts<'clock' | 'grants' | 'powers'>

/** True when the browser says that no other site led it here; one that says nothing does not count. */
export function isOwnVisit(ctx: Exchange): boolean {
  return ['none', 'same-origin'].includes(ctx.get('Sec-Fetch-Site'))
}

/** An authorization request, as narrow as the user wants it. */
export type NarrowedRequest = AuthorizationRequest & { readonly readOnly?: true }

/** Returns only the fields that narrow, to be spread into what is kept. */
export function narrowed({ readOnly }: { readonly readOnly?: boolean }): Pick<NarrowedRequest, 'readOnly'> {
  return readOnly ? { readOnly: true } : {}
}

/**
 * Returns the grant that the user gave before, when it is the same and spares them the page. Never when another site sent
 * them, and never for an app on the user's machine that anyone there can pretend to be (RFC 8252 §8.6).
 */
export async function rememberedGrant(
  ctx: Exchange,
  request: AuthorizationRequest,
  signed: SignedIn,
  deps: ConsentDeps,
): Promise<Grant | undefined> {
  if (request.prompts.includes('consent') || !isOwnVisit(ctx)) return undefined
  if (request.client.authMethod === 'none' && !request.redirectUri.startsWith('https:')) return undefined
  return deps.grants.covering(approvalOf(ctx, request, signed))
}

/** Returns what the user approves by this request. */
export function approvalOf(ctx: Exchange, request: NarrowedRequest, signed: SignedIn): Approval {
  const { client, redirectHost, scopes } = request
  return {
    user: signed.user.id,
    client: client.id,
    clientName: client.name,
    redirectHost,
    scopes,
    ...narrowed(request),
    from: originOf(ctx).address,
  }
}

/** Shows the consent page, with a form that only this browser can send, for this request only. */
export function showConsent(
  ctx: PageExchange,
  request: AuthorizationRequest,
  signed: SignedIn,
  deps: ConsentDeps,
  pages: { readonly consent: (ctx: PageExchange, view: ConsentView) => string },
): void {
  const { client, redirectUri } = request
  const time = String(deps.clock.now())
  pageHeaders(ctx, formActionFor(redirectUri))
  const page = pages.consent(ctx, {
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
    identity: identityTold(signed.user, request.scopes),
    powers: deps.powers(signed.user.id, client, {}),
    user: signed.user.id,
  })
  // As bytes it is sent uncompressed: others wrote some of it, the token of its form is beside that, and it is small.
  answerPage(ctx, 200, page)
  ctx.body = Buffer.from(page)
}

/** Returns the purpose of a request's consent form, from which its token is made. */
export function consentPurpose(query: string, time: string): string {
  return `consent ${time} ${query}`
}
