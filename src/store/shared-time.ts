/**
 * The time by which what is stored ends. A machine's clock may be wrong, and what it removes does not come back:
 * daemons on one database go by the database's time, and one that is alone by the highest time it has seen.
 */
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** What a clock that is kept by a time service never reaches: from here on it is told. */
const toldSkew = 3_000
/** So far a machine may be off and still write. */
const borneSkew = 30_000
/** What has ended is kept for so long. */
export const keptAfterEnd = 86_400_000
const betweenMarks = 60_000

/** How far a clock is off, in words; undefined while it is nothing to speak of. */
export interface ClockFaults {
  readonly told: string | undefined
  /** Why nothing is written. */
  readonly fault: string | undefined
}

/** The time of all who share a database: the machine's own, put right by what the database last told. */
export class SharedTime implements Clock, ClockFaults {
  readonly #machine: Clock
  /** What is to be added to the machine's time. */
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

  /** Notes it, and tells when the machine's clock is wrong, or right again. */
  noteAloud(asked: number, told: number, log: Log): void {
    const before = [this.told, this.fault] as const
    this.note(asked, told)
    const now = this.fault ?? this.told
    if (now === undefined && before[0] !== undefined) log.info("the clock agrees with the database's again")
    const isNews = before[0] === undefined || (before[1] === undefined) !== (this.fault === undefined)
    if (now !== undefined && isNews) log.warn(now)
  }

  /** Takes what the database told between `asked`, by the machine's clock, and now; only a proof of being wrong changes anything. */
  note(asked: number, told: number): void {
    const least = Math.floor(told - this.#machine.now())
    const most = Math.ceil(told - asked)
    this.#offset = Math.max(least, Math.min(this.#offset, most))
  }
}

/** The highest time that a state has seen, as far as it can be believed. */
export class SeenTime implements ClockFaults {
  readonly #machine: Clock
  #highest: number
  #last: number
  /** How long the program has run while the clock was far ahead. */
  #ran = 0
  #marked = 0

  constructor(machine: Clock) {
    this.#machine = machine
    this.#highest = this.#last = machine.now()
  }

  /** Looks at the clock; answers the highest time. A clock that is far ahead of it is believed when it has gone on so for a day. */
  look(): number {
    const now = this.#machine.now()
    const step = now - this.#last
    this.#last = now
    if (now - this.#highest <= keptAfterEnd) {
      this.#highest = Math.max(this.#highest, now)
      this.#ran = 0
    } else {
      if (step > 0 && step <= keptAfterEnd) this.#ran += step
      if (this.#ran >= keptAfterEnd) this.#highest = now
    }
    return this.#highest
  }

  /** Goes on from what the state saw before. Who starts the program with a clock behind that says that the clock is right. */
  begin(seen: number): string | undefined {
    const behind = this.#machine.now() - seen
    this.#marked = seen
    this.#highest = behind < -borneSkew ? this.#machine.now() : seen
    return behind < -borneSkew ? skewText(behind, 'the last write') : this.told
  }

  /** What is to be kept with a write, now and then, so that the next start knows it. */
  mark(): number | undefined {
    const highest = this.look()
    if (Math.abs(highest - this.#marked) < betweenMarks) return undefined
    return (this.#marked = highest)
  }

  /** AppError `unavailable` while the clock is too far behind. */
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
