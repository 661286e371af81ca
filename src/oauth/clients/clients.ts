/** The OAuth clients: registered by themselves, by the operator, or described by a document at their URL. */
import { verify } from '@node-rs/argon2'
import { all, any, compared } from '#state/questions.ts'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { commandLine } from '../../core/principal.ts'
import { randomId, randomSecret, sameText, sha256 } from '#leaf/secrets.ts'
import type { Settings } from '../../core/settings.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import { ClientPlaces, isNoted, waitsForPlace } from './client-places.ts'
import { clientRecords, type AuthMethod, type Client } from '../records.ts'
import type { Tokens } from '../tokens/tokens.ts'

/** The checked description of a client (see `client-metadata.ts`). */
export interface ClientDescription {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly authMethod: AuthMethod
  readonly metadata: Readonly<Record<string, unknown>>
}

/** A client that was removed, or would be, and why. */
export interface PrunedClient {
  readonly id: string
  readonly name: string
  readonly why: string
}

/** Finds the client that a document at its URL describes; undefined without a valid one. */
export interface DocumentClients {
  find(url: string, network?: string): Promise<Client | undefined>
  /** Tells why the document itself gave no client, and what was taken instead. */
  lastFetch(url: string): { readonly why?: string; readonly from?: string } | undefined
}

const minute = 60_000
const day = 86_400_000

/** The client to which `tokens issue` issues when no client is given. */
export const commandLineClient: Client = {
  ...commandLine,
  redirectUris: [],
  authMethod: 'none',
  source: 'built_in',
  metadata: {},
  createdAt: 0,
}

interface ClientsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: () => Settings
  readonly tokens: Tokens
  readonly documents: DocumentClients
}

/** Finds, registers, changes and removes clients. */
export class Clients {
  readonly #deps: ClientsDeps
  readonly #clients: Collection<Client>
  /** The places of clients that registered themselves. */
  readonly places: ClientPlaces
  #swept = 0

