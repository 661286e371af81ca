/**
 * What can be asked about groups of documents, as data: a store may calculate it itself; what `Groups` answers is
 * what it means. A number counts as itself, a check as 0 or 1, a text as itself; anything else is nothing, and so
 * are nothing's sum (0), average and extremes (none). Sums lose no digit. Groups sort as values do, the number of
 * digits that are shown included; those that sort alike by their keys.
 */
import { Decimal, DecimalSum } from './decimal.ts'
import { isDate, order } from './expression-values.ts'
import { smallest } from './smallest.ts'

/** The parts of a date that documents can be grouped by; weeks are those of ISO 8601, such as `2026-W05`. */
export const dateParts = ['year', 'quarter', 'month', 'week', 'day'] as const
export type DatePart = (typeof dateParts)[number]

/** What documents are grouped by: a field, or a part of the date that it begins with; what is none keeps its value. */
export interface GroupKey {
  readonly field: string
  readonly part?: DatePart | undefined
}

/** What is calculated over the documents of a group. */
export interface Measure {
  readonly of: 'count' | 'sum' | 'avg' | 'min' | 'max'
  /** Not needed to count. */
  readonly field?: string | undefined
  /** Digits after the point, for results that are decimals; other sums and averages are numbers of up to six. */
  readonly places?: number | undefined
}

/** Which groups, with what calculated, in which order; columns are counted over the keys and then the measures. */
export interface GroupQuestion {
  readonly keys: readonly GroupKey[]
  readonly measures: readonly Measure[]
  /** By default the keys alone. */
  readonly order?: readonly { readonly column: number; readonly descending?: boolean }[]
  readonly offset?: number
  readonly limit?: number
}

/** A page of groups: the keys and measures of each. */
export interface GroupAnswer {
  readonly rows: readonly (readonly unknown[])[]
  /** How many groups there are; without keys there is one, even of nothing. */
  readonly total: number
  /** How many documents they are of. */
  readonly documents: number
}

/** Digits after the point of a sum or average that is no decimal. */
export const numberPlaces = 6

/** Groups as they come together, one document after the other. */
export class Groups {
  readonly #question: GroupQuestion
  readonly #groups = new Map<unknown, { readonly keys: readonly unknown[]; readonly tallies: Tally[] }>()
  #documents = 0

  constructor(question: GroupQuestion) {
    this.#question = question
    if (question.keys.length === 0) this.#groups.set('[]', this.#empty([]))
  }

  add(document: object): void {
    const { keys: wanted, measures } = this.#question
    this.#documents++
    const [first, second] = wanted
    // As JSON, because joined texts could make one group of two.
    const keys = first && second ? wanted.map((key) => keyOf(key, document)) : []
    const id = second ? JSON.stringify(keys) : first ? keyOf(first, document) : '[]'
    let group = this.#groups.get(id)
    if (!group) this.#groups.set(id, (group = this.#empty(second ? keys : [id])))
    for (let index = 0; index < measures.length; index++) {
      const { field } = measures[index]!
      group.tallies[index]!.add(field === undefined ? 1 : plain(document, field))
    }
  }

  answer(): GroupAnswer {
    const { keys, measures, order: by = [], offset = 0, limit = Infinity } = this.#question
    const rows = [...this.#groups.values()].map((group) => [
      ...group.keys,
      ...measures.map((measure, index) => group.tallies[index]!.result(measure)),
    ])
    const columns = [...by, ...keys.map((_, column) => ({ column, descending: false }))]
    const compare = (a: readonly unknown[], b: readonly unknown[]): number => {
      for (const { column, descending } of columns) {
        const result = order(a[column], b[column])
        if (result !== 0) return descending ? -result : result
      }
      return 0
    }
    const total = rows.length
    return { rows: smallest(rows, compare, offset + limit).slice(offset), total, documents: this.#documents }
  }

  #empty(keys: readonly unknown[]): { readonly keys: readonly unknown[]; readonly tallies: Tally[] } {
    return { keys, tallies: this.#question.measures.map(({ of }) => new Tally(of)) }
  }
}

/** What is known of one column of a group. */
class Tally {
  readonly #of: Measure['of']
  #count = 0
  readonly #sum = new DecimalSum()
  #extreme: number | string | null = null

  constructor(of: Measure['of']) {
    this.#of = of
  }

  add(value: number | string | null): void {
    if (value === null) return
    this.#count++
    if (this.#of === 'count') return
    if (this.#of === 'sum' || this.#of === 'avg') {
      if (typeof value === 'number') this.#sum.add(value)
    } else if (this.#extreme === null || order(value, this.#extreme) < 0 === (this.#of === 'min'))
      this.#extreme = value
  }

  result({ of, places }: Measure): unknown {
    const shown = (result: Decimal): Decimal | number => (places === undefined ? result.toNumber() : result)
    switch (of) {
      case 'count':
        return this.#count
      case 'sum':
        return shown(this.#sum.total(places ?? numberPlaces))
      case 'avg': {
        // Nothing has no average, and JSON has no NaN.
        const average = this.#sum.average(places ?? numberPlaces)
        return average === undefined ? null : shown(average)
      }
      default: {
        const extreme = this.#extreme
        return places !== undefined && typeof extreme === 'number'
          ? Decimal.of(extreme).round(places)
          : extreme
      }
    }
  }
}

function keyOf({ field, part }: GroupKey, document: object): unknown {
  const value = plain(document, field)
  return part !== undefined && isDate(value) ? shortened[part](value) : value
}

const shortened: Readonly<Record<DatePart, (date: string) => string>> = {
  year: (date) => date.slice(0, 4),
  quarter: (date) => `${date.slice(0, 4)}-Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`,
  month: (date) => date.slice(0, 7),
  week: weekOf,
  day: (date) => date.slice(0, 10),
}

/** The week of a date as ISO 8601 counts: from Monday, the first one with a Thursday of the year. */
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

function plain(document: object, field: string): number | string | null {
  const value = Object.hasOwn(document, field) ? (document as Record<string, unknown>)[field] : null
  if (typeof value === 'number' || typeof value === 'string') return value
  return typeof value === 'boolean' ? Number(value) : null
}
