/**
 * Group queries over documents, as data: a store may calculate them itself; the answer of `Groups` defines what they
 * mean. A number counts as itself, a checkbox as 0 or 1, a text as itself; anything else counts as null. The sum of
 * nothing is 0, its average and extremes are null. Sums lose no digit. Groups sort by their values as shown, rounded
 * digits included; ties go by their keys.
 */
import { Decimal, DecimalSum } from '#leaf/decimal.ts'
import { isDate, order } from './expression-values.ts'
import { LargeMap } from '#leaf/large-map.ts'
import { sha256 } from '#leaf/secrets.ts'
import { Slice, type Slices } from '#leaf/slices.ts'
import { smallest } from '#leaf/smallest.ts'
import { weekOf } from '#leaf/weeks.ts'

/** The date parts that documents can be grouped by; weeks are those of ISO 8601, such as `2026-W05`. */
export const dateParts = ['year', 'quarter', 'month', 'week', 'day'] as const
export type DatePart = (typeof dateParts)[number]

/** A group key: a field, or a part of the date that it begins with; a value that is no date stays as it is. */
export interface GroupKey {
  readonly field: string
  readonly part?: DatePart | undefined
}

/** A calculation over the documents of a group. */
export interface Measure {
  readonly of: 'count' | 'sum' | 'avg' | 'min' | 'max'
  /** The field calculated over; not needed to count. */
  readonly field?: string | undefined
  /** Digits after the point for decimal results; without it sums and averages are numbers with up to six. */
  readonly places?: number | undefined
}

/** A group query: keys, measures and order. Columns are counted over the keys, then the measures. */
export interface GroupQuestion {
  readonly keys: readonly GroupKey[]
  readonly measures: readonly Measure[]
  /** The columns to sort by; by default the keys alone. */
  readonly order?: readonly { readonly column: number; readonly descending?: boolean }[]
  readonly offset?: number
  readonly limit?: number
}

/** A page of groups: the keys and measures of each. */
export interface GroupAnswer {
  readonly rows: readonly (readonly unknown[])[]
  /** The number of groups; without keys there is one, even of no documents. */
  readonly total: number
  /** The number of documents in all groups. */
  readonly documents: number
}

/** Digits after the point of a sum or average without `places`. */
export const numberPlaces = 6

/** The longest text used as a key itself: V8 hashes a longer one by its length alone, so that those of one length collide. */
const longestKey = 1000

/** Returns a Map key for a text: a long one becomes its digest, which equals no stored text. */
export function keyOfText(text: string): string {
  return text.length > longestKey ? `\u0000${sha256(text)}` : text
}

/** Collects groups, one document after the other. */
export class Groups {
  readonly #question: GroupQuestion
  readonly #documentsStay: boolean
  /** The groups; a group of one stands as its document where that is in memory anyway: of a unique field there are as many as documents. */
  readonly #groups = new LargeMap<unknown, object>()
  #documents = 0

  constructor(question: GroupQuestion, { documentsStay } = { documentsStay: false }) {
    this.#question = question
    this.#documentsStay = documentsStay
    if (question.keys.length === 0) this.#groups.set('[]', new Group(question, []))
  }

  add(document: object): void {
    this.#documents++
    const keys = this.#keysOf(document)
    // Several keys are one as JSON, because joined texts could make one group of two.
    const id = keys.length > 1 ? JSON.stringify(keys) : keys.length > 0 ? keys[0] : '[]'
    const key = typeof id === 'string' ? keyOfText(id) : id
    const held = this.#groups.get(key)
    if (held instanceof Group) held.add(document)
    else if (!held && this.#documentsStay) this.#groups.set(key, document)
    else {
      const group = held ? this.#groupOf(held) : new Group(this.#question, keys)
      group.add(document)
      this.#groups.set(key, group)
    }
  }

  *answer(): Slices<GroupAnswer> {
    const { keys, order: by = [], offset = 0, limit = Infinity } = this.#question
    const groups: object[] = []
    const slice = new Slice()
    for (const group of this.#groups.values()) {
      groups.push(group)
      if (slice.isOver()) yield* slice.pause()
    }
    const rowOf = (held: object): readonly unknown[] => this.#groupOf(held).row()
    const columns = [...by, ...keys.map((_, column) => ({ column, descending: false }))]
    const compare = (a: readonly unknown[], b: readonly unknown[]): number => {
      for (const { column, descending } of columns) {
        const result = order(a[column], b[column])
        if (result !== 0) return descending ? -result : result
      }
      return 0
    }
    // There may be as many groups as documents: only few of them are held as rows.
    const page = (yield* smallest(groups, compare, offset + limit, rowOf)).slice(offset)
    return { rows: page, total: groups.length, documents: this.#documents }
  }

  #groupOf(held: object): Group {
    if (held instanceof Group) return held
    const group = new Group(this.#question, this.#keysOf(held))
    group.add(held)
    return group
  }

  #keysOf(document: object): readonly unknown[] {
    return this.#question.keys.map((key) => keyOf(key, document))
  }
}

/** The tallies of the documents that have the same keys. */
class Group {
  readonly #question: GroupQuestion
  readonly #keys: readonly unknown[]
  readonly #tallies: readonly Tally[]

  constructor(question: GroupQuestion, keys: readonly unknown[]) {
    this.#question = question
    this.#keys = keys
    this.#tallies = question.measures.map(({ of }) => new Tally(of))
  }

  add(document: object): void {
    const { measures } = this.#question
    for (let index = 0; index < measures.length; index++) {
      const { field } = measures[index]!
      this.#tallies[index]!.add(field === undefined ? 1 : plain(document, field))
    }
  }

  row(): readonly unknown[] {
    return [...this.#keys, ...this.#question.measures.map((measure, n) => this.#tallies[n]!.result(measure))]
  }
}

const nothing = new DecimalSum()

/** The running result of one column of a group. */
class Tally {
  readonly #of: Measure['of']
  #count = 0
  #sum: DecimalSum | undefined
  #extreme: number | string | null = null

  constructor(of: Measure['of']) {
    this.#of = of
  }

  add(value: number | string | null): void {
    if (value === null) return
    this.#count++
    if (this.#of === 'count') return
    if (this.#of === 'sum' || this.#of === 'avg') {
      if (typeof value === 'number') (this.#sum ??= new DecimalSum()).add(value)
    } else if (this.#extreme === null || order(value, this.#extreme) < 0 === (this.#of === 'min'))
      this.#extreme = value
  }

  result({ of, places }: Measure): unknown {
    const shown = (result: Decimal): Decimal | number => (places === undefined ? result.toNumber() : result)
    switch (of) {
      case 'count':
        return this.#count
      case 'sum':
        return shown((this.#sum ?? nothing).total(places ?? numberPlaces))
      case 'avg': {
        // An empty group has no average, and JSON has no NaN.
        const average = (this.#sum ?? nothing).average(places ?? numberPlaces)
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

function plain(document: object, field: string): number | string | null {
  const value = Object.hasOwn(document, field) ? (document as Record<string, unknown>)[field] : null
  if (typeof value === 'number' || typeof value === 'string') return value
  return typeof value === 'boolean' ? Number(value) : null
}
