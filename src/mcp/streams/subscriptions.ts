/**
 * Subscriptions to changes: modern `subscriptions/listen` streams and, where the site allows them, legacy GET
 * streams. After a reload each stream is told what changed for its own principal, and nothing else.
 */
import { randomId, sha256 } from '#leaf/secrets.ts'
import type { Principal } from '../../core/principal.ts'
import type { Channel } from './channel.ts'
import { type McpDeps, peerOf } from '../call.ts'
import type { Json, RequestId } from '../json-rpc.ts'
import { skillFileAt } from '../skills.ts'

const kinds = ['tools', 'prompts', 'resources'] as const
/** The kinds of lists whose changes a stream can report. */
export type ListKind = (typeof kinds)[number]

// The number of conversations whose legacy resource subscriptions are kept, and of resources for each.
const maxWatchers = 1000
const maxWatched = 100
const maxTimer = 2 ** 31 - 1

/** One open connection, with the state that its client knows. */
interface Stream {
  principal: Principal
  readonly channel: Channel
  readonly kinds: readonly ListKind[]
  /** The URIs of single resources that the stream watches. */
  readonly watched: () => Iterable<string>
  /** The id that tags every message of a listen stream. */
  readonly subscriptionId: RequestId | undefined
  digests: Readonly<Record<ListKind, string>>
  /** True when the ids of its events say what its client knows, so that any daemon can go on. */
  hasIds?: true
  versions: Map<string, string | undefined>
}

type Deps = Pick<McpDeps, 'snapshot' | 'refreshed' | 'clock'>

