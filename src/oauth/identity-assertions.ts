/**
 * Identity assertions (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant): the company's identity provider signs
 * one when it lets one of its users use this server through one client, without a sign-in and consent here.
 */
import { createLocalJWKSet, errors, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose'
import type { Clock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import type { Settings } from '../core/settings.ts'
import { assertionAlgorithms, type Assertions, claimsIn } from './clients/assertions.ts'
import type { GuardedFetch } from '#outside/guarded-fetch.ts'
import { meansResource, resourceOf } from './urls.ts'

type Provider = Settings['oauth']['identity_assertions'][number]

/** The verified content of an assertion. */
export interface Identity {
  /** The e-mail address, or the claim by which the site names a user; to be found among the users as it is. */
  readonly user: string
  readonly issuer: string
  /** The issuer's name for the person (`sub`), whatever address it gives them. */
  readonly subject: string
  readonly scope: string | undefined
  readonly authTime?: number
}

interface KeySet {
  readonly keys: JSONWebKeySet
  readonly fetchedAt: number
}

const mostLifeSeconds = 600
const keysLife = 3_600_000
/** Milliseconds between two fetches of the keys: an unknown key makes us look again, but not at every request. */
const leastBetween = 60_000

interface IdentityProvidersDeps {
  readonly clock: Clock
  readonly settings: () => Settings
  readonly publicUrl: () => string
  readonly assertions: Assertions
  readonly fetch: GuardedFetch
}

/** The identity providers that the site trusts. */
export class IdentityProviders {
  readonly #deps: IdentityProvidersDeps
  readonly #keySets = new Map<string, KeySet>()

  constructor(deps: IdentityProvidersDeps) {
    this.#deps = deps
  }

  /** Returns the person named by an assertion that was made for this client, or the reason why it counts for nothing. */
  async identify(assertion: string, client: string): Promise<Identity | { readonly fault: string }> {
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(assertion) || assertion.length > 16_384)
      return { fault: 'the assertion is not a compact JWT' }
    const { iss: issuer } = claimsIn(assertion)
    const provider = this.#deps.settings().oauth.identity_assertions.find((known) => known.issuer === issuer)
    if (!provider) return { fault: 'the issuer of the assertion is not one that this server trusts' }
    if (!provider.clients.includes(client))
      return { fault: 'the client may not bring assertions of this issuer' }
    try {
      const claims = await this.#verified(assertion, provider)
      const fault = this.#claimFault(claims, client)
      if (fault !== undefined) return { fault }
      const user = userOf(claims, provider)
      if (typeof user !== 'string') return user
      const spent = await this.#deps.assertions.useOnce(`${provider.issuer} ${client}`, claims)
      if (spent !== undefined) return { fault: spent }
      const { auth_time: authTime, scope } = claims
      return {
        user,
        issuer: provider.issuer,
        subject: claims.sub!,
        scope: scope as string | undefined,
        ...(typeof authTime === 'number' && { authTime: authTime * 1000 }),
      }
    } catch (error) {
      return {
        fault:
          error instanceof errors.JOSEError
            ? `the assertion is not valid: ${error.code}`
            : `the keys of the assertion's issuer cannot be had: ${messageOf(error)}`,
      }
    }
  }

  async #verified(assertion: string, provider: Provider): Promise<JWTPayload> {
    const verify = async (again: boolean): Promise<JWTPayload> => {
      const keys = await this.#keysOf(provider, again)
      const { payload } = await jwtVerify(assertion, createLocalJWKSet(keys), {
        algorithms: assertionAlgorithms,
        typ: 'oauth-id-jag+jwt',
        issuer: provider.issuer,
        requiredClaims: ['sub', 'aud', 'client_id', 'jti', 'exp', 'iat'],
        clockTolerance: 30,
        maxTokenAge: mostLifeSeconds,
        currentDate: new Date(this.#deps.clock.now()),
      })
      return payload
    }
    try {
      return await verify(false)
    } catch (error) {
      // Providers change their keys without notice.
      if (error instanceof errors.JWKSNoMatchingKey) return verify(true)
      throw error
    }
  }

  #claimFault(claims: JWTPayload, client: string): string | undefined {
    const { aud, client_id: id, resource, exp = 0, jti, sub, scope } = claims
    const audience = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
    if (audience !== this.#deps.publicUrl()) return 'the assertion is for another authorization server'
    if (id !== client) return 'the assertion was made for another client'
    const own = resourceOf(this.#deps.publicUrl())
    const named = Array.isArray(resource) ? resource : resource === undefined ? [] : [resource]
    if (!named.every((one) => typeof one === 'string' && meansResource(one, own)))
      return 'the assertion is for another resource'
    if (typeof jti !== 'string' || jti === '') return 'the jti of the assertion is not a text'
    if (typeof sub !== 'string' || sub === '') return 'the sub of the assertion is not a text'
    // A scope that is not a text, read as none, would give everything.
    if (!['undefined', 'string'].includes(typeof scope)) return 'the scope of the assertion is not a text'
    return exp - this.#deps.clock.now() / 1000 > mostLifeSeconds
      ? `the assertion lives longer than ${mostLifeSeconds} seconds`
      : undefined
  }

  async #keysOf({ issuer, jwks_uri: given }: Provider, again: boolean): Promise<JSONWebKeySet> {
    const known = this.#keySets.get(issuer)
    const age = known ? this.#deps.clock.now() - known.fetchedAt : Infinity
    if (known && (again ? age < leastBetween : age < keysLife)) return known.keys
    const uri = given ?? (await this.#discover(issuer))
    const { body } = await this.#deps.fetch(uri)
    const keys = body as JSONWebKeySet
    this.#keySets.set(issuer, { keys, fetchedAt: this.#deps.clock.now() })
    return keys
  }

  async #discover(issuer: string): Promise<string> {
    const { body } = await this.#deps.fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const { issuer: named, jwks_uri: uri } = (body ?? {}) as Record<string, unknown>
    // OpenID Connect Discovery §4.3 demands the same issuer.
    if (named !== issuer) throw new Error('its metadata names another issuer')
    if (typeof uri !== 'string') throw new Error('its metadata names no key set')
    return uri
  }
}

/** Returns the user that the provider vouches for: by a verified address, or by the claim that the site chose. */
function userOf(claims: JWTPayload, { claim }: Provider): string | { readonly fault: string } {
  const value = claims[claim ?? 'email']
  if (typeof value !== 'string' || value === '') return { fault: `the assertion has no ${claim ?? 'email'}` }
  if (claim === undefined && claims['email_verified'] !== true)
    return { fault: 'the e-mail address of the assertion is not verified' }
  // For example a Kelvin sign, whose lower case is the k of somebody else's address.
  if (value !== value.normalize('NFC')) return { fault: 'the assertion does not write its user plainly' }
  // A `sub` in other letters may mean another person (OpenID Connect Core §2). Addresses and names differ in more.
  return claim === 'sub' ? value : value.toLowerCase()
}
