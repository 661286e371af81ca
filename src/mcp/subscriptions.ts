/**
 * Who wants to hear of changes: modern `subscriptions/listen` streams and, where the site allows them, legacy GET
 * streams. After a reload each is told what changed for its own principal, and nothing else.
 */
import type { Principal } from '../core/principal.ts'
import type { Channel } from './channel.ts'
import { type McpDeps, peerOf } from './call.ts'
import type { Json, RequestId } from './json-rpc.ts'
import { skillFileAt } from './skills.ts'

const kinds = ['tools', 'prompts', 'resources'] as const
/** What a stream can be told of. */
export type ListKind = (typeof kinds)[number]

// Conversations whose legacy resource subscriptions are kept, and resources each.
const maxWatchers = 1000
const maxWatched = 100
const maxTimer = 2 ** 31 - 1

/** One open connection, and what its client knows. */
interface Stream {
  principal: Principal
  readonly channel: Channel
  readonly kinds: readonly ListKind[]
  /** Single resources, with the version that the client was last told of. */
  readonly watched: () => Iterable<string>
  /** Tags every message of a listen stream. */
  readonly subscriptionId: RequestId | undefined
  digests: Readonly<Record<ListKind, string>>
  versions: Map<string, string | undefined>
}

type Deps = Pick<McpDeps, 'snapshot' | 'refreshed' | 'clock'>

/** The open streams, and what each of them was last told. */
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

  /** Whether the user may hold one more stream. */
  hasRoom(principal: Principal): boolean {
    const open = [...this.#streams].filter((stream) => stream.principal.user === principal.user).length
    return open < this.#deps.snapshot(principal).settings.mcp.max_streams_per_user
  }

  /** Begins a stream of `subscriptions/listen`. */
  listen(
    principal: Principal,
    channel: Channel,
    id: RequestId,
    wanted: { readonly kinds: readonly ListKind[]; readonly uris: readonly string[] },
  ): void {
    this.#open(principal, channel, wanted.kinds, () => wanted.uris, id)
  }

  /** Begins the GET stream of a legacy conversation. */
  openLegacy(principal: Principal, channel: Channel): void {
    const key = conversationOf(principal)
    this.#open(principal, channel, kinds, () => this.#watched.get(key) ?? [], undefined)
  }

  /** Legacy `resources/subscribe`; false when the conversation has as many as it may. */
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

  /** Legacy `resources/unsubscribe`. */
  unwatch(principal: Principal, uri: string): void {
    this.#watched.get(conversationOf(principal))?.delete(uri)
  }

  /** To be called after every reload: tells each stream what changed for its principal. */
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

  /** Ends the streams of principals that the test picks: a token was revoked. */
  closeWhere(test: (principal: Principal) => boolean): void {
    for (const stream of this.#streams) if (test(stream.principal)) this.#close(stream)
  }

  /** Ends every stream; the daemon stops. */
  close(): void {
    this.closeWhere(() => true)
  }

  #open(
    principal: Principal,
    channel: Channel,
    wanted: readonly ListKind[],
    watched: () => Iterable<string>,
    subscriptionId: RequestId | undefined,
  ): void {
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
  }

  #tell(stream: Stream): void {
    const digests = this.#digestsOf(stream.principal)
    const before = stream.digests
    stream.digests = digests
    for (const kind of stream.kinds) {
      if (digests[kind] !== before[kind]) this.#send(stream, `notifications/${kind}/list_changed`, {})
    }
    const versions = this.#versionsOf(stream)
    for (const [uri, version] of versions) {
      if (stream.versions.get(uri) !== version) this.#send(stream, 'notifications/resources/updated', { uri })
    }
    stream.versions = versions
  }

  // A client that reads too slowly misses a notification rather than filling the memory.
  #send({ channel, subscriptionId }: Stream, method: string, params: Json): void {
    channel.send({ jsonrpc: '2.0', method, params: tagged(params, subscriptionId) })
  }

  /** A listen stream ends with the answer to its request; a legacy one just ends. */
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
      tools: catalogue.digest(principal),
      prompts: library.promptsDigest(principal),
      resources: library.skillsDigest(principal),
    }
  }

  #versionsOf({ principal, watched }: Stream): Map<string, string | undefined> {
    const { library } = this.#deps.snapshot(principal)
    return new Map([...watched()].map((uri) => [uri, skillFileAt(library, principal, uri)?.file.digest]))
  }
}

/** Message parameters that say which subscription they belong to. */
export function tagged(params: Json, subscriptionId: RequestId | undefined): Json {
  return subscriptionId === undefined
    ? params
    : { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': subscriptionId } }
}

function conversationOf(principal: Principal): string {
  return `${peerOf(principal)}\n${principal.sessionId ?? ''}`
}
