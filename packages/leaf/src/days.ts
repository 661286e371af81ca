/**
 * Days in words, in the one language that filters, reports, parameters of SQL and prompts have. Days are those of UTC, as all
 * times of the program are; weeks begin on Monday.
 */
import { isoTime } from './clock.ts'

/** Some days in a row, both ends included; a single day has itself twice. */
export interface Days {
  readonly from: string
  readonly to: string
}

const units = ['day', 'week', 'month', 'quarter', 'year'] as const
type Unit = (typeof units)[number]

const day = 86_400_000
const near: Readonly<Record<string, number>> = { yesterday: -1, today: 0, tomorrow: 1 }
const steps: Readonly<Record<string, number>> = { last: -1, previous: -1, this: 0, current: 0, next: 1 }

/** Names examples of the language, for messages where it is spoken. */
export function orInWords(now: number | undefined): string {
  return now === undefined
    ? ''
    : ', or today, today-30, yesterday, this month, last quarter, 2026-03, start of this year'
}

/** True for a day as ISO 8601 writes it. */
export function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (!parts) return false
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number]
  const time = new Date(Date.UTC(year, month - 1, day))
  return time.getUTCMonth() === month - 1 && time.getUTCDate() === day && year > 0
}

/**
 * Reads days in words: `today`, `today-30`, `yesterday`, `tomorrow`; `this`, `last` or `next` with `week`, `month`,
 * `quarter` or `year`; `last 30 days`, which end today; `2026`, `2026-Q1`, `2026-03`, `2026-03-31`; and `start of` or `end of` these.
 */
export function spanOf(text: string, now: number | undefined): Days | undefined {
  if (now === undefined) return undefined
  const words = text
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, ' ')
  if (words.length > 60) return undefined
  const edge = /^(start|beginning|end) of (.+)$/.exec(words)
  const span = edge ? plainSpan(edge[2]!, now) : plainSpan(words, now)
  if (!edge || !span) return span
  const one = edge[1] === 'end' ? span.to : span.from
  return { from: one, to: one }
}

function plainSpan(words: string, now: number): Days | undefined {
  if (isDate(words)) return { from: words, to: words }
  const today = Date.parse(isoTime(now).slice(0, 10))
  const relative = /^(yesterday|today|tomorrow)(?: ?([+-]) ?(\d{1,5})(?: ?d(?:ays?)?)?)?$/.exec(words)
  if (relative) {
    const moved = Number(`${relative[2] ?? '+'}${relative[3] ?? 0}`)
    return days(today + (near[relative[1]!]! + moved) * day)
  }
  const counted = /^(last|past|next) (\d{1,5}) days$/.exec(words)
  if (counted && Number(counted[2]) > 0) {
    const others = (Number(counted[2]) - 1) * day
    return counted[1] === 'next' ? days(today, today + others) : days(today - others, today)
  }
  const [step = '', unit = '', ...more] = words.split(/[ -]/)
  if (Object.hasOwn(steps, step) && more.length === 0 && units.includes(unit as Unit))
    return period(unit as Unit, today, steps[step]!)
  const written = /^(\d{4})(?:-?q([1-4])|-(0[1-9]|1[0-2]))?$/.exec(words)
  if (!written || written[1] === '0000') return undefined
  const month = written[2] ? Number(written[2]) * 3 - 2 : Number(written[3] ?? 1)
  const start = Date.parse(`${written[1]}-${String(month).padStart(2, '0')}-01`)
  return period(written[2] ? 'quarter' : written[3] ? 'month' : 'year', start, 0)
}

/** Returns the period of a kind that holds a day, or one before or after it. */
function period(unit: Unit, today: number, step: number): Days | undefined {
  if (unit === 'day') return days(today + step * day)
  const date = new Date(today)
  if (unit === 'week') {
    const monday = today - ((date.getUTCDay() + 6) % 7) * day + step * 7 * day
    return days(monday, monday + 6 * day)
  }
  const months = { month: 1, quarter: 3, year: 12 }[unit]
  const first = Math.floor(date.getUTCMonth() / months) * months + step * months
  const year = date.getUTCFullYear()
  return days(Date.UTC(year, first, 1), Date.UTC(year, first + months, 1) - day)
}

function days(from: number, to = from): Days | undefined {
  const [first, last] = [from, to].map((time) => new Date(time))
  const written = [first!, last!].every(
    (date) => !Number.isNaN(date.getTime()) && date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999,
  )
  return written ? { from: isoTime(from).slice(0, 10), to: isoTime(to).slice(0, 10) } : undefined
}
