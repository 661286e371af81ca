/**
 * The authorization endpoint (RFC 6749 §3.1, specification §4.2). One connection is three requests, each checked anew:
 *   GET   client and redirect_uri (faults are shown) → the rest (faults are sent back) → sign-in page or consent page
 *   POST  at the sign-in page, which comes back to the GET
 *   POST  the user's decision → 302 to the client with code, state and iss
 */
import type { Exchange } from '#front/exchange.ts'
import { networkKey } from '#leaf/address.ts'
import { AppError } from '#leaf/errors.ts'
import type { SignedIn } from '../../users/accounts.ts'
import {
  checkRequest,
  findTarget,
  mustSignInAgain,
  type AuthorizationRequest,
  type Target,
} from './authorization-request.ts'
import { type PageExchange, requireOwnForm, sendTo } from '#ui/browser.ts'
import { signedIn, type BrowserDeps } from '../../users/browser-middleware.ts'
import type { Clients } from '../clients/clients.ts'
import {
  approvalOf,
  type ConsentDeps,
  type ConsentView,
  consentPurpose,
  isOwnVisit,
  narrowed,
  type NarrowedRequest,
  rememberedGrant,
  showConsent,
} from './consent-endpoint.ts'
import type { Approval } from '../tokens/grants.ts'
import { asOAuthError, readForm } from '../http-middleware.ts'
import { originOf, type Params } from '#ui/requests.ts'
import { descriptionText, OAuthError } from '../protocol.ts'
import type { Client, Grant } from '../records.ts'
import { withParams } from '../clients/redirect-uris.ts'
import { paths } from '../urls.ts'
import type { Parts } from '../parts.ts'

/** The pages that this endpoint shows. */
export interface AuthorizationPages {
  readonly consent: (ctx: PageExchange, view: ConsentView) => string
  /** The path of the sign-in page. */
  readonly signIn: string
}

/** The dependencies of the authorization endpoint. */
export type AuthorizationDeps = BrowserDeps &
  ConsentDeps &
  Parts<'store' | 'settings' | 'audit' | 'clients' | 'codes' | 'pushed' | 'tokens' | 'limits' | 'trace'>

const whyNarrowed = 'the user narrowed it to reading'
const consentLife = 30 * 60_000

/** Answers GET: checks the request and shows what comes next. */
export function authorizationEndpoint(
  deps: AuthorizationDeps,
  pages: AuthorizationPages,
): (ctx: PageExchange) => Promise<void> {
  return async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    await handleRequest(ctx, deps, ctx.querystring, async (request, attempt) => {
      const signed = await signedIn(ctx, deps)
      if (!signed || mustSignInAgain(request, signed.session.authTime, deps.clock.now())) {
        if (request.prompts.includes('none'))
          throw new OAuthError('login_required', 'the user is not signed in')
        deps.trace.step(attempt, 'sign-in page')
        return sendTo(ctx, 303, `${pages.signIn}?next=${encodeURIComponent(backHere(ctx))}`)
      }
      deps.trace.about(attempt, { user: signed.user.id })
      if (deps.settings().oauth.skip_authorization) return approve(ctx, request, signed, attempt, deps)
      const remembered = await rememberedGrant(ctx, request, signed, deps)
      if (remembered)
        return approve(ctx, { ...request, ...narrowed(remembered) }, signed, attempt, deps, { remembered })
      if (request.prompts.includes('none')) throw new OAuthError('consent_required', 'the user must approve')
      await deps.clients.hold(request.client, signed.user.id)
      deps.trace.step(attempt, 'consent page')
      return showConsent(ctx, request, signed, deps, pages)
    })
  }
}

/** Answers POST: takes the user's decision, from the consent page of the same browser. */
export function decisionEndpoint(deps: AuthorizationDeps): (ctx: Exchange) => Promise<void> {
  return async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    const form = await readForm(ctx)
    const query = form.get('request') ?? ''
    const time = form.get('time') ?? ''
    const signed = await signedIn(ctx, deps)
    const purpose = consentPurpose(query, time)
    requireOwnForm(ctx, deps, { secret: signed?.secret, purpose, form })
    if (!signed || deps.clock.now() - Number(time) > consentLife) {
      throw new AppError('forbidden', 'this form is too old; please start again')
    }
    await handleRequest(ctx, deps, query, async (request, attempt) => {
      const decision = form.get('decision')
      if (decision === 'approve') {
        const readOnly = form.get('reading') === '1'
        return approve(ctx, { ...request, ...narrowed({ readOnly }) }, signed, attempt, deps, {
          form: form.get('csrf'),
        })
      }
      if (decision !== 'deny') throw new AppError('invalid', 'decision must be approve or deny')
      await denied(ctx, request, signed, deps)
      throw new OAuthError('access_denied', 'the user denied the request')
    })
  }
}

async function denied(
  ctx: Exchange,
  { client }: AuthorizationRequest,
  { user }: SignedIn,
  { audit }: AuthorizationDeps,
  why: { readonly error?: string } = {},
): Promise<void> {
  await audit.record({
    type: 'grant.deny',
    status: 'denied',
    user: user.id,
    client: client.id,
    ...originOf(ctx),
    ...why,
  })
}

