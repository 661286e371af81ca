import { weekOf } from '../../core/groups.ts'

/** The days of a week, in their order. */
export const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const

/** `2026-W02` and `Mon` for `2026-01-05`; undefined for what is no day. */
export function isoWeek(date: string): { readonly week: string; readonly weekday: string } | undefined {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(time)) return undefined
  return { week: weekOf(date), weekday: weekdays[(new Date(time).getUTCDay() + 6) % 7]! }
}
