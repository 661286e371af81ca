/** Weeks of ISO 8601. */

/** The days of a week, in order. */
export const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const

/** Returns `2026-W02` and `Mon` for `2026-01-05`; undefined for a text that is not a day. */
export function isoWeek(date: string): { readonly week: string; readonly weekday: string } | undefined {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(time)) return undefined
  return { week: weekOf(date), weekday: weekdays[(new Date(time).getUTCDay() + 6) % 7]! }
}

/** Returns the ISO 8601 week of a date: weeks begin on Monday, and the first has the first Thursday of the year. */
export function weekOf(date: string): string {
  const day = new Date(`${date.slice(0, 8)}01T00:00:00Z`)
  day.setUTCDate(Number(date.slice(8, 10)))
  // A week belongs to the year of its Thursday.
  day.setUTCDate(day.getUTCDate() + 4 - (day.getUTCDay() || 7))
  const start = new Date(0)
  start.setUTCFullYear(day.getUTCFullYear(), 0, 1)
  const week = Math.ceil(((day.getTime() - start.getTime()) / 86_400_000 + 1) / 7)
  return `${String(day.getUTCFullYear()).padStart(4, '0')}-W${String(week).padStart(2, '0')}`
}