/** Handles one request. A fault is shown before the target is known, and sent to the target after that. */
async function handleRequest(
  ctx: Exchange,
  deps: AuthorizationDeps,
  query: string,
  next: (request: AuthorizationRequest, attempt: string) => Promise<void>,
): Promise<void> {
  const { params, pushed } = await deps.pushed.read(query)
  const attempt = deps.trace.begin(params)
  const target = await showing(params, attempt, originOf(ctx).address, deps)
  try {
    const request = checkRequest(params, target, deps.settings(), deps.publicUrl())
    deps.trace.step(attempt, 'request accepted')
    await next(pushed ? { ...request, pushed } : request, attempt)
  } catch (error) {
    const fault = error instanceof AppError && error.code !== 'unavailable' ? undefined : asOAuthError(error)
    if (!fault) throw error
    deps.trace.fail(attempt, 'authorization', `${fault.code}: ${fault.message}`)
    sendBack(ctx, target, deps, { error: fault.code, error_description: descriptionText(fault.message) })
  }
}

async function showing(
  params: Params,
  attempt: string,
  address: string,
  deps: AuthorizationDeps,
): Promise<Target> {
  try {
    const target = await findTarget(params, deps.clients, networkKey(address))
    deps.trace.about(attempt, {
      client_name: target.client.name,
      redirect_host: target.redirectHost,
      ...documentStory(target.client, deps.clients),
    })
    return target
  } catch (error) {
    if (error instanceof OAuthError)
      deps.trace.fail(attempt, 'client and redirect_uri', error.detail ?? error.message)
    throw error
  }
}

/** Tells what became of the document by which a client describes itself. */
function documentStory({ id, source }: Client, clients: Clients): { client_document?: string } {
  if (source !== 'document') return {}
  const { why, from = 'what it said when it was last approved' } = clients.lastFetch(id) ?? {}
  return { client_document: why === undefined ? 'fetched' : `not fetched (${why}); instead: ${from}` }
}

/** Sends an answer to the client, with the issuer in errors too (RFC 6749 §4.1.2.1, RFC 9207 §2). */
function sendBack(
  ctx: Exchange,
  target: Target,
  deps: AuthorizationDeps,
  answer: Readonly<Record<string, string>>,
): void {
  sendTo(ctx, 302, withParams(target.redirectUri, { ...answer, state: target.state, iss: deps.publicUrl() }))
}

/** Returns this request's URL for after the sign-in, without asking for another; one from another site stays unremembered. */
function backHere(ctx: PageExchange): string {
  const query = new URLSearchParams(ctx.querystring)
  const prompts = (query.get('prompt') ?? '')
    .split(' ')
    .filter((prompt) => prompt !== '' && prompt !== 'login')
  if (!isOwnVisit(ctx) && !prompts.includes('consent')) prompts.push('consent')
  query.delete('max_age')
  query.delete('prompt')
  if (prompts.length > 0) query.set('prompt', prompts.join(' '))
  return `${paths.authorize}?${query.toString()}`
}

/** Keeps the approval and sends the code, in one transaction: the code is the one thing of value here. */
async function approve(
  ctx: Exchange,
  request: NarrowedRequest,
  signed: SignedIn,
  attempt: string,
  deps: AuthorizationDeps,
  { form, remembered }: { readonly form?: string | undefined; readonly remembered?: Grant } = {},
): Promise<void> {
  deps.audit.requireWritable()
  const { client, challenge, nonce } = request
  // The page has no button for these users; whoever makes the form by hand is told the same.
  if (!deps.powers(signed.user.id, client, {})) {
    await denied(ctx, request, signed, deps, { error: 'the user may not use the service' })
    throw new OAuthError('access_denied', 'assistant access is not enabled for this user')
  }
  const approval = approvalOf(ctx, request, signed)
  const wider = form === undefined ? undefined : await endWider(approval, form, deps)
  const code = await deps.store.transaction(async (tx) => {
    for (const once of [form, request.pushed?.uri])
      if (once !== undefined && !(await deps.codes.spendFormIn(tx, once)))
        throw new AppError('forbidden', 'this was already sent; please start again')
    await deps.clients.approvedIn(tx, client)
    const before =
      (remembered && (await deps.grants.getIn(tx, remembered.id))) ??
      (await deps.grants.beforeIn(tx, approval)) ??
      wider
    if (approval.readOnly && before && !before.readOnly)
      await deps.tokens.revokeIn(tx, { grant: before.id }, whyNarrowed)
    const grant = await deps.grants.approveIn(tx, approval, before)
    await deps.audit.recordIn(tx, {
      type: 'grant.approve',
      status: 'ok',
      user: signed.user.id,
      client: client.id,
      ...originOf(ctx),
      target: grant.id,
      data: {
        name: client.name,
        redirect_host: grant.redirectHost,
        scope: request.scopes.join(' '),
        ...narrowed(request),
      },
    })
    return deps.codes.issueIn(tx, {
      client: client.id,
      user: signed.user.id,
      grant: grant.id,
      redirectUri: request.redirectUri,
      ...(challenge !== undefined && { challenge }),
      scopes: request.scopes,
      ...narrowed(request),
      resource: request.resource,
      ...(nonce !== undefined && { nonce }),
      authTime: signed.session.authTime,
      attempt,
    })
  })
  deps.trace.step(attempt, 'code sent')
  sendBack(ctx, request, deps, { code })
}

/**
 * Ends tokens that a user is about to narrow, as what was issued while more was allowed may do more: before the approval is
 * kept, since they may be very many. Returns the approval that they came of.
 */
async function endWider(
  approval: Approval,
  form: string,
  { store, codes, grants, tokens }: AuthorizationDeps,
): Promise<Grant | undefined> {
  if (!approval.readOnly) return undefined
  const before = await store.transaction(async (tx) =>
    (await codes.isSpentIn(tx, form)) ? undefined : grants.beforeIn(tx, approval),
  )
  if (!before || before.readOnly) return undefined
  await tokens.revoke({ grant: before.id }, whyNarrowed)
  return before
}
