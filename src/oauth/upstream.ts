/** Signing in with the company's OpenID provider (`login.oidc`), mapped to our users by verified e-mail address. */
import type { Configuration, IDToken } from 'openid-client'
import type { Clock } from '#leaf/clock.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { readSecretFile, type SecretPath } from '#leaf/secret-files.ts'
import { hmac, randomSecret, sha256 } from '#leaf/secrets.ts'
import type { Settings } from '../core/settings.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import { readWithin } from '#outside/guarded-fetch.ts'

type OidcSettings = NonNullable<Settings['login']['oidc']>

/** A sign-in that is under way at the provider. */
interface Journey extends Stored {
  /** The page to which the browser goes afterwards. */
  readonly next: string
  readonly expiresAt: number
}

/** The person as the provider identifies them. */
export interface UpstreamIdentity {
  /** The address as the provider signed it, in lower case: to every provider of mail, letters of either case are the same. */
  readonly email: string
  /** The issuer; with `subject` it names the person, whatever address it gives them. */
  readonly issuer: string
  readonly subject: string
  readonly next: string
}

const journeyLife = 10 * 60_000
const configurationLife = 3_600_000
/** The most bytes of any answer of a provider, its key set included. */
const mostBytes = 65_536
/** Milliseconds by which the provider's clock may differ from ours. */
const clockTolerance = 300_000

interface OpenIdProviderDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: () => Settings
  readonly publicUrl: () => string
  /** The path at which the provider sends the browser back. */
  readonly callback: string
  readonly log: Log
  readonly secretPath: SecretPath
}

/** The company's OpenID provider. */
export class OpenIdProvider {
  readonly #deps: OpenIdProviderDeps
  readonly #journeys: Collection<Journey>
  #known: { key: string; until: number; configuration: Promise<Configuration> } | undefined

  constructor(deps: OpenIdProviderDeps) {
    this.#deps = deps
    this.#journeys = deps.store.collection<Journey>({ name: 'oauth.upstream', expires: 'expiresAt' })
  }

