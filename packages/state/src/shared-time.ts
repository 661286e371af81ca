/**
 * The time by which stored documents expire. A machine's clock may be wrong, and what it removes does not come back:
 * daemons on one database go by the database's time, and a daemon alone by the highest time it has seen.
 */
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'

/** Milliseconds of skew that are reported: a clock kept by a time service never gets so far off. */
const toldSkew = 3_000
/** Milliseconds that a machine's clock may be off and still write. */
const borneSkew = 30_000
/** Milliseconds that expired documents are kept. */
export const keptAfterEnd = 86_400_000
const betweenMarks = 60_000
/** Milliseconds without another jump after which a clock is believed. */
const believedAfter = 3_600_000

/** A clock's faults in words; undefined while the clock is right enough. */
export interface ClockFaults {
  readonly told: string | undefined
  /** The reason why nothing is written. */
  readonly fault: string | undefined
}

/** The clock of all who share a database: the machine's own, corrected by the database's time. */
export class SharedTime implements Clock, ClockFaults {
  readonly #machine: Clock
  /** Milliseconds to add to the machine's time. */
  #offset = 0

  constructor(machine: Clock) {
    this.#machine = machine
  }

  now(): number {
    return this.#machine.now() + this.#offset
  }

  get told(): string | undefined {
    return Math.abs(this.#offset) > toldSkew ? skewText(-this.#offset, "the database's") : undefined
  }

  get fault(): string | undefined {
    return Math.abs(this.#offset) > borneSkew
      ? `${skewText(-this.#offset, "the database's")}, so nothing is written`
      : undefined
  }

  /** Does what `note` does, and logs when the machine's clock is wrong, or right again. */
  noteAloud(asked: number, told: number, log: Log): void {
    const before = [this.told, this.fault] as const
    this.note(asked, told)
    const now = this.fault ?? this.told
    if (now === undefined && before[0] !== undefined) log.info("the clock agrees with the database's again")
    const isNews = before[0] === undefined || (before[1] === undefined) !== (this.fault === undefined)
    if (now !== undefined && isNews) log.warn(now)
  }

  /** Takes the database's time, told between `asked` (machine's clock) and now; changes the offset only if provably wrong. */
  note(asked: number, told: number): void {
    const least = Math.floor(told - this.#machine.now())
    const most = Math.ceil(told - asked)
    this.#offset = Math.max(least, Math.min(this.#offset, most))
  }
}

/** Tracks the highest time that a state has seen, as far as it can be believed. */
export class SeenTime implements ClockFaults {
  readonly #machine: Clock
  /** Milliseconds by a monotonic clock. */
  readonly #steady: () => number
  #highest: number
  #last: number
  #lastSteady: number
  /** The sum of the recent jumps of the machine's clock, in milliseconds; at about 0 the clock is right again. */
  #jumped = 0
  #lastJump = 0
  /** Milliseconds that the program has run while the clock was far ahead. */
  #ran = 0
  #marked = 0

  constructor(machine: Clock, steady = () => performance.now()) {
    this.#machine = machine
    this.#steady = steady
    this.#highest = this.#last = machine.now()
    this.#lastSteady = steady()
  }

  /** Reads the clock and returns the highest time. A clock that is far ahead of it is believed when it has run so for a day. */
  look(): number {
    const now = this.#machine.now()
    const step = now - this.#last
    this.#last = now
    this.#notice(step)
    if (now - this.#highest <= keptAfterEnd) {
      this.#highest = Math.max(this.#highest, now)
      this.#ran = 0
    } else {
      if (step > 0 && step <= keptAfterEnd) this.#ran += step
      if (this.#ran >= keptAfterEnd) this.#highest = now
    }
    return this.#highest
  }

  /** Detects a clock that jumped ahead and back again: what it said in between was wrong and does not count. */
  #notice(step: number): void {
    const steady = this.#steady()
    const jump = step - (steady - this.#lastSteady)
    this.#lastSteady = steady
    if (Math.abs(jump) > toldSkew) {
      const before = this.#jumped
      this.#jumped += jump
      this.#lastJump = steady
      if (Math.abs(before) <= borneSkew || Math.abs(this.#jumped) > borneSkew) return
      this.#highest = Math.min(this.#highest, this.#last)
      this.#jumped = 0
    } else if (steady - this.#lastJump > believedAfter) this.#jumped = 0
  }

  /** Continues from the time the state saw before. To start the program with a clock behind it is to say the clock is right. */
  begin(seen: number): string | undefined {
    const behind = this.#machine.now() - seen
    this.#marked = seen
    this.#highest = behind < -borneSkew ? this.#machine.now() : seen
    return behind < -borneSkew ? skewText(behind, 'the last write') : this.told
  }

  /** Returns, now and then, the time to store with a write, so that the next start knows it. */
  mark(): number | undefined {
    const highest = this.look()
    if (Math.abs(highest - this.#marked) < betweenMarks) return undefined
    return (this.#marked = highest)
  }

  /** Throws AppError `unavailable` while the clock is too far behind. */
  requireRight(): void {
    if (this.fault !== undefined) throw new AppError('unavailable', this.fault)
  }

  get told(): string | undefined {
    const off = this.#machine.now() - this.look()
    if (off > keptAfterEnd)
      return `${skewText(off, 'the last write')}; for a day nothing that ended is removed`
    return off < -toldSkew ? skewText(off, 'the last write') : undefined
  }

  get fault(): string | undefined {
    const off = this.#machine.now() - this.look()
    const start = 'if it is right now, start the program again'
    return off < -borneSkew
      ? `${skewText(off, 'the last write')}, so nothing is written; ${start}`
      : undefined
  }
}

function skewText(milliseconds: number, what: string): string {
  const seconds = Math.abs(milliseconds) / 1000
  const [amount, unit] = seconds < 7_200 ? [seconds, 's'] : [seconds / 3_600, 'hours']
  return `the clock of this machine is ${Math.round(amount)} ${unit} ${milliseconds > 0 ? 'ahead of' : 'behind'} ${what}`
}