  constructor(deps: ClientsDeps) {
    this.#deps = deps
    this.#clients = deps.store.collection(clientRecords)
    this.places = new ClientPlaces({ ...deps, clients: this.#clients })
  }

  /** Returns the client of that id, or of the document at that URL, which may be fetched for somebody in that network. */
  async find(id: string, network?: string): Promise<Client | undefined> {
    if (id === commandLineClient.id) return commandLineClient
    if (id.startsWith('https://')) return this.#deps.documents.find(id, network)
    return id.length > 200 ? undefined : this.#clients.get(id)
  }

  /** Tells how the document that names a client was obtained, when one names it. */
  lastFetch(id: string): { readonly why?: string; readonly from?: string } | undefined {
    return this.#deps.documents.lastFetch(id)
  }

  /** Adds a client. The secret, which only confidential clients have, is shown this once. */
  async register(
    description: ClientDescription,
    source: 'dynamic' | 'operator',
    tell: (tx: Transaction, client: Client) => Promise<void>,
    network?: string,
  ): Promise<{ client: Client; secret?: string }> {
    const settings = this.#deps.settings().oauth
    if (this.#deps.clock.now() - this.#swept > 10 * minute) await this.prune()
    const secret = needsSecret(description.authMethod) ? randomSecret('ac_cs_') : undefined
    const now = this.#deps.clock.now()
    const client: Client = {
      ...description,
      id: randomId(),
      source,
      secretDigest: secret === undefined ? undefined : digestOf(undefined, secret),
      createdAt: now,
      expiresAt: source === 'dynamic' ? now + settings.unused_client_minutes * minute : undefined,
      network,
    }
    await this.#deps.store.transaction(async (tx) => {
      if (source === 'dynamic') await this.places.makeRoomIn(tx)
      await tx.in(this.#clients).insert(client)
      await tell(tx, client)
    })
    return { client, ...(secret !== undefined && { secret }) }
  }

  /** True when this is the client's secret. */
  async verifySecret(client: Client, secret: string): Promise<boolean> {
    const { id, secretHash, secretDigest } = client
    if (secret.length > 200) return false
    const digest = digestOf(secretHash, secret)
    if (secretDigest !== undefined && sameText(secretDigest, digest)) return true
    if (secretHash === undefined || !(await verify(secretHash, secret))) return false
    await this.#clients
      .update(id, (known) => (known.secretHash === secretHash ? { ...known, secretDigest: digest } : known))
      // The secret was right all the same; the next call verifies it by the hash once more.
      .catch(() => undefined)
    return true
  }

  /**
   * Activates a client that got its first token, of this user: it stays, and a document is kept as it was approved.
   * Returns the clients that had to go for it.
   */
  async activateIn(tx: Transaction, client: Client, user: string): Promise<readonly Client[]> {
    const going = await this.places.keepIn(tx, client, user)
    for (const { id } of going) await this.#removeIn(tx, id, 'the user has connected many apps since')
    return going
  }

  /** Notes that a user approved the client: a document that is kept is kept as it was approved last. */
  async approvedIn(tx: Transaction, client: Client): Promise<void> {
    if (client.source === 'document') await tx.in(this.#clients).update(client.id, () => client)
  }

  /** Holds the place of a client while a user looks at its consent page. */
  async hold(client: Client, user: string): Promise<void> {
    if (!waitsForPlace(client)) return
    await this.#deps.store.transaction(async (tx) => this.places.hold(tx, client, user))
  }

  /** Notes that the client got tokens; written at most once an hour. */
  async markUsed(client: Client): Promise<void> {
    const now = this.#deps.clock.now()
    if (client.source === 'built_in' || isNoted(client, now)) return
    await this.#clients.update(client.id, (known) => ({ ...known, lastUsedAt: now }))
  }

  /** Changes the fields that the operator may change. */
  async update(id: string, change: Partial<ClientDescription>): Promise<Client> {
    const client = await this.#clients.update(id, (known) => ({ ...known, ...change }))
    if (!client) throw unknown(id)
    return client
  }

  /** Gives a confidential client a new secret; the old one ends at once. */
  async rotateSecret(id: string): Promise<{ client: Client; secret: string }> {
    const known = await this.#clients.get(id)
    if (!known) throw unknown(id)
    if (!needsSecret(known.authMethod)) throw new AppError('invalid', `client ${id} has no secret`)
    const secret = randomSecret('ac_cs_')
    const client = await this.#clients.update(id, (one) => {
      const changed = { ...one, secretDigest: digestOf(undefined, secret) }
      Reflect.deleteProperty(changed, 'secretHash')
      return changed
    })
    if (!client) throw unknown(id)
    return { client, secret }
  }

  /** Removes a client and ends every token it has. */
  async remove(id: string): Promise<boolean> {
    const why = 'the client was removed'
    // It may have very many tokens.
    await this.#deps.tokens.revoke({ client: id }, why)
    return this.#deps.store.transaction(async (tx) => this.#removeIn(tx, id, why))
  }

  async #removeIn(tx: Transaction, id: string, why: string): Promise<boolean> {
    await this.#deps.tokens.revokeIn(tx, { client: id }, why)
    return tx.in(this.#clients).delete(id)
  }

  /** Returns registered clients, newest first. */
  async list(): Promise<readonly Client[]> {
    return this.#clients.find({ order: [{ field: 'createdAt', descending: true }] })
  }

  /** Removes clients that registered themselves and are no longer used; never one with a live grant. */
  async prune(options: { dryRun?: boolean } = {}): Promise<readonly PrunedClient[]> {
    const idle = this.#deps.settings().oauth.idle_client_days * day
    const now = this.#deps.store.believed.now()
    if (!options.dryRun) this.#swept = now
    const candidates = await this.#clients.find({
      holds: all(
        compared('source', '!=', 'operator'),
        any(
          compared('lastUsedAt', '<', now - idle),
          all(compared('lastUsedAt', '=', null), compared('createdAt', '<', now - idle)),
          compared('expiresAt', '<=', now),
        ),
      ),
    })
    const pruned: PrunedClient[] = []
    for (const client of candidates) {
      if (await this.#deps.tokens.isLive(client.id)) continue
      const why = client.activatedAt === undefined ? 'never used' : `idle for ${Math.floor(idle / day)} days`
      if (!options.dryRun) await this.remove(client.id)
      pruned.push({ id: client.id, name: client.name, why })
    }
    await this.places.count()
    return pruned
  }
}

/** True when clients of that method have a secret. */
export function needsSecret(method: AuthMethod): boolean {
  return method === 'client_secret_basic' || method === 'client_secret_post'
}

/** Returns the digest of a secret, bound to the hash beside it so that an older daemon, which knows only that, can change it. */
function digestOf(secretHash: string | undefined, secret: string): string {
  return sha256(secretHash === undefined ? secret : `${secretHash} ${secret}`)
}

function unknown(id: string): AppError {
  return new AppError('not_found', `no client ${id}`)
}
