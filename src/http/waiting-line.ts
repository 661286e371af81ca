/**
 * The line in front of everything. While there is time a request is begun as it comes; otherwise it waits in the line of
 * whoever sent it, and these take turns. A line that does not end is no burst: from then on it is kept short, and what
 * whoever has most in it sends more is put aside, not looked at, to be told to come again. Telling costs time as well, so
 * little of it is done at once: until then nothing more can come on these connections. And a connection of whoever has
 * many waiting is not read from once it is answered, until there is room for what it brings: so that stays with its
 * sender, where it costs nothing here. What is asked about health stands in no line.
 */
import type { Socket } from 'node:net'
import process from 'node:process'

/** A request that was not begun. */
export interface Waiting {
  readonly begin: () => void
  /** Tells its sender to come again. */
  readonly refuse: () => void
  readonly socket: Pick<Socket, 'destroyed' | 'destroy' | 'pause' | 'resume'>
}

/** Milliseconds of work that are begun in a row; then the thread looks who came meanwhile. */
const slice = 2
/** It takes in one connection each time it looks (libuv since 1.45): where one came, it looks for others for so long. */
const looking = 1
/** A line that was never empty for so many milliseconds stands; until then it may become as long. */
const burst = 1000
/** As long as this it is kept from then on. */
const patience = 250
/** Who has fewer waiting is no flood, however slow the machine is. */
const few = 16
/** Of whoever has as many waiting, nothing more is read. */
const many = 64
/** Of those that are not read from, so many are in each slice all the same: none waits for the others to end. */
const atLeast = 4
const mostRemembered = 2000

/** The line of one daemon. */
export class WaitingLine {
  readonly #most: () => number
  readonly #isRoomy: () => boolean
  readonly #now: () => number
  /** By caller; whose turn is next comes first. */
  readonly #lines = new Map<string, Waiting[]>()
  /** For whom whoever presents something works, by its digest. */
  readonly #users = new Map<string, string>()
  #waiting = 0
  /** What is to be refused, one of each connection, and is begun after all when nobody else waits. */
  readonly #aside = new Map<Waiting['socket'], Waiting>()
  /** Connections that are not read from, by caller; the one that was answered first comes first. */
  readonly #unread = new Map<string, Waiting['socket'][]>()
  /** Since when somebody has been waiting. */
  #since = 0
  #sliceBegan: number | undefined
  #begun = 0
  /** Milliseconds from one beginning to the next, with all that these bring about. */
  #pace = 1
  #connected = false
  #lookingSince: number | undefined

  /** `isRoomy`: what is put aside may be begun, and takes no place from others. */
  constructor(deps: { most: () => number; isRoomy?: () => boolean; now?: () => number }) {
    this.#most = deps.most
    this.#isRoomy = deps.isRoomy ?? (() => true)
    this.#now = deps.now ?? (() => performance.now())
  }

  /** Whether one more request may be begun as it comes. */
  isFree(): boolean {
    if (this.#waiting > 0) return false
    const now = this.#now()
    if (now >= this.#endOfSlice(now)) return false
    this.#begun++
    return true
  }

  /** Has a request wait for its turn; false when it is put aside. */
  wait(caller: string, request: Waiting): boolean {
    const now = this.#now()
    const own = this.#lines.get(caller)
    this.#endOfSlice(now)
    const hasRoom = this.#hasRoom(own?.length ?? 0, now)
    if (!hasRoom) this.#putAside(request)
    else if (own) own.push(request)
    else this.#lines.set(caller, [request])
    if (hasRoom && this.#waiting++ === 0) this.#since = now
    return hasRoom
  }

  /** Who sends more on a connection without waiting for an answer is told nothing. */
  #putAside(request: Waiting): void {
    if (this.#aside.has(request.socket)) request.socket.destroy()
    else this.#aside.set(request.socket, request)
  }

  /** A request that waited was answered: whoever has many more waiting is not read from there for now. */
  answered(caller: string, socket: Waiting['socket']): void {
    if (socket.destroyed || (this.#lines.get(caller)?.length ?? 0) < many) return
    socket.pause()
    const unread = this.#unread.get(caller)
    if (unread) unread.push(socket)
    else this.#unread.set(caller, [socket])
  }

  /** Reads where there is room for what comes, and always somewhere. */
  #readOn(): void {
    for (const [caller, unread] of this.#unread) {
      const room = many - (this.#lines.get(caller)?.length ?? 0)
      for (const socket of unread.splice(0, Math.max(atLeast, room))) socket.resume()
      if (unread.length === 0) this.#unread.delete(caller)
    }
  }

  /** Somebody connected; others may be waiting for that. */
  connected(): void {
    this.#connected = true
  }

  /** It turned out for whom whoever presents this works. */
  know(presented: string, user: string): void {
    if (this.#users.get(presented) === user) return
    if (this.#users.size >= mostRemembered) this.#users.clear()
    this.#users.set(presented, user)
  }

  /** For whom whoever presents this works, where that is known. */
  userOf(presented: string): string | undefined {
    return this.#users.get(presented)
  }

  /** Who has less in the line than others have on the average is let in while there is any room at all. */
  #hasRoom(own: number, now: number): boolean {
    const most = this.#most()
    if (own === 0 || own * this.#lines.size < this.#waiting) return this.#waiting < most
    const longest = now - this.#since > burst ? patience : burst
    return this.#waiting < most / 2 && (own < few || this.#waiting * this.#pace < longest)
  }

  /** A slice begins with the first request that the thread finds when it looks. */
  #endOfSlice(now: number): number {
    if (this.#sliceBegan === undefined) {
      this.#sliceBegan = now
      setImmediate(() => this.#beginSlice())
    }
    return this.#sliceBegan + slice
  }

  #beginSlice(): void {
    const now = this.#now()
    this.#lookingSince ??= now
    const again = this.#connected && this.#waiting > 0 && now - this.#lookingSince < looking
    this.#connected = false
    if (again) return void setImmediate(() => this.#beginSlice())
    this.#lookingSince = undefined
    if (this.#begun > 0) this.#pace += ((now - this.#sliceBegan!) / this.#begun - this.#pace) / 8
    this.#begun = 0
    this.#sliceBegan = undefined
    // One in each slice: it costs about 50 µs.
    if (this.#waiting > 0 || !this.#isRoomy()) this.#nextAside()?.refuse()
    this.#readOn()
    if (this.#waiting + this.#aside.size + this.#unread.size === 0) return
    this.#endOfSlice(now)
    this.#takeTurn()
  }

  /** The first of those put aside that still waits. */
  #nextAside(): Waiting | undefined {
    for (const [socket, request] of this.#aside) {
      this.#aside.delete(socket)
      if (!socket.destroyed) return request
    }
    return undefined
  }

  #takeTurn(): void {
    const next = this.#now() < this.#sliceBegan! + slice ? this.#next() : undefined
    if (!next) return
    this.#begun++
    next.begin()
    // Once what it began has come as far as it can without waiting for anything.
    queueMicrotask(() => process.nextTick(() => this.#takeTurn()))
  }

  /** The first of the caller who waited longest for a turn; when nobody waits, of what was put aside. */
  #next(): Waiting | undefined {
    for (const [caller, own] of this.#lines) {
      const first = own.shift()!
      this.#waiting--
      this.#lines.delete(caller)
      if (own.length > 0) this.#lines.set(caller, own)
      if (!first.socket.destroyed) return first
    }
    return this.#isRoomy() ? this.#nextAside() : undefined
  }
}
