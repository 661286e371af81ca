/** Where time enters the program (design decision D13); tests hand in one they can move. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() }

/** An instant as ISO 8601 in UTC with milliseconds. */
export function isoTime(milliseconds: number): string {
  if (milliseconds !== last.milliseconds) last = { milliseconds, text: new Date(milliseconds).toISOString() }
  return last.text
}

/** Of everything that happens in one millisecond the text is made once. */
let last = { milliseconds: 0, text: new Date(0).toISOString() }

/** Whole seconds since the Unix epoch, as OAuth and JWT count time. */
export function epochSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