/** The open streams, each with the state that it was last told. */
export class Subscriptions {
  readonly #deps: Deps
  readonly #streams = new Set<Stream>()
  readonly #watched = new Map<string, Set<string>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#streams.size
  }

  /** True when the user may open one more stream. */
  hasRoom(principal: Principal): boolean {
    const open = [...this.#streams].filter((stream) => stream.principal.user === principal.user).length
    return open < this.#deps.snapshot(principal).settings.mcp.max_streams_per_user
  }

  /** Opens a stream of `subscriptions/listen`. */
  listen(
    principal: Principal,
    channel: Channel,
    id: RequestId,
    wanted: { readonly kinds: readonly ListKind[]; readonly uris: readonly string[] },
  ): void {
    this.#open(principal, channel, wanted.kinds, () => wanted.uris, id)
  }

  /** True for the id of an event of a stream about lists, in whatever daemon it was. */
  isOfLists(eventId: string): boolean {
    return listEvent.test(eventId)
  }

  /**
   * Opens the GET stream of a legacy conversation. One that goes on after the event `last` is told at once of the lists that
   * have changed since: the id of an event says what they were.
   */
  openLegacy(
    principal: Principal,
    channel: Channel,
    { last, primes }: { readonly last?: string; readonly primes?: boolean } = {},
  ): void {
    const key = conversationOf(principal)
    const watched = (): Iterable<string> => this.#watched.get(key) ?? []
    const stream = this.#open(principal, channel, kinds, watched, undefined)
    const [, tools, prompts, resources, versions] = listEvent.exec(last ?? '') ?? []
    stream.hasIds = true
    if (primes === true) channel.write('', eventIdOf(stream))
    if (versions === undefined) return
    if (versions !== digestOf(stream.versions)) stream.versions = new Map()
    stream.digests = { tools: tools!, prompts: prompts!, resources: resources! }
    this.#tell(stream)
  }

  /** Ends a stream that goes on with a call's messages, when its token does or its user may no longer. */
  openResumed(principal: Principal, channel: Channel): void {
    this.#open(principal, channel, [], () => [], undefined)
  }

  /** Adds a legacy `resources/subscribe`; false when the conversation has as many as it may. */
  watch(principal: Principal, uri: string): boolean {
    const key = conversationOf(principal)
    const uris = this.#watched.get(key) ?? new Set<string>()
    if (uris.size >= maxWatched && !uris.has(uri)) return false
    uris.add(uri)
    this.#watched.delete(key)
    this.#watched.set(key, uris)
    for (const oldest of this.#watched.keys()) {
      if (this.#watched.size <= maxWatchers) break
      this.#watched.delete(oldest)
    }
    for (const stream of this.#streams) {
      if (conversationOf(stream.principal) === key) stream.versions = this.#versionsOf(stream)
    }
    return true
  }

  /** Removes a legacy `resources/subscribe`. */
  unwatch(principal: Principal, uri: string): void {
    this.#watched.get(conversationOf(principal))?.delete(uri)
  }

  /** Tells each stream what changed for its principal; to be called after every reload. */
  changed(): void {
    for (const stream of this.#streams) {
      const principal = this.#deps.refreshed(stream.principal)
      if (!principal) this.#close(stream)
      else {
        stream.principal = principal
        this.#tell(stream)
      }
    }
  }

  /** Returns the principals of the open streams. */
  principals(): readonly Principal[] {
    return [...this.#streams].map(({ principal }) => principal)
  }

  /** Ends the streams of principals that the test picks: a token was revoked. */
  closeWhere(test: (principal: Principal) => boolean): void {
    for (const stream of this.#streams) if (test(stream.principal)) this.#close(stream)
  }

  /** Ends every stream, as the daemon stops. */
  close(): void {
    this.closeWhere(() => true)
  }

  #open(
    principal: Principal,
    channel: Channel,
    wanted: readonly ListKind[],
    watched: () => Iterable<string>,
    subscriptionId: RequestId | undefined,
  ): Stream {
    const stream: Stream = {
      principal,
      channel,
      kinds: wanted,
      watched,
      subscriptionId,
      digests: this.#digestsOf(principal),
      versions: new Map(),
    }
    stream.versions = this.#versionsOf(stream)
    this.#streams.add(stream)
    channel.onClose(() => this.#streams.delete(stream))
    if (principal.expiresAt !== undefined) {
      const rest = Math.min(Math.max(0, principal.expiresAt - this.#deps.clock.now()), maxTimer)
      const timer = setTimeout(() => this.#close(stream), rest).unref()
      channel.onClose(() => clearTimeout(timer))
    }
    return stream
  }

  #tell(stream: Stream): void {
    const digests = this.#digestsOf(stream.principal)
    for (const kind of stream.kinds) {
      if (digests[kind] === stream.digests[kind]) continue
      stream.digests = { ...stream.digests, [kind]: digests[kind] }
      this.#send(stream, `notifications/${kind}/list_changed`, {})
    }
    const versions = this.#versionsOf(stream)
    const before = stream.versions
    const changed = [...versions].filter(([uri, version]) => before.get(uri) !== version)
    for (const [at, [uri]] of changed.entries()) {
      if (at === changed.length - 1) stream.versions = versions
      this.#send(stream, 'notifications/resources/updated', { uri })
    }
    stream.versions = versions
  }

  // A client that reads too slowly misses a notification, which would otherwise fill the memory.
  #send(stream: Stream, method: string, params: Json): void {
    const { channel, subscriptionId } = stream
    const message = { jsonrpc: '2.0', method, params: tagged(params, subscriptionId) }
    channel.send(message, stream.hasIds ? eventIdOf(stream) : undefined)
  }

  /** Closes a stream: a listen stream ends with the answer to its request, a legacy one just ends. */
  #close({ channel, subscriptionId }: Stream): void {
    if (subscriptionId === undefined) channel.end(200)
    else {
      const result = tagged({ resultType: 'complete' }, subscriptionId)
      channel.finish(200, JSON.stringify({ jsonrpc: '2.0', id: subscriptionId, result }))
    }
  }

  #digestsOf(principal: Principal): Stream['digests'] {
    const { catalogue, library } = this.#deps.snapshot(principal)
    return {
      tools: short(catalogue.digest(principal)),
      prompts: short(library.promptsDigest(principal)),
      resources: short(library.skillsDigest(principal)),
    }
  }

  #versionsOf({ principal, watched }: Stream): Map<string, string | undefined> {
    const { library } = this.#deps.snapshot(principal)
    return new Map([...watched()].map((uri) => [uri, skillFileAt(library, principal, uri)?.file.digest]))
  }
}

const listEvent = /^lists\.([\w-]{16})\.([\w-]{16})\.([\w-]{16})\.([\w-]{16})\.[\w-]{22}$/

/** Returns an id, of no other event, that says what the client of a stream knows. */
function eventIdOf({ digests: { tools, prompts, resources }, versions }: Stream): string {
  return ['lists', tools, prompts, resources, digestOf(versions), randomId()].join('.')
}

function digestOf(versions: Stream['versions']): string {
  return short(JSON.stringify([...versions]))
}

function short(text: string): string {
  return sha256(text).slice(0, 16)
}

/** Adds to message parameters the subscription that they belong to. */
export function tagged(params: Json, subscriptionId: RequestId | undefined): Json {
  return subscriptionId === undefined
    ? params
    : { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': subscriptionId } }
}

function conversationOf(principal: Principal): string {
  return `${peerOf(principal)}\n${principal.sessionId ?? ''}`
}
