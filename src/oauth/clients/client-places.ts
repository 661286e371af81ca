/**
 * The places for clients that nobody vouches for. Their number is limited, and neither a stranger nor a user may take
 * them from the others. A client keeps its place for good by its first token; each user keeps so many that way. Before
 * that, the network with the most of them makes room; a client whose consent page a user has open is left alone.
 *
 * Client ids that carry their own signed registration would need no places before the approval. They are not used:
 * the secret of a confidential client would follow from one key (D4: only its argon2id hash is known here), nobody
 * could withdraw one before it ends, and kilobytes of id would stand in every authorization URL, log and audit event.
 */
import { all, compared } from '#state/questions.ts'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Settings } from '../../core/settings.ts'
import type { Collection, Transaction } from '#state/store.ts'
import type { Client } from '../records.ts'

/** The number of unvouched clients that a user keeps by tokens, and by looking at consent pages. */
const mostOfUser = 20
const mostHeld = 5

/** Milliseconds in which the consent form can be sent. */
const holdMilliseconds = 30 * 60_000

/** The share of places taken from which an operator should look. */
const nearlyFull = 0.8

/** Gives places to clients. */
export class ClientPlaces {
  readonly #clock: Clock
  readonly #settings: () => Settings
  readonly #clients: Collection<Client>
  #taken = 0

  constructor(deps: { clock: Clock; settings: () => Settings; clients: Collection<Client> }) {
    this.#clock = deps.clock
    this.#settings = deps.settings
    this.#clients = deps.clients
  }

  /** The places, as counted when somebody last registered or the list was last pruned. */
  get state(): { readonly taken: number; readonly most: number; readonly nearlyFull: boolean } {
    const most = this.#settings().oauth.max_clients
    return { taken: this.#taken, most, nearlyFull: this.#taken >= most * nearlyFull }
  }

  /** Counts the places that are taken. */
  async count(): Promise<void> {
    this.#taken = await this.#clients.count({ where: { source: 'dynamic' } })
  }

  /** Makes room for one more client. AppError `unavailable` when all places are taken for good. */
  async makeRoomIn(tx: Transaction): Promise<void> {
    const clients = tx.in(this.#clients)
    const limit = this.#settings().oauth.max_clients
    this.#taken = (await clients.count({ where: { source: 'dynamic' } })) + 1
    if (this.#taken <= limit) return
    const waiting = await clients.find({
      where: { source: 'dynamic' },
      holds: compared('activatedAt', '=', null),
      order: [{ field: 'createdAt' }],
    })
    const now = this.#clock.now()
    const going = fairly(
      waiting.filter(({ heldUntil = 0 }) => heldUntil < now),
      Math.ceil(limit / 20),
    )
    if (going.length === 0) throw new AppError('unavailable', 'the limit of registered clients is reached')
    for (const client of going) await clients.delete(client.id)
    this.#taken -= going.length
  }

  /** Holds the place of a client while a user looks at its consent page, until that form is too old. */
  async hold(tx: Transaction, client: Client, user: string): Promise<void> {
    const clients = tx.in(this.#clients)
    const now = this.#clock.now()
    const held = await clients.find({
      where: { source: 'dynamic' },
      holds: all(compared('heldBy', '=', user), compared('heldUntil', '>', now)),
      order: [{ field: 'heldUntil' }],
    })
    const others = held.filter(({ id }) => id !== client.id)
    for (const { id } of others.slice(0, Math.max(0, others.length + 1 - mostHeld)))
      await clients.update(id, ({ heldBy: _user, heldUntil: _time, ...free }) => free)
    const heldUntil = now + holdMilliseconds
    await clients.update(client.id, (known) => ({
      ...known,
      heldBy: user,
      heldUntil,
      ...(known.expiresAt !== undefined && { expiresAt: Math.max(known.expiresAt, heldUntil) }),
    }))
  }

  /** Keeps a client that got its first token, of this user. Returns those the user has too many of, used longest ago first. */
  async keepIn(tx: Transaction, client: Client, user: string): Promise<readonly Client[]> {
    const clients = tx.in(this.#clients)
    const now = this.#clock.now()
    const stored = await clients.get(client.id)
    if (client.source !== 'document' && stored?.activatedAt !== undefined && isNoted(stored, now)) return []
    const {
      expiresAt: _ends,
      heldBy: _user,
      heldUntil: _time,
      network: _network,
      ...lasting
    } = client.source === 'document' ? client : (stored ?? client)
    await clients.put({
      ...lasting,
      activatedAt: stored?.activatedAt ?? now,
      activatedBy: stored?.activatedBy ?? user,
      lastUsedAt: now,
    })
    if (stored?.activatedAt !== undefined || client.source === 'operator') return []
    const mine = await clients.find({
      holds: all(compared('activatedBy', '=', user), compared('source', '!=', 'operator')),
      order: [{ field: 'lastUsedAt' }],
    })
    return mine.slice(0, Math.max(0, mine.length - mostOfUser))
  }
}

/** True for a client that registered itself and has no place for good yet. */
export function waitsForPlace({ source, activatedAt }: Client): boolean {
  return source === 'dynamic' && activatedAt === undefined
}

/** True when its use was written within the hour, which is often enough. */
export function isNoted({ lastUsedAt = 0 }: Client, now: number): boolean {
  return now - lastUsedAt < 60 * 60_000
}

/** Chooses so many clients, each time the oldest of the network that has the most left. */
function fairly(clients: readonly Client[], count: number): readonly Client[] {
  const byNetwork = new Map<string, Client[]>()
  for (const client of clients) {
    const { network = '' } = client
    const known = byNetwork.get(network)
    if (known) known.push(client)
    else byNetwork.set(network, [client])
  }
  const going: Client[] = []
  while (going.length < count && byNetwork.size > 0) {
    const [network, most] = [...byNetwork].reduce((a, b) => (b[1].length > a[1].length ? b : a))
    going.push(most.shift()!)
    if (most.length === 0) byNetwork.delete(network)
  }
  return going
}
