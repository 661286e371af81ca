/**
 * What streams of calls sent and are still to send, for clients that lose their connection (MCP 2025-03-26 to 2025-11-25,
 * resumability): a GET with `Last-Event-ID` at any daemon gets what it missed, and the answer once there is one. The daemon
 * that runs the call keeps it in memory; the state gets it only when the connection broke, or when another daemon asks.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import type { Collection, CollectionSpec, Store, Stored } from '#state/store.ts'
import { announce, hear } from '../../core/announcements.ts'
import type { Principal } from '../../core/principal.ts'
import { peerOf } from '../call.ts'
import type { Channel } from './channel.ts'

/** Milliseconds that a stream can be resumed after its end, and that the state keeps a message. */
const keptMilliseconds = 120_000
/** The most streams that a daemon keeps, and characters of one and of all; of one the answer is kept in any case. */
const most = { streams: 1_000, ofOne: 256 * 1024, ofAll: 32 << 20 }
/** Milliseconds within which the daemon that runs a call says so, and between two times that it is asked. */
const answerMilliseconds = 5_000
const askMilliseconds = 15_000

/** A message, by its number in its stream; the one numbered 0 is empty. */
interface KeptMessage extends Stored {
  readonly stream: string
  readonly n: number
  readonly owner: string
  readonly data: string
  readonly isLast: boolean
  readonly forgetAt: number
}

const spec: CollectionSpec<KeptMessage> = {
  name: 'mcp.stream',
  indexes: ['stream'],
  ordered: ['n'],
  expires: 'forgetAt',
}

type Message = Pick<KeptMessage, 'n' | 'data' | 'isLast'>

/** One stream of a call that runs here, or ended a short while ago. */
export class KeptStream {
  readonly id = randomId()
  readonly owner: string
  readonly #changed: (stream: KeptStream) => void
  messages: Message[] = [{ n: 0, data: '', isLast: false }]
  size = 0
  /** The number of the last message in the state; undefined until somebody may look for it there. */
  stored: number | undefined
  isOver = false
  readonly #followers = new Set<Channel>()

  constructor(owner: string, changed: (stream: KeptStream) => void) {
    this.owner = owner
    this.#changed = changed
  }

  /** The id of the event with which the stream begins. */
  get begun(): string {
    return eventId(this.id, 0)
  }

