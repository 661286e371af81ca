/** Signing in with the company's OpenID provider (`login.oidc`), mapped to our users by verified e-mail address. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Configuration } from 'openid-client'
import type { Clock } from '../core/clock.ts'
import { AppError, messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { hmac, randomSecret, sha256 } from '../core/secrets.ts'
import type { Settings } from '../core/settings.ts'
import type { Collection, Store, Stored } from '../store/store.ts'
import { paths } from './urls.ts'

type OidcSettings = NonNullable<Settings['login']['oidc']>

/** A sign-in under way at the provider. */
interface Journey extends Stored {
  /** Where the browser goes afterwards. */
  readonly next: string
  readonly expiresAt: number
}

/** Who the provider says it is. */
export interface UpstreamIdentity {
  readonly email: string
  readonly next: string
}

const journeyLife = 10 * 60_000
const configurationLife = 3_600_000

interface OpenIdProviderDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: () => Settings
  readonly publicUrl: () => string
  readonly log: Log
  /** What `client_secret_file` is relative to. */
  readonly folder: string
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

  /** Where to send the browser. What proves that it comes back in the same browser follows from its secret. */
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

  /** Takes the browser back. AppError `forbidden` when the provider does not vouch for it. */
  async finish(visitor: string, query: string): Promise<UpstreamIdentity> {
    const state = new URLSearchParams(query).get('state') ?? ''
    const journey = await this.#journeys.get(sha256(state))
    if (!journey || !(await this.#journeys.delete(journey.id)))
      throw refused('the sign-in took too long, or was already used')
    return { email: await this.#emailOf(visitor, state, query), next: journey.next }
  }

  async #emailOf(visitor: string, state: string, query: string): Promise<string> {
    const client = await import('openid-client')
    const { configuration } = await this.#configuration()
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
      const told =
        claims['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
          ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
          : claims
      const { email, email_verified: verified } = told
      if (typeof email !== 'string' || verified !== true)
        throw refused('your company account has no verified e-mail address')
      // Such as a Kelvin sign, of which lower case makes the k of somebody else's address.
      if (email !== email.normalize('NFC'))
        throw refused('your company account does not write its e-mail address plainly')
      return email.toLowerCase()
    } catch (error) {
      if (error instanceof AppError) throw error
      this.#deps.log.warn('sign-in with the OpenID provider failed', { reason: messageOf(error) })
      throw refused('your company account was not accepted', error)
    }
  }

  #redirectUri(): string {
    return this.#deps.publicUrl() + paths.signInUpstreamCallback
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
        reason: messageOf(cause),
      })
      throw new AppError('unavailable', 'the company sign-in cannot be reached now; please try again later', {
        cause,
      })
    }
  }

  async #discover(oidc: OidcSettings): Promise<Configuration> {
    const client = await import('openid-client')
    const secret = (await readFile(resolve(this.#deps.folder, oidc.client_secret_file), 'utf8')).trim()
    // Only on this machine may a provider be without TLS.
    const local = /^http:\/\/(localhost|127\.0\.0\.1)(:\d+)?(\/|$)/.test(oidc.issuer)
    return client.discovery(
      new URL(oidc.issuer),
      oidc.client_id,
      undefined,
      client.ClientSecretPost(secret),
      {
        timeout: 10,
        ...(local && { execute: [client.allowInsecureRequests] }),
      },
    )
  }
}

function refused(why: string, cause?: unknown): AppError {
  return new AppError('forbidden', why, cause === undefined ? {} : { cause })
}