  /** Returns the URL to send the browser to. The proof that the same browser comes back derives from the visitor's secret. */
  async begin(visitor: string, next: string): Promise<string> {
    const client = await import('openid-client')
    const { configuration, oidc } = await this.#configuration()
    const state = randomSecret('')
    await this.#journeys.insert({ id: sha256(state), next, expiresAt: this.#deps.clock.now() + journeyLife })
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri(),
      scope: oidc.scopes ?? 'openid email profile',
      state,
      nonce: hmac(visitor, `nonce ${state}`),
      code_challenge: await client.calculatePKCECodeChallenge(hmac(visitor, `verifier ${state}`)),
      code_challenge_method: 'S256',
    })
    return url.href
  }

  /** Takes the browser back and identifies the person. AppError `forbidden` when the provider does not vouch for it. */
  async finish(visitor: string, query: string): Promise<UpstreamIdentity> {
    const state = new URLSearchParams(query).get('state') ?? ''
    const journey = await this.#journeys.get(sha256(state))
    if (!journey || !(await this.#journeys.delete(journey.id)))
      throw refused('the sign-in took too long, or was already used')
    const begunAt = journey.expiresAt - journeyLife
    return { ...(await this.#identityOf(visitor, { state, begunAt }, query)), next: journey.next }
  }

  async #identityOf(
    visitor: string,
    { state, begunAt }: { readonly state: string; readonly begunAt: number },
    query: string,
  ): Promise<Omit<UpstreamIdentity, 'next'>> {
    const client = await import('openid-client')
    const { configuration, oidc } = await this.#configuration()
    try {
      const tokens = await client.authorizationCodeGrant(
        configuration,
        new URL(`${this.#redirectUri()}?${query}`),
        {
          expectedState: state,
          expectedNonce: hmac(visitor, `nonce ${state}`),
          pkceCodeVerifier: hmac(visitor, `verifier ${state}`),
          idTokenExpected: true,
        },
      )
      const claims = tokens.claims()!
      const fault = faultOf(claims, { client: oidc.client_id, begunAt, now: this.#deps.clock.now() })
      if (fault !== undefined) throw new Error(fault)
      const told =
        claims['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
          ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
          : claims
      const { email, email_verified: verified } = told
      if (typeof email !== 'string' || verified !== true)
        throw refused('your company account has no verified e-mail address')
      // For example a Kelvin sign, whose lower case is the k of somebody else's address.
      if (email !== email.normalize('NFC'))
        throw refused('your company account does not write its e-mail address plainly')
      return { email: email.toLowerCase(), issuer: claims.iss, subject: claims.sub }
    } catch (error) {
      if (error instanceof AppError) throw error
      const reason = reasonOf(error)
      this.#deps.log.warn('sign-in with the OpenID provider failed', { reason })
      throw refused('your company account was not accepted', new Error(reason, { cause: error }))
    }
  }

  #redirectUri(): string {
    return this.#deps.publicUrl() + this.#deps.callback
  }

  async #configuration(): Promise<{ configuration: Configuration; oidc: OidcSettings }> {
    const { oidc } = this.#deps.settings().login
    if (oidc === null) throw new AppError('not_found', 'there is no company sign-in here')
    const key = JSON.stringify(oidc)
    if (this.#known?.key !== key || this.#known.until < this.#deps.clock.now()) {
      this.#known = {
        key,
        until: this.#deps.clock.now() + configurationLife,
        configuration: this.#discover(oidc),
      }
    }
    try {
      return { configuration: await this.#known.configuration, oidc }
    } catch (cause) {
      this.#known = undefined
      this.#deps.log.error('the OpenID provider cannot be reached', {
        issuer: oidc.issuer,
        reason: reasonOf(cause),
      })
      throw new AppError('unavailable', 'the company sign-in cannot be reached now; please try again later', {
        cause,
      })
    }
  }

  async #discover(oidc: OidcSettings): Promise<Configuration> {
    const client = await import('openid-client')
    const path = this.#deps.secretPath(oidc.client_secret_file)
    const secret = await readSecretFile(path, 'login.oidc.client_secret_file')
    // A provider may be without TLS only on this machine.
    const local = /^http:\/\/(localhost|127\.0\.0\.1)(:\d+)?(\/|$)/.test(oidc.issuer)
    return client.discovery(
      new URL(oidc.issuer),
      oidc.client_id,
      undefined,
      client.ClientSecretPost(secret),
      {
        timeout: 10,
        [client.customFetch]: fetchWithin,
        // Over TLS this is optional (OpenID Connect Core §3.1.3.7), but then whoever looks into TLS on the way signs anybody in.
        execute: [client.enableNonRepudiationChecks, ...(local ? [client.allowInsecureRequests] : [])],
      },
    )
  }
}

/** Does a `fetch`, and gives the answer up as soon as it is more than any provider has to say. */
async function fetchWithin(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init)
  return new Response(answer.body && (await readWithin(answer.body, mostBytes)), answer)
}

/** Checks what the library leaves to us of OpenID Connect Core §3.1.3.7: the token's client, and that it is of this sign-in. */
function faultOf(
  { azp, iat }: IDToken,
  { client, begunAt, now }: { readonly client: string; readonly begunAt: number; readonly now: number },
): string | undefined {
  if (azp !== undefined && azp !== client) return 'the ID token is for another client (azp)'
  const issued = iat * 1000
  return issued < begunAt - clockTolerance || issued > now + clockTolerance
    ? 'the ID token was not issued during this sign-in (iat), or a clock is wrong'
    : undefined
}

/** Returns the reason, with the causes behind a "something went wrong". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error ? `${messageOf(error)}: ${reasonOf(cause)}` : messageOf(error)
}

function refused(why: string, cause?: unknown): AppError {
  return new AppError('forbidden', why, cause === undefined ? {} : { cause })
}
