/**
 * Client ID metadata documents: a client whose id is the https URL of a document that describes it. Fetched
 * under guard, cached, asked for once at a time. Where one cannot be fetched, a client is what the document said
 * when a user last approved it, or what a copy of the document says.
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
import { HostUnreachable, type GuardedFetch } from './guarded-fetch.ts'
import { copyOf, knownDocuments } from './known-documents.ts'
import { OAuthError } from './protocol.ts'
import { clientRecords, type Client } from './records.ts'
import { redirectUriFault, type RedirectRules } from './redirect-uris.ts'

interface Cached {
  readonly client: Client | undefined
  readonly until: number
  /** Why the document gave no client. */
  readonly why?: string
  /** Where the client comes from instead. */
  readonly from?: string
}

/** What became of trying to fetch a document that should be there. */
export interface DocumentProbe {
  readonly at: number
  /** The document that was fetched. */
  readonly fetched?: string
  /** The others, and why they were not. */
  readonly failed: readonly string[]
}

const minute = 60_000
const leastLife = 5 * minute
const mostLife = 24 * 60 * minute
const negativeLife = minute
const cacheSize = 500
const probesAtMost = 3

/** The clients that documents describe. */
export class ClientDocuments {
  readonly #clock: Clock
  readonly #settings: () => Settings
  readonly #fetch: GuardedFetch
  readonly #log: Log
  readonly #shares: FetchShares
  readonly #kept: Collection<Client>
  readonly #cache = new Map<string, Cached>()
  readonly #underway = new Map<string, Promise<Cached>>()
  #probed: DocumentProbe | undefined

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
    if (this.#settings().oauth.client_id_metadata_documents === false || !isDocumentUrl(url)) return undefined
    const cached = this.#cache.get(url)
    if (cached && cached.until > this.#clock.now()) return this.#merged(url, cached)
    const underway =
      this.#underway.get(url) ?? this.#load(url, network).finally(() => this.#underway.delete(url))
    this.#underway.set(url, underway)
    return this.#merged(url, await underway)
  }

  /** With what we know of its use. What a user approved of a document that was fetched goes before a copy of it. */
  async #merged(url: string, { client, from }: Cached): Promise<Client | undefined> {
    const kept = await this.#kept.get(url)
    if (!client || !kept || (from !== undefined && !kept.isCopy)) return kept ?? client
    const { isCopy: _copied, ...known } = kept
    return { ...known, ...client, createdAt: kept.createdAt }
  }

  /** How the document at the URL was had when it was last asked for. */
  lastFetch(url: string): { readonly why?: string; readonly from?: string } | undefined {
    return this.#cache.get(url)
  }

  /**
   * Whether clients are told that a document will do. A client that is told never registers itself, so this is true
   * only while documents can be fetched, unless the settings know better.
   */
  get areWelcome(): boolean {
    const mode = this.#settings().oauth.client_id_metadata_documents
    return mode === 'auto' ? this.#probed?.fetched !== undefined : mode
  }

  /** What the last probe found; undefined before the first. */
  get probed(): DocumentProbe | undefined {
    return this.#probed
  }

  /** Tries the documents of well-known clients until one is there. */
  async probe(): Promise<void> {
    if (this.#settings().oauth.client_id_metadata_documents === false) {
      this.#probed = undefined
      return
    }
    const failed: string[] = []
    let fetched: string | undefined
    for (const { client_id: url } of knownDocuments.slice(0, probesAtMost)) {
      const why = await this.#fetch(url).then(
        () => undefined,
        (error: unknown) => messageOf(error),
      )
      if (why === undefined) {
        fetched = url
        break
      }
      failed.push(`${url}: ${why}`)
    }
    const could = this.#probed?.fetched !== undefined
    if (!this.#probed || could !== (fetched !== undefined))
      this.#log.info(
        fetched === undefined ? 'client documents cannot be fetched' : 'client documents can be fetched',
        { failed },
      )
    this.#probed = { at: this.#clock.now(), failed, ...(fetched !== undefined && { fetched }) }
  }

  async #load(url: string, network: string): Promise<Cached> {
    const { hostname } = new URL(url)
    let giveBack = (): void => {}
    try {
      giveBack = this.#shares.take(hostname, network)
      const fetched = await this.#fetch(url)
      const client = this.#read(url, fetched.body)
      const life = Math.min(mostLife, Math.max(leastLife, (fetched.maxAge ?? 3600) * 1000))
      return this.#remember(url, { client, until: this.#clock.now() + life })
    } catch (error) {
      if (error instanceof HostUnreachable) this.#shares.couldNotReach(hostname)
      const why = messageOf(error)
      // What was not tried may be tried again at once.
      const until = this.#clock.now() + (error instanceof NoShare ? 0 : negativeLife)
      // A document that was read and is wrong is what its owner says now.
      const copy = error instanceof OAuthError ? undefined : this.#readCopy(url)
      this.#log.info('client document refused', { url, reason: why, ...(copy && { instead: copy.from }) })
      return this.#remember(url, { client: undefined, ...copy, until, why })
    } finally {
      giveBack()
    }
  }

  #readCopy(url: string): { client: Client; from: string } | undefined {
    const copy = copyOf(url, this.#settings().oauth.client_documents)
    if (!copy) return undefined
    return { client: { ...this.#read(url, copy.body), isCopy: true }, from: copy.from }
  }

  #remember(url: string, what: Cached): Cached {
    if (this.#cache.size >= cacheSize) this.#cache.delete(this.#cache.keys().next().value!)
    this.#cache.set(url, what)
    return what
  }

  #read(url: string, body: unknown): Client {
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
