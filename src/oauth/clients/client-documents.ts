/**
 * Client ID metadata documents: a client whose id is the https URL of a document that describes it. A document is
 * fetched under guard, cached, and asked for once at a time. When it cannot be fetched, the client is what the document
 * said when a user last approved it, or what a copy of the document says.
 */
import { isIP } from 'node:net'
import type { Clock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { sameText } from '#leaf/secrets.ts'
import type { Settings } from '../../core/settings.ts'
import type { Collection, Store } from '#state/store.ts'
import { readClientMetadata, rulesOf } from './client-metadata.ts'
import { grantTypeNames } from '../grant-types/index.ts'
import { FetchShares, NoShare } from '#outside/fetch-shares.ts'
import { HostUnreachable, type GuardedFetch } from '#outside/guarded-fetch.ts'
import { copyOf, knownDocuments } from './known-documents.ts'
import { OAuthError } from '../protocol.ts'
import { clientRecords, type Client } from '../records.ts'
import { redirectUriFault, type RedirectRules } from './redirect-uris.ts'

interface Cached {
  readonly client: Client | undefined
  readonly until: number
  /** The reason why the document gave no client. */
  readonly why?: string
  /** The source of the client when it is not the document. */
  readonly from?: string
}

/** The result of trying to fetch documents that should be there. */
export interface DocumentProbe {
  readonly at: number
  /** The document that was fetched. */
  readonly fetched?: string
  /** The other documents, each with the reason why it was not fetched. */
  readonly failed: readonly string[]
}

const minute = 60_000
const leastLife = 5 * minute
const mostLife = 24 * 60 * minute
const negativeLife = minute
const cacheSize = 500
const probesAtMost = 3

/** Finds the clients that documents describe. */
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

  /** Returns the client that the document at the URL describes, for a request from a network; undefined without a valid one. */
  async find(url: string, network = ''): Promise<Client | undefined> {
    if (this.#settings().oauth.client_id_metadata_documents === false || !isDocumentUrl(url)) return undefined
    const cached = this.#cache.get(url)
    if (cached && cached.until > this.#clock.now()) return this.#merged(url, cached)
    const underway =
      this.#underway.get(url) ?? this.#load(url, network).finally(() => this.#underway.delete(url))
    this.#underway.set(url, underway)
    return this.#merged(url, await underway)
  }

  /** Adds the known use of the client. What a user approved of a fetched document goes before a copy of the document. */
  async #merged(url: string, { client, from }: Cached): Promise<Client | undefined> {
    const kept = await this.#kept.get(url)
    if (!client || !kept || (from !== undefined && !kept.isCopy)) return kept ?? client
    const { isCopy: _copied, ...known } = kept
    return { ...known, ...client, createdAt: kept.createdAt }
  }

  /** Tells how the document at the URL was obtained when it was last asked for. */
  lastFetch(url: string): { readonly why?: string; readonly from?: string } | undefined {
    return this.#cache.get(url)
  }

  /**
   * True when clients are told that a document will do. A client that is told never registers itself, so this is true
   * only while documents can be fetched, unless the settings know better.
   */
  get areWelcome(): boolean {
    const mode = this.#settings().oauth.client_id_metadata_documents
    return mode === 'auto' ? this.#probed?.fetched !== undefined : mode
  }

  /** The result of the last probe; undefined before the first. */
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
      // A document that was not tried may be tried again at once.
      const until = this.#clock.now() + (error instanceof NoShare ? 0 : negativeLife)
      // A document that was read and is wrong is its owner's present word, so no copy replaces it.
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
    // The URLs are compared as text: the document must name itself.
    if (typeof given?.['client_id'] !== 'string' || !sameText(given['client_id'], url)) {
      throw new OAuthError('invalid_client_metadata', 'client_id in the document is not its URL')
    }
    if ('client_secret' in given) {
      throw new OAuthError('invalid_client_metadata', 'a document cannot have a client_secret')
    }
    const rules = rulesOf(this.#settings(), ['none', 'private_key_jwt'])
    const description = readClientMetadata(ourPart(given, rules), rules)
    return { ...description, id: url, source: 'document', createdAt: this.#clock.now() }
  }
}

/**
 * Keeps the part of a document that concerns us. A document is written for all servers: grants, redirect URIs and
 * descriptions for others do not matter, as long as something is left.
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

/** True when a URL can be a client id: https, with a path, without fragment, credentials and dot segments. */
export function isDocumentUrl(text: string): boolean {
  if (text.length > 500 || !/^https:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  // The parser's text must equal the text given: that excludes dot segments, ports and hosts in disguise.
  return (
    url.href === text &&
    !text.includes('#') &&
    url.username === '' &&
    url.password === '' &&
    url.pathname !== '/' &&
    // The site's name vouches for a document.
    isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0
  )
}
