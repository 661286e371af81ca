import type { Clock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import type { Fault } from './site-files.ts'
import { placeText, SiteFault, wholeMessage } from './site-fault.ts'

const firstPause = 1000
const longestPause = 300_000
/** Milliseconds between two checks of a working dependency that may fail unnoticed while nobody uses it. */
const betweenLooks = 300_000
/** Milliseconds that a process that ended by itself must run before it counts as well, unless it is used earlier. */
const probation = 60_000

/** A fault that keeps tools of the site from working. */
export interface Trouble {
  /** The place in the site, and the fault. */
  readonly fault: Fault
  /** The tools concerned. */
  readonly tools: readonly string[]
  /** The start of the fault, in milliseconds since the epoch. */
  readonly since: number
}

/** Something that the site defines and that may fail. */
export interface Dependency {
  /** Tries to reach it; rejects with a SiteFault where a place of the site is wrong. */
  readonly attempt: () => Promise<unknown>
  /** Returns the place in the site at which to report a fault that lies elsewhere. */
  readonly place: (message: string) => Fault
  /** Set if it is a process beside the daemon, whose end the daemon notices. */
  readonly isProcess?: boolean
  /** Closes it; `now`: nobody waits for its running work. */
  readonly close?: (now: boolean) => void
}

/** Those who are told how a dependency does. */
export interface WatchedBy {
  readonly clock: Clock
  readonly log: Log
  /** What needs it, if not tools. */
  readonly what?: 'doctypes'
  /** Called when its state has changed. */
  readonly onChange?: () => void
}

/** A dependency of tools of the site, which may fail: tried again, with growing pauses, until it is well. */
export class Watched {
  readonly #of: Dependency
  readonly #by: WatchedBy
  readonly #neededBy: () => readonly string[]
  #trouble: { readonly fault: Fault; readonly error: unknown; readonly since: number } | undefined
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #underway: Promise<void> | undefined
  #closed = false

  /** `neededBy` returns the tools that need it, or what else. */
  constructor(of: Dependency, by: WatchedBy, neededBy: () => readonly string[]) {
    this.#of = of
    this.#by = by
    this.#neededBy = neededBy
  }

  get trouble(): Trouble | undefined {
    return (
      this.#trouble && { fault: this.#trouble.fault, since: this.#trouble.since, tools: this.#neededBy() }
    )
  }

  /** The error of the last failure. */
  get error(): unknown {
    return this.#trouble?.error
  }

  /** Tries now; callers that come meanwhile share the result. */
  look(): Promise<void> {
    return (this.#underway ??= this.#look().finally(() => (this.#underway = undefined)))
  }

  /** Tries now if it failed, or if it may have failed unnoticed. */
  async retry(): Promise<void> {
    if (this.#trouble || !this.#of.isProcess) await this.look()
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer)
    try {
      await this.#of.attempt()
    } catch (error) {
      const isNews = messageOf(error) !== messageOf(this.#trouble?.error)
      return this.#failed(error, isNews)
    }
    if (this.#trouble && this.#of.isProcess) this.#after(probation, () => this.well())
    else this.well()
    // The tools may differ from those before.
    this.#by.onChange?.()
  }

  /** Records a failure that its use has shown. */
  failed(error: unknown): void {
    this.#failed(error, true)
  }

  #failed(error: unknown, isNews: boolean): void {
    if (this.#closed) return
    const { log, clock, what = 'tools', onChange } = this.#by
    const where = error instanceof SiteFault ? error.fault : this.#of.place(wholeMessage(error))
    this.#trouble = { fault: where, error, since: this.#trouble?.since ?? clock.now() }
    const pause = Math.min(longestPause, firstPause * 2 ** this.#failures++)
    this.#after(pause, () => void this.look())
    if (!isNews) return
    log.warn(`${what} of the site do not work`, { place: placeText(where), tools: this.#neededBy(), error })
    onChange?.()
  }

  /** Records that it works, as its use or a check has shown. */
  well(): void {
    if (this.#closed) return
    this.#failures = 0
    if (this.#of.isProcess) clearTimeout(this.#timer)
    else this.#after(betweenLooks, () => void this.look())
    if (!this.#trouble) return
    this.#trouble = undefined
    const { log, what = 'tools' } = this.#by
    log.info(`${what} of the site work again`, { tools: this.#neededBy() })
    this.#by.onChange?.()
  }

  #after(milliseconds: number, then: () => void): void {
    clearTimeout(this.#timer)
    if (!this.#closed) this.#timer = setTimeout(then, milliseconds).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }
}
