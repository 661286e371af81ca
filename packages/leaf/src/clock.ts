/** Clocks: the time of the day, and the time that a thread had a processor. */
import { readFileSync } from 'node:fs'

/** A clock, the one way for time to enter the program (design decision D13); tests pass one they can move. */
export interface Clock {
  /** Returns milliseconds since the Unix epoch. */
  now(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() }

/**
 * Returns the clock of the milliseconds that a thread had a processor, by its folder in proc(5): what other programs
 * take does not count as the thread's own. Where the system does not tell it, all milliseconds count.
 */
export function clockOfThread(folder = '/proc/thread-self'): Clock {
  const file = `${folder}/schedstat`
  const now = (): number => {
    try {
      return Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6
    } catch {
      // The thread has ended meanwhile, and its time with it.
      return Infinity
    }
  }
  const told = now()
  return told > 0 && told < Infinity ? { now } : performance
}

/** Formats an instant as ISO 8601 in UTC with milliseconds. */
export function isoTime(milliseconds: number): string {
  const whole = Math.trunc(milliseconds)
  const second = Math.floor(whole / 1000)
  if (second !== last.second) last = { second, text: new Date(whole).toISOString().replace(/\d{3}Z$/, '') }
  return `${last.text}${String(whole - second * 1000).padStart(3, '0')}Z`
}

/** A cache of the last second and its text, which is most of the text of all instants in it. */
let last = { second: 0, text: '1970-01-01T00:00:00.' }

/** Converts to whole seconds since the Unix epoch, as OAuth and JWT count time. */
export function epochSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
