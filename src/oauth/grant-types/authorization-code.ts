/** The authorization code grant (RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 8707 §2.2, specification §4.3). */
import { randomId } from '#leaf/secrets.ts'
import type { Transaction } from '#state/store.ts'
import { isVerifier, verifierMatches } from '../tokens/pkce.ts'
import { type OAuthErrorCode, required } from '../protocol.ts'
import type { Params } from '#ui/requests.ts'
import type { Code } from '../records.ts'
import { meansResource } from '../urls.ts'
import { keepClientIn, refusal } from './grant-type.ts'
import type { Exchanged, GrantDeps, GrantRequest, GrantType } from './grant-type.ts'

type Outcome =
  | { readonly issued: Exchanged; readonly code: Code }
  | { readonly refused: string; readonly as?: OAuthErrorCode; readonly code?: Code; readonly reused?: true }

/** Exchanges a code, once. */
export const authorizationCode: GrantType = {
  name: 'authorization_code',
  async exchange(request, deps) {
    const text = required(request.params, 'code')
    required(request.params, 'redirect_uri')
    deps.audit.requireWritable()
    const outcome = await deps.store.transaction(async (tx) => redeem(tx, text, request, deps))
    if ('issued' in outcome) {
      deps.trace.step(outcome.code.attempt, 'tokens issued')
      return outcome.issued
    }
    if (outcome.code) deps.trace.fail(outcome.code.attempt, 'token request', outcome.refused)
    if (outcome.reused) await deps.tokens.revoke({ family: outcome.code?.family }, outcome.refused)
    const type = outcome.reused ? 'code.reuse' : 'token.refuse'
    throw await refusal(outcome.refused, request, deps, { user: outcome.code?.user, type, as: outcome.as })
  },
}

/** Checks and changes everything in one transaction: of any number of attempts one wins. */
async function redeem(
  tx: Transaction,
  text: string,
  request: GrantRequest,
  deps: GrantDeps,
): Promise<Outcome> {
  const { params, client, origin } = request
  const code = await deps.codes.findIn(tx, text)
  if (!code) return { refused: 'the code is unknown or has expired' }
  if (code.client !== client.id) return { refused: 'the code was issued to another client' }
  if (code.usedAt !== undefined) {
    // A code that comes twice may be stolen, so the tokens it gave the first time end (RFC 6749 §4.1.2).
    await deps.tokens.revokeIn(tx, { family: code.family }, 'its code was used twice')
    return { refused: 'the code was already used', code, reused: true }
  }
  if (deps.codes.isOver(code)) return { refused: 'the code is unknown or has expired', code }
  const family = randomId()
  // A wrong verifier spends the code as well: whoever guesses has one guess.
  await deps.codes.spendIn(tx, code, family)
  const fault = faultOf(code, params)
  if (fault !== undefined) return { refused: fault, code }
  // The resource must be the authorized one (RFC 8707 §2.2).
  if (!params.resources.every((resource) => meansResource(resource, code.resource)))
    return { refused: 'resource is not the one that was authorized', as: 'invalid_target', code }
  if (!deps.people().find(code.user)?.enabled) return { refused: 'the user is disabled', code }
  if (!(await deps.grants.getIn(tx, code.grant))) return { refused: 'the approval was revoked', code }
  const issued = await deps.tokens.issueIn(
    tx,
    {
      user: code.user,
      client: client.id,
      clientName: client.name,
      scopes: code.scopes,
      ...(code.readOnly && { readOnly: true }),
      resource: code.resource,
      grant: code.grant,
      authTime: code.authTime,
    },
    family,
  )
  await keepClientIn(tx, code.user, request, deps)
  await deps.audit.recordIn(tx, {
    type: 'token.issue',
    status: 'ok',
    user: code.user,
    client: client.id,
    ...origin,
    target: family,
    data: { grant_type: 'authorization_code', scope: code.scopes.join(' '), grant: code.grant },
  })
  return { issued: { ...issued, ...(code.nonce !== undefined && { nonce: code.nonce }) }, code }
}

function faultOf(code: Code, params: Params): string | undefined {
  if (params.get('redirect_uri') !== code.redirectUri)
    return 'redirect_uri is not the one that the code was sent to'
  const verifier = params.get('code_verifier')
  // A verifier without a challenge is a downgrade under way (RFC 9700 §2.1.1).
  if (code.challenge === undefined) {
    return verifier === undefined ? undefined : 'code_verifier was sent but no code_challenge before'
  }
  if (verifier === undefined) return 'code_verifier is required'
  if (!isVerifier(verifier))
    return `code_verifier must have 43 to 128 letters, digits and any of -._~ (RFC 7636 §4.1); this one has ${verifier.length} characters`
  return verifierMatches(verifier, code.challenge)
    ? undefined
    : 'code_verifier does not match the code_challenge'
}
