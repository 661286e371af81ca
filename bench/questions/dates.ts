/** Days as a model that knows today's date writes them; everything in UTC, as the companies are. */
const now = new Date()
const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
const text = (date: Date): string => date.toISOString().slice(0, 10)
const first = (months: number): Date => new Date(Date.UTC(year, month + months, 1))
const last = (months: number): Date => new Date(Date.UTC(year, month + months + 1, 0))

/** So many days from today. */
export const day = (days: number): string => text(new Date(Date.UTC(year, month, now.getUTCDate() + days)))
/** The first and the last day of a month, so many months from this one. */
export const monthAt = (months: number): readonly [string, string] => [
  text(first(months)),
  text(last(months)),
]
/** The same of a quarter. */
export const quarterAt = (quarters: number): readonly [string, string] => {
  const begin = quarters * 3 - (month % 3)
  return [text(first(begin)), text(last(begin + 2))]
}
