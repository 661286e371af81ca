/** Where time enters the program (design decision D13); tests hand in one they can move. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() }

/** An instant as ISO 8601 in UTC with milliseconds. */
export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

/** Whole seconds since the Unix epoch, as OAuth and JWT count time. */
export function epochSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
