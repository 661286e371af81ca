/**
 * Long work on the daemon's own thread, done in slices, cut by the clock and not by counts: the cost of a document or a
 * value depends on what people stored, so no count says how long a slice is.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Stop } from './stop.ts'

/** Work in slices: between two of them other work may run, and may write. */
export type Slices<R> = Generator<undefined, R>

const sliceMilliseconds = 5

/** The timer of a slice: a loop asks it at each step whether the slice is over, and pauses before the next. */
export class Slice {
  #end = performance.now() + sliceMilliseconds

  isOver(): boolean {
    return performance.now() >= this.#end
  }

  begin(): void {
    this.#end = performance.now() + sliceMilliseconds
  }

  /** Ends the slice, for other work, and begins the next. */
  *pause(): Slices<void> {
    yield
    this.begin()
  }

  /** Pauses if the slice is over, where the work is no generator: of many works one goes on in a turn of the event loop. */
  async rest(): Promise<void> {
    if (!this.isOver()) return
    await turnOf('')
    this.begin()
  }
}

/** Runs all slices at once. */
export function atOnce<R>(work: Slices<R>): R {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Runs slices, with one turn of the event loop between them, for work that others wait for anyway: it joins no queue. */
export async function inOwnTurns<R>(work: Slices<R>): Promise<R> {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await turn()
  }
}

/** The queues of waiting slices by user; the user whose turn is next comes first. */
const waiting = new Map<string, (() => void)[]>()
let isLooking = false

/** Waits for a slice's turn: one slice runs at a time, round-robin by user, so that a user who asks more waits longer. */
function turnOf(user: string): Promise<void> {
  return new Promise((resolve) => {
    const own = waiting.get(user)
    if (own) own.push(resolve)
    else waiting.set(user, [resolve])
    if (!isLooking) setImmediate(nextTurn)
    isLooking = true
  })
}

function nextTurn(): void {
  const [user, own] = waiting.entries().next().value!
  own.shift()!()
  waiting.delete(user)
  if (own.length > 0) waiting.set(user, own)
  isLooking = waiting.size > 0
  if (isLooking) setImmediate(nextTurn)
}

/** Runs slices in turns with other work, until the work is stopped; their time is charged to its payer. */
export async function inTurns<R>(work: Slices<R>, stop?: Stop): Promise<R> {
  for (;;) {
    if (stop?.reason) throw stop.reason
    const began = performance.now()
    const { done, value } = work.next()
    stop?.took(performance.now() - began)
    if (done) return value
    await turnOf(stop?.payer?.user ?? '')
  }
}
