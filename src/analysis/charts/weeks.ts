/** Weeks as ISO 8601 counts them: from Monday, the first one with a Thursday of the year. */

/** The days of a week, in their order. */
export const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const

const day = 86_400_000

/** `2026-W02` and `Mon` for `2026-01-05`; undefined for what is no day. */
export function isoWeek(date: string): { readonly week: string; readonly weekday: string } | undefined {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(time)) return undefined
  const weekday = (new Date(time).getUTCDay() + 6) % 7
  const thursday = new Date(time + (3 - weekday) * day)
  const year = thursday.getUTCFullYear()
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * day)) + 1
  return { week: `${year}-W${String(week).padStart(2, '0')}`, weekday: weekdays[weekday]! }
}
