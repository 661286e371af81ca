/**
 * Client ID metadata documents: a client whose id is the https URL of a document that describes it. Fetched
 * under guard, cached, asked for once at a time; clients that users approved survive a document that is down.
 */
import { isIP } from 'node:net'
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { sameText } from '../core/secrets.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import type { Collection, Store } from '../store/store.ts'
import { readClientMetadata } from './client-metadata.ts'
import { grantTypeNames } from './grant-types/index.ts'
import { FetchShares, NoShare } from './fetch-shares.ts'
import { HostUnreachable, type FetchedJson, type GuardedFetch } from './guarded-fetch.ts'
import { OAuthError } from './protocol.ts'
import { clientRecords, type Client } from './records.ts'
import { redirectUriFault, type RedirectRules } from './redirect-uris.ts'

interface Cached {
  readonly client: Client | undefined
  readonly until: number
  /** Why there is no client. */
  readonly why?: string
}

const minute = 60_000
const leastLife = 5 * minute
const mostLife = 24 * 60 * minute
const negativeLife = minute
const cacheSize = 500

/** The clients that documents describe. */
export class ClientDocuments {
  readonly #clock: Clock
  readonly #settings: () => Settings
  readonly #fetch: GuardedFetch
  readonly #log: Log
  readonly #shares: FetchShares
  readonly #kept: Collection<Client>
  readonly #cache = new Map<string, Cached>()
  readonly #underway = new Map<string, Promise<Client | undefined>>()

  constructor(deps: { store: Store; clock: Clock; settings: () => Settings; fetch: GuardedFetch; log: Log }) {
    this.#clock = deps.clock
    this.#settings = deps.settings
    this.#fetch = deps.fetch
    this.#log = deps.log
    this.#shares = new FetchShares(deps)
    this.#kept = deps.store.collection(clientRecords)
  }

  /** The client that the document at the URL describes, for a request from a network; undefined when there is none that is valid. */
  async find(url: string, network = ''): Promise<Client | undefined> {
    if (!this.#settings().oauth.client_id_metadata_documents || !isDocumentUrl(url)) return undefined
    const cached = this.#cache.get(url)
    if (cached && cached.until > this.#clock.now()) return this.#merged(url, cached.client)
    const underway =
      this.#underway.get(url) ?? this.#load(url, network).finally(() => this.#underway.delete(url))
    this.#underway.set(url, underway)
    return this.#merged(url, await underway)
  }

  /** What the document says, with what we know of its use; without a document, what it said at the last approval. */
  async #merged(url: string, client: Client | undefined): Promise<Client | undefined> {
    const kept = await this.#kept.get(url)
    if (!client || !kept) return client ?? kept
    return { ...kept, ...client, createdAt: kept.createdAt }
  }

  /** Why the document at the URL gave no client when it was last asked for. */
  whyNot(url: string): string | undefined {
    return this.#cache.get(url)?.why
  }

  async #load(url: string, network: string): Promise<Client | undefined> {
    const { hostname } = new URL(url)
    let giveBack = (): void => {}
    try {
      giveBack = this.#shares.take(hostname, network)
      const fetched = await this.#fetch(url)
      const client = this.#read(url, fetched)
      const life = Math.min(mostLife, Math.max(leastLife, (fetched.maxAge ?? 3600) * 1000))
      return this.#remember(url, { client, until: this.#clock.now() + life })
    } catch (error) {
      if (error instanceof HostUnreachable) this.#shares.couldNotReach(hostname)
      const why = messageOf(error)
      this.#log.info('client document refused', { url, reason: why })
      // What was not tried may be tried again at once.
      const life = error instanceof NoShare ? 0 : negativeLife
      return this.#remember(url, { client: undefined, until: this.#clock.now() + life, why })
    } finally {
      giveBack()
    }
  }

  #remember(url: string, what: Cached): Client | undefined {
    if (this.#cache.size >= cacheSize) this.#cache.delete(this.#cache.keys().next().value!)
    this.#cache.set(url, what)
    return what.client
  }

  #read(url: string, { body }: FetchedJson): Client {
    const given = body as Readonly<Record<string, unknown>> | null
    // Compared as text: the document must mean itself.
    if (typeof given?.['client_id'] !== 'string' || !sameText(given['client_id'], url)) {
      throw new OAuthError('invalid_client_metadata', 'client_id in the document is not its URL')
    }
    if ('client_secret' in given) {
      throw new OAuthError('invalid_client_metadata', 'a document cannot have a client_secret')
    }
    const oauth = this.#settings().oauth
    const rules = {
      developerMode: oauth.developer_mode,
      nativeSchemes: linesOf(oauth.native_redirect_schemes),
      authMethods: ['none', 'private_key_jwt'],
      defaultMethod: 'none',
    } as const
    const description = readClientMetadata(ourPart(given, rules), rules)
    return {
      ...description,
      id: url,
      source: 'document',
      createdAt: this.#clock.now(),
    }
  }
}

/**
 * A document is written for all servers: grants, redirect URIs and descriptions that are not for us are the
 * others' business, as long as something is left.
 */
function ourPart(given: Readonly<Record<string, unknown>>, rules: RedirectRules): Record<string, unknown> {
  const kept = ['client_name', 'token_endpoint_auth_method', 'response_types', 'jwks', 'jwks_uri']
  const { redirect_uris: uris, grant_types: grants } = given
  return {
    ...Object.fromEntries(kept.map((key) => [key, given[key]])),
    redirect_uris: Array.isArray(uris)
      ? uris.filter((uri) => typeof uri === 'string' && redirectUriFault(uri, rules) === undefined)
      : uris,
    ...(Array.isArray(grants) && {
      grant_types: grants.filter((grant) => grantTypeNames.includes(String(grant))),
    }),
  }
}

/** A URL that can be a client id: https, with a path, without fragment, credentials and dot segments. */
export function isDocumentUrl(text: string): boolean {
  if (text.length > 500 || !/^https:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  // What the parser writes must be what was written: that leaves no dot segments, ports and hosts in disguise.
  return (
    url.href === text &&
    !text.includes('#') &&
    url.username === '' &&
    url.password === '' &&
    url.pathname !== '/' &&
    // A document is vouched for by its site's name.
    isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0
  )
}
