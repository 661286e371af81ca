/**
 * The queue in front of everything. While there is time a request is begun as it comes; otherwise it waits in its caller's
 * line, and the lines take turns; a caller whose work took long is passed over for as long. A queue that never empties is
 * no burst: from then on it is kept short, and further requests of those with most in it are put aside unread, to be told
 * to retry. Telling costs time as well, so it is done a little at a time: until then nothing more can come on these
 * connections. A connection of a caller with many waiting is not read from after its answer, until there is room: so its
 * requests stay with their sender, where they cost nothing here. Health checks skip the queue.
 */
import type { Socket } from 'node:net'
import process from 'node:process'
import { PassingMap } from '#leaf/passing-map.ts'

/** A request that has not begun. */
export interface Waiting {
  readonly begin: () => void
  /** Tells its sender to retry. */
  readonly refuse: () => void
  readonly socket: Pick<Socket, 'destroyed' | 'destroy' | 'pause' | 'resume'>
}

/** Milliseconds in which requests are begun in a row; then the thread looks for new ones. */
const slice = 2
/** Milliseconds to look for more connections after one came: each look accepts only one (libuv since 1.45). */
const looking = 1
/** Milliseconds after which a queue that was never empty is no burst; until then it may hold as many milliseconds of work. */
const burst = 1000
/** Milliseconds of work that the queue may hold from then on. */
const patience = 250
/** A caller with fewer waiting is no flood, however slow the machine is. */
const few = 16
/** The number of a caller's waiting requests from which their answered connections are paused. */
const many = 64
/** The paused connections of a caller that are resumed in each slice in any case: none waits for the others to end. */
const atLeast = 4
const mostRemembered = 2000

/** The queue of one daemon. */
export class WaitingLine {
  readonly #most: () => number
  readonly #isRoomy: () => boolean
  readonly #now: () => number
  /** The lines by caller; the caller whose turn is next comes first. A Map, in which who moves to the end is met again. */
  readonly #lines = new Map<string, Waiting[]>()
  /** By caller: milliseconds used beyond their turns while others waited. */
  readonly #owed = new Map<string, number>()
  /** The user by the digest of the credentials presented. */
  readonly #users = new Map<string, string>()
  #waiting = 0
  /** Requests to be refused, one per connection; they are begun after all when nobody else waits. */
  readonly #aside = new PassingMap<Waiting['socket'], Waiting>()
  /** Paused connections by caller; the one answered first comes first. */
  readonly #unread = new PassingMap<string, Waiting['socket'][]>()
  /** The time since which somebody has been waiting. */
  #since = 0
  #sliceBegan: number | undefined
  #begun = 0
  /** The average milliseconds from one begin to the next, with all the work these cause. */
  #pace = 1
  #connected = false
  #lookingSince: number | undefined

  /** `isRoomy` is true when requests put aside may be begun without taking a place from others. */
  constructor(deps: { most: () => number; isRoomy?: () => boolean; now?: () => number }) {
    this.#most = deps.most
    this.#isRoomy = deps.isRoomy ?? (() => true)
    this.#now = deps.now ?? (() => performance.now())
  }

  /** True when one more request may be begun as it comes. */
  isFree(): boolean {
    if (this.#waiting > 0) return false
    const now = this.#now()
    if (now >= this.#endOfSlice(now)) return false
    this.#begun++
    return true
  }

  /** Queues a request; false when it is put aside. */
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

  /** Puts a request aside; one more on the same connection, sent without waiting for an answer, ends the connection. */
  #putAside(request: Waiting): void {
    if (this.#aside.has(request.socket)) request.socket.destroy()
    else this.#aside.set(request.socket, request)
  }

  /** Notes the answer to a request that waited: its connection is paused if the caller has many more waiting. */
  answered(caller: string, socket: Waiting['socket']): void {
    if (socket.destroyed || (this.#lines.get(caller)?.length ?? 0) < many) return
    socket.pause()
    const unread = this.#unread.get(caller)
    if (unread) unread.push(socket)
    else this.#unread.set(caller, [socket])
  }

  /** Resumes connections where there is room, and always a few. */
  #readOn(): void {
    for (const [caller, unread] of this.#unread) {
      const room = many - (this.#lines.get(caller)?.length ?? 0)
      for (const socket of unread.splice(0, Math.max(atLeast, room))) socket.resume()
      if (unread.length === 0) this.#unread.delete(caller)
    }
  }

  /** Notes a new connection; others may be waiting to be accepted. */
  connected(): void {
    this.#connected = true
  }

  /** Records the user of presented credentials. */
  know(presented: string, user: string): void {
    if (this.#users.get(presented) === user) return
    if (this.#users.size >= mostRemembered) this.#users.clear()
    this.#users.set(presented, user)
  }

  /** Returns the user of presented credentials, where known. */
  userOf(presented: string): string | undefined {
    return this.#users.get(presented)
  }

  /** True when a caller may queue one more: one with fewer than the average is let in while there is any room at all. */
  #hasRoom(own: number, now: number): boolean {
    const most = this.#most()
    if (own === 0 || own * this.#lines.size < this.#waiting) return this.#waiting < most
    const longest = now - this.#since > burst ? patience : burst
    return this.#waiting < most / 2 && (own < few || this.#waiting * this.#pace < longest)
  }

  /** Returns the end of the slice, which begins with the first request that the thread finds when it looks. */
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
    // One refusal per slice: it costs about 50 µs.
    if (this.#waiting > 0 || !this.#isRoomy()) this.#nextAside()?.refuse()
    this.#readOn()
    if (this.#waiting + this.#aside.size + this.#unread.size === 0) return this.#owed.clear()
    this.#endOfSlice(now)
    this.#takeTurn()
  }

  /** Takes the first request put aside whose connection is still open. */
  #nextAside(): Waiting | undefined {
    for (const [socket, request] of this.#aside) {
      this.#aside.delete(socket)
      if (!socket.destroyed) return request
    }
    return undefined
  }

  #takeTurn(): void {
    const began = this.#now()
    const next = began < this.#sliceBegan! + slice ? this.#next() : undefined
    if (!next) return
    const [request, caller] = next
    this.#begun++
    request.begin()
    // Measured once the work it began has come as far as it can without waiting for anything.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#took(caller, this.#now() - began)
        this.#takeTurn()
      }),
    )
  }

  #took(caller: string, milliseconds: number): void {
    if (milliseconds <= slice) return
    if (this.#owed.size >= mostRemembered) this.#owed.clear()
    this.#owed.set(caller, (this.#owed.get(caller) ?? 0) + milliseconds - slice)
  }

  /** True when a caller is passed over for now, which pays a turn; a caller that waits alone never is. */
  #pays(caller: string): boolean {
    const owed = this.#lines.size === 1 ? 0 : (this.#owed.get(caller) ?? 0)
    if (owed <= slice) this.#owed.delete(caller)
    else this.#owed.set(caller, owed - slice)
    return owed > 0
  }

  /** Takes the first request of the caller whose turn is next, and that caller; when nobody waits, one that was put aside. */
  #next(): readonly [Waiting, caller: string] | undefined {
    for (const [caller, own] of this.#lines) {
      if (this.#pays(caller)) {
        this.#lines.delete(caller)
        this.#lines.set(caller, own)
        continue
      }
      const first = own.shift()!
      this.#waiting--
      this.#lines.delete(caller)
      if (own.length > 0) this.#lines.set(caller, own)
      if (!first.socket.destroyed) return [first, caller]
    }
    const aside = this.#isRoomy() ? this.#nextAside() : undefined
    return aside && [aside, '']
  }
}