  /** Adds a message, the last one being the answer; returns the id of its event. */
  add(data: string, isLast = false): string {
    const n = this.messages.at(-1)!.n + 1
    this.messages.push({ n, data, isLast })
    this.size += data.length
    while (this.size > most.ofOne && this.messages.length > 2)
      this.size -= this.messages.splice(1, 1)[0]!.data.length
    for (const channel of this.#followers) channel.write(data, eventId(this.id, n), !isLast)
    if (isLast) this.#over()
    this.#changed(this)
    return eventId(this.id, n)
  }

  /** Ends the stream, if it has not ended, without an answer: its client took the call back. */
  end(): void {
    if (this.isOver) return
    this.#over()
    this.messages.push({ n: this.messages.at(-1)!.n + 1, data: '', isLast: true })
    this.#changed(this)
  }

  /** Puts the stream into the state: its client has lost the connection, and may come back anywhere. */
  broke(): void {
    this.stored ??= -1
    this.#changed(this)
  }

  /** Sends on another connection what came after a message, and what is to come. */
  goOn(channel: Channel, after: number): void {
    replay(channel, this.id, this.messages, after)
    if (this.isOver) return channel.end(200)
    this.#followers.add(channel)
    channel.onClose(() => this.#followers.delete(channel))
  }

  #over(): void {
    this.isOver = true
    for (const channel of this.#followers) channel.end(200)
    this.#followers.clear()
  }
}

/** The streams of calls that can be resumed. */
export class KeptStreams {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #kept: Collection<KeptMessage>
  readonly #streams = new Map<string, KeptStream>()
  /** Wakes those who follow a stream of another daemon. */
  readonly #followers = new Map<string, Set<() => void>>()
  readonly #writing = new Set<KeptStream>()

  constructor({ store, clock, log }: { readonly store: Store; readonly clock: Clock; readonly log: Log }) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#kept = store.collection(spec)
    const wakeAll = (): void => {
      for (const id of this.#followers.keys()) this.#wake(id)
    }
    hear(store, 'streamAsked', (id) => this.#streams.get(id)?.broke())
    hear(store, 'streamTold', (id) => this.#wake(id), wakeAll)
  }

  /** Begins a stream for the call of a principal. */
  begin(principal: Principal): KeptStream {
    const stream = new KeptStream(ownerOf(principal), (changed) => this.#changed(changed))
    this.#streams.set(stream.id, stream)
    this.#makeRoom()
    return stream
  }

  /** Goes on with a stream on a connection of its client; false when there is none of this id for this principal. */
  async resume(principal: Principal, lastEventId: string, channel: Channel): Promise<boolean> {
    const [, id = '', number] = /^([\w-]{22})\.(\d{1,9})$/.exec(lastEventId) ?? []
    const owner = ownerOf(principal)
    const here = this.#streams.get(id)
    if (here) {
      if (here.owner !== owner) return false
      channel.begin()
      here.goOn(channel, Number(number))
      return true
    }
    if (id === '' || this.#isAlone) return false
    const news = this.#news(id)
    if ((await this.#read(id)).length === 0) {
      await this.#ask(id)
      await Promise.race([news, wait(answerMilliseconds, undefined, { ref: false })])
    }
    const [first] = await this.#read(id)
    if (first?.owner !== owner) return false
    channel.begin()
    void this.#follow(id, Number(number), channel).catch((error: unknown) => {
      this.#log.warn('a stream of another daemon could not be followed', { error })
      channel.end(200)
    })
    return true
  }

  /** Sends what the daemon that runs the call puts into the state, until its end or until nobody runs it. */
  async #follow(id: string, after: number, channel: Channel): Promise<void> {
    const gone = new Promise<'gone'>((resolve) => channel.onClose(() => resolve('gone')))
    let isAsked = false
    for (let at = after; ;) {
      const news = this.#news(id)
      const found = await this.#read(id)
      at = replay(channel, id, found, at)
      if (found.at(-1)?.isLast !== false) return channel.end(200)
      if (isAsked) await this.#ask(id)
      const patience: number = isAsked ? answerMilliseconds : askMilliseconds
      const why: unknown = await Promise.race([news, gone, wait(patience, 'late' as const, { ref: false })])
      if (why === 'gone') return
      // The daemon that ran the call is no more.
      if (why === 'late' && isAsked) return channel.end(200)
      isAsked = why === 'late'
    }
  }

  get #isAlone(): boolean {
    return this.#store.stats().kind === 'embedded'
  }

  #read(stream: string): Promise<readonly KeptMessage[]> {
    return this.#kept.find({ where: { stream }, order: [{ field: 'n' }] })
  }

  async #ask(id: string): Promise<void> {
    await this.#store.transaction(async (tx) => announce(tx, 'streamAsked', id))
  }

  #news(id: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#followers.get(id) ?? new Set()
      this.#followers.set(id, waiting.add(resolve))
      void wait(askMilliseconds * 2, undefined, { ref: false }).then(() => this.#forgetWaiting(id, resolve))
    })
  }

  #forgetWaiting(id: string, waiting: () => void): void {
    const all = this.#followers.get(id)
    all?.delete(waiting)
    if (all?.size === 0) this.#followers.delete(id)
  }

  #wake(id: string): void {
    const waiting = this.#followers.get(id) ?? []
    this.#followers.delete(id)
    for (const wake of waiting) wake()
  }

  #changed(stream: KeptStream): void {
    if (stream.isOver) {
      const forget = (): void => void this.#streams.delete(stream.id)
      void wait(keptMilliseconds, undefined, { ref: false }).then(forget)
    }
    this.#makeRoom()
    if (stream.stored !== undefined && !this.#isAlone && !this.#writing.has(stream)) void this.#write(stream)
  }

  /** Puts into the state what is not there, and tells those who follow; also when nothing is new, as an answer to being asked. */
  async #write(stream: KeptStream): Promise<void> {
    this.#writing.add(stream)
    try {
      do {
        const fresh = stream.messages.filter(({ n }) => n > stream.stored!)
        const forgetAt = this.#clock.now() + keptMilliseconds
        const { id, owner } = stream
        await this.#store.transaction(async (tx) => {
          const kept = tx.in(this.#kept)
          for (const message of fresh)
            await kept.put({ ...message, id: eventId(id, message.n), stream: id, owner, forgetAt })
          announce(tx, 'streamTold', id)
        })
        stream.stored = fresh.at(-1)?.n ?? stream.stored
      } while (stream.messages.at(-1)!.n > stream.stored!)
    } catch (error) {
      this.#log.warn('a broken stream could not be kept', { error })
    } finally {
      this.#writing.delete(stream)
    }
  }

  /** Forgets the oldest streams that are too many, or too large together. */
  #makeRoom(): void {
    let all = 0
    for (const { size } of this.#streams.values()) all += size
    for (const [id, { size }] of this.#streams) {
      if (this.#streams.size <= most.streams && all <= most.ofAll) break
      this.#streams.delete(id)
      all -= size
    }
  }
}

/** Sends the messages after one that the client has; returns the number of the last. */
function replay(channel: Channel, id: string, messages: readonly Message[], after: number): number {
  for (const { n, data } of messages) if (n > after && data !== '') channel.write(data, eventId(id, n))
  return Math.max(after, messages.at(-1)?.n ?? 0)
}

function eventId(stream: string, n: number): string {
  return `${stream}.${n}`
}

/** Returns whose stream it is: another conversation may not resume it, nor who may by now do less. */
function ownerOf(principal: Principal): string {
  return sha256(`${peerOf(principal)}\n${principal.sessionId ?? ''}\n${principal.roleKey}`)
}
