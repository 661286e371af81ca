/**
 * The transactions of one process. They run beside each other; those that are known to change the same document wait here,
 * without a connection, and then run as one: what the first of them locks and reads serves all.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '#leaf/errors.ts'
import { Collision, isCollision, outage } from '../servers/errors.ts'

/** The most tries of one unit. */
const mostTries = 14
/** The most units of one transaction. */
const mostTogether = 32
const longestPause = 64

/** A piece of work that is committed as a whole or not at all. */
export interface Unit {
  /** The keys of the documents that it is known to change and that others change too. */
  readonly keys: Set<string>
  tries: number
  /** True to run it in a transaction of its own. */
  isSingle: boolean
  /** True when it found an id or a value taken. */
  isCareful: boolean
  /** True when there was nobody to wait for, or waiting for others took too long. */
  isPatient: boolean
}

/** Runs units in one transaction; on a collision the keys that they met are what the next try waits for. */
export interface Attempt {
  readonly keys: readonly string[]
  /** Claims a document that was not declared; false when others of this process hold it. */
  claim(key: string): boolean
  met: readonly string[]
}

interface Waiting<U extends Unit> {
  readonly unit: U
  readonly settle: (error?: Error) => void
}

export class Units<U extends Unit> {
  readonly #run: (units: readonly U[], attempt: Attempt) => Promise<void>
  readonly #most: () => number
  #waiting: Waiting<U>[] = []
  #active = 0
  /** Who holds each key. */
  readonly #held = new Map<string, Attempt>()
  #running = 0
  #pauses = 0
  #idle: (() => void)[] = []

  /** `most` returns how many may run at once: those that wait hold no connection, and wait as long as they must. */
  constructor(run: (units: readonly U[], attempt: Attempt) => Promise<void>, most: () => number) {
    this.#run = run
    this.#most = most
  }

  /** Settles when the unit has ended, committed or not. */
  run(unit: U): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error))
      this.#waiting.push({ unit, settle })
      this.#pump()
    })
  }

  /** Settles when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    if (this.#running + this.#waiting.length > 0)
      await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #pump(): void {
    const later: Waiting<U>[] = []
    const queue = this.#waiting
    for (let first = queue.shift(); first; first = queue.shift()) {
      if (this.#active >= this.#most() || this.#isHeld(first)) later.push(first)
      else this.#begin(this.#together(first, queue))
    }
    this.#waiting = later
    if (this.#running + later.length === 0) for (const idle of this.#idle.splice(0)) idle()
  }

  #isHeld({ unit: { keys } }: Waiting<U>): boolean {
    for (const key of keys) if (this.#held.has(key)) return true
    return false
  }

  /** Takes from the queue those who would wait for the first, or for one of these. */
  #together(first: Waiting<U>, queue: Waiting<U>[]): readonly Waiting<U>[] {
    const group = [first]
    if (first.unit.isSingle || first.unit.keys.size === 0) return group
    const keys = new Set(first.unit.keys)
    for (let at = 0; at < queue.length && group.length < mostTogether;) {
      const { unit } = queue[at]!
      const shares = [...unit.keys].some((key) => keys.has(key))
      if (!shares || unit.isSingle || this.#isHeld(queue[at]!)) at++
      else {
        for (const key of unit.keys) keys.add(key)
        group.push(...queue.splice(at, 1))
      }
    }
    return group
  }

  #begin(group: readonly Waiting<U>[]): void {
    const keys = [...new Set(group.flatMap(({ unit }) => [...unit.keys]))]
    const claimed = new Set(keys)
    const attempt: Attempt = {
      keys,
      claim: (key) => {
        const holder = this.#held.get(key)
        if (holder !== undefined && holder !== attempt) return false
        this.#held.set(key, attempt)
        claimed.add(key)
        return true
      },
      met: [],
    }
    for (const key of keys) this.#held.set(key, attempt)
    this.#running++
    this.#active++
    const units = group.map(({ unit }) => unit)
    void this.#run(units, attempt).then(
      () => this.#end(claimed, () => group.forEach(({ settle }) => settle())),
      (error: unknown) => this.#end(claimed, () => this.#failed(group, attempt, error)),
    )
  }

  #end(claimed: ReadonlySet<string>, then: () => void): void {
    for (const key of claimed) this.#held.delete(key)
    this.#running--
    this.#active--
    then()
    this.#pump()
  }

  /** Lets units that collided try again, and those that fell with another by themselves. */
  #failed(group: readonly Waiting<U>[], attempt: Attempt, error: unknown): void {
    const collided = isCollision(error)
    const isLonely = group.length === 1
    for (const one of group) {
      const { unit, settle } = one
      const again = collided ? ++unit.tries < mostTries : !isLonely && outage(causeOf(error)) === undefined
      if (!again) settle(error instanceof Error ? error : new Error(String(error)))
      else if (!collided)
        this.#again(Object.assign(one, { unit: Object.assign(unit, { isSingle: true }) }), 0)
      else this.#again(this.#wiser(one, attempt, error), pauseAfter(unit.tries, this.#pauses++))
    }
  }

  #wiser(one: Waiting<U>, attempt: Attempt, error: unknown): Waiting<U> {
    const { unit } = one
    const collision = collisionOf(error)
    unit.isPatient = true
    if (collision?.isTaken) unit.isCareful = true
    for (const key of collision && (collision.keys.length > 0 || collision.isTaken)
      ? collision.keys
      : attempt.met)
      unit.keys.add(key)
    // A group that goes on colliding is none of one key.
    if (unit.tries > 4) unit.isSingle = true
    return one
  }

  #again(one: Waiting<U>, pause: number): void {
    this.#running++
    const begin = (): void => {
      this.#running--
      this.#waiting.unshift(one)
      this.#pump()
    }
    if (pause < 1) queueMicrotask(begin)
    else void wait(pause).then(begin)
  }
}

function collisionOf(error: unknown): Collision | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof Collision) return at
  return undefined
}

function causeOf(error: unknown): unknown {
  return error instanceof AppError && error.cause !== undefined ? error.cause : error
}

/** Returns milliseconds to wait after some tries; not the same for everybody. */
function pauseAfter(tries: number, n: number): number {
  return tries > 2 ? (Math.min(2 ** tries, longestPause) * (1 + (n % 7))) / 7 : 0
}
