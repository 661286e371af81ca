/** Where time enters the program (design decision D13); tests hand in one they can move. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() }

/** An instant as ISO 8601 in UTC with milliseconds. */
export function isoTime(milliseconds: number): string {
  const whole = Math.trunc(milliseconds)
  const second = Math.floor(whole / 1000)
  if (second !== last.second) last = { second, text: new Date(whole).toISOString().replace(/\d{3}Z$/, '') }
  return `${last.text}${String(whole - second * 1000).padStart(3, '0')}Z`
}

/** Of everything that happens in one second most of the text is made once. */
let last = { second: 0, text: '1970-01-01T00:00:00.' }

/** Whole seconds since the Unix epoch, as OAuth and JWT count time. */
export function epochSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
