/** What the functions and operators of conditions come to in SQL; `core/expression-functions.ts` says what they mean. */
import { datePattern, lowered, quoted, sortable } from './postgres-language.ts'

/** What a term comes to, by kind: SQL that is NULL where it comes to another; a kind that it never is, is missing. */
export interface Calculated {
  readonly number?: string
  readonly text?: string
  readonly check?: string
  /** As a JSON array. */
  readonly list?: string
  /** Whether it counts as true. */
  readonly truth: string
  /** Whether it is null. */
  readonly nothing: string
}

type Calculate = (of: readonly Calculated[]) => Calculated | undefined

/** What is true or false. */
export function check(truth: string): Calculated {
  return { check: truth, truth, nothing: 'false' }
}

function number(result: string): Calculated {
  return { number: result, truth: `COALESCE(${result} <> 0, false)`, nothing: `(${result}) IS NULL` }
}

function text(result: string): Calculated {
  return { text: result, truth: `COALESCE(${result} <> '', false)`, nothing: `(${result}) IS NULL` }
}

const none: Calculated = { truth: 'false', nothing: 'true' }

/** What a field of the document holds. */
export function fieldValue(json: string): Calculated {
  const kind = `jsonb_typeof(${json})`
  return {
    number: `CASE ${kind} WHEN 'number' THEN ${json}::float8 END`,
    text: `(CASE ${kind} WHEN 'string' THEN ${json} #>> '{}' END) COLLATE "C"`,
    check: `CASE ${kind} WHEN 'boolean' THEN ${json}::boolean END`,
    list: `CASE ${kind} WHEN 'array' THEN ${json} END`,
    truth: `COALESCE(${json} NOT IN ('null', 'false', '0', '""'), false)`,
    nothing: `COALESCE(${kind} = 'null', true)`,
  }
}

/** What the rows of a table hold in a column. */
export function columnValue(json: string, column: string): Calculated {
  const rows = `CASE jsonb_typeof(${json}) WHEN 'array' THEN ${json} END`
  const cells = `(SELECT COALESCE(jsonb_agg(one -> ${quoted(column)}), '[]') FROM jsonb_array_elements(${rows}) AS one)`
  const there = `COALESCE(jsonb_typeof(${json}) = 'array', false)`
  return { list: `CASE WHEN ${there} THEN ${cells} END`, truth: there, nothing: `NOT ${there}` }
}

/** One of two, by a condition. */
function either(condition: string, a: Calculated, b: Calculated): Calculated {
  const choose = (one = 'NULL', other = 'NULL'): string =>
    `(CASE WHEN ${condition} THEN ${one} ELSE ${other} END)`
  return {
    ...((a.number ?? b.number) && { number: choose(a.number, b.number) }),
    ...((a.text ?? b.text) && { text: `${choose(a.text, b.text)} COLLATE "C"` }),
    ...((a.check ?? b.check) && { check: choose(a.check, b.check) }),
    ...((a.list ?? b.list) && { list: choose(a.list, b.list) }),
    truth: choose(a.truth, b.truth),
    nothing: choose(a.nothing, b.nothing),
  }
}

/** A number, or 1 or 0 for a check. */
function size({ number: size, check: held }: Calculated): string {
  const parts = [...(size ? [size] : []), ...(held ? [`(${held})::int::float8`] : [])]
  return parts.length > 0 ? `COALESCE(${parts.join(', ')})` : 'NULL::float8'
}

function compares(sign: string): Calculate {
  return ([a, b]) => {
    const parts = [`${size(a!)} ${sign} ${size(b!)}`]
    if (a!.text !== undefined && b!.text !== undefined)
      parts.push(`(${sortable(a!.text)}) COLLATE "C" ${sign} (${sortable(b!.text)}) COLLATE "C"`)
    return check(`COALESCE(${parts.join(' OR ')}, false)`)
  }
}

function equals([a, b]: readonly Calculated[]): Calculated {
  const parts = [`${size(a!)} = ${size(b!)}`]
  if (a!.text !== undefined && b!.text !== undefined) parts.push(`${a!.text} = ${b!.text}`)
  return check(`(COALESCE(${parts.join(' OR ')}, false) OR (${a!.nothing} AND ${b!.nothing}))`)
}

/** Two numbers, which are no checks. */
function calculates(name: string): Calculate {
  return ([a, b]) =>
    a!.number === undefined || b!.number === undefined
      ? none
      : number(`assistant_core.${name}(${a!.number}, ${b!.number})`)
}

function ofNumber(calculate: (number: string) => string): Calculate {
  return ([a]) => (a!.number === undefined ? none : number(calculate(a!.number)))
}

function ofText(calculate: (text: string) => Calculated): Calculate {
  return ([a]) => (a!.text === undefined ? none : calculate(a!.text))
}

function ofTexts(calculate: (text: string, part: string) => string): Calculate {
  return ([a, b]) =>
    a!.text === undefined || b!.text === undefined
      ? check('false')
      : check(`COALESCE(${calculate(a!.text, b!.text)}, false)`)
}

function dateOf(date: string): string {
  const first = `make_date(left(${date}, 4)::int, substr(${date}, 6, 2)::int, 1)`
  return `CASE WHEN ${date} ~ '${datePattern}' THEN ${first} + (substr(${date}, 9, 2)::int - 1) END`
}

/** 9999-12-31, in days after 0001-01-01. */
const lastDay = 3_652_058

function partOf(from: number, length: number): Calculate {
  return ofText((date) =>
    number(`CASE WHEN ${date} ~ '${datePattern}' THEN substr(${date}, ${from}, ${length})::float8 END`),
  )
}

/** By the name in a condition. */
export const calculations: ReadonlyMap<string, Calculate> = new Map<string, Calculate>([
  ['=', equals],
  ['!=', (of) => check(`NOT ${equals(of).truth}`)],
  ...['<', '<=', '>', '>='].map((sign): [string, Calculate] => [sign, compares(sign)]),
  ['is true', ([a]) => check(a!.check === undefined ? 'false' : `COALESCE(${a!.check}, false)`)],
  ['-', calculates('minus')],
  ['*', calculates('times')],
  ['/', calculates('divided')],
  [
    '+',
    ([a, b]) => {
      const sum = calculates('plus')([a!, b!])!
      if (a!.text === undefined || b!.text === undefined) return sum
      const joined = text(`left(${a!.text} || ${b!.text}, 10000)`)
      return either(`${a!.text} IS NOT NULL AND ${b!.text} IS NOT NULL`, joined, sum)
    },
  ],
  ['abs', ofNumber((one) => `abs(${one})`)],
  ['floor', ofNumber((one) => `floor(${one})`)],
  ['ceil', ofNumber((one) => `ceil(${one})`)],
  ['lower', ofText((one) => text(lowered(`(${one})`)))],
  ['upper', ofText((one) => text(`upper((${one}) COLLATE "und-x-icu") COLLATE "C"`))],
  // A text that stands in another; lists have words of their own.
  [
    'in',
    ([part, whole]) =>
      whole!.list === undefined
        ? ofTexts((one, other) => `strpos(${one}, ${other}) > 0`)([whole!, part!])
        : undefined,
  ],
  [
    'len',
    ([a]) => {
      const long = `regexp_replace(${a!.text}, '[^\\U00010000-\\U0010FFFF]', '', 'g')`
      const units = a!.text && `char_length(${a!.text}) + char_length(${long})`
      const parts = [...(units ? [units] : []), ...(a!.list ? [`jsonb_array_length(${a!.list})`] : []), '0']
      return number(`COALESCE(${parts.join(', ')})::float8`)
    },
  ],
  [
    'count',
    ([a]) => {
      const length = a!.list ? `jsonb_array_length(${a!.list})` : 'NULL'
      return number(`COALESCE(${length}, CASE WHEN ${a!.nothing} THEN 0 ELSE 1 END)::float8`)
    },
  ],
  [
    'sum',
    (of) =>
      number(
        `(${of
          .flatMap((one) => [
            ...(one.number ? [`COALESCE((${one.number})::text::numeric, 0)`] : []),
            ...(one.list
              ? [
                  `(SELECT COALESCE(sum(CASE jsonb_typeof(e) WHEN 'number' THEN e::numeric END), 0) FROM jsonb_array_elements(${one.list}) AS e)`,
                ]
              : []),
            '0',
          ])
          .join(' + ')})::float8`,
      ),
  ],
  ['contains', ofTexts((one, part) => `strpos(${lowered(`(${one})`)}, ${lowered(`(${part})`)}) > 0`)],
  ['starts_with', ofTexts((one, part) => `starts_with(${one}, ${part})`)],
  ['ends_with', ofTexts((one, part) => `right(${one}, char_length(${part})) = ${part}`)],
  ['coalesce', (of) => of.reduceRight((rest, one) => either(one.nothing, rest, one), none)],
  ['if', ([condition, then, otherwise]) => either(condition!.truth, then!, otherwise!)],
  ['year', partOf(1, 4)],
  ['month', partOf(6, 2)],
  [
    'days_between',
    ([from, to]) =>
      from!.text === undefined || to!.text === undefined
        ? none
        : number(`(${dateOf(to!.text)} - ${dateOf(from!.text)})::float8`),
  ],
  [
    'add_days',
    ([date, days]) => {
      if (date!.text === undefined || days!.number === undefined) return none
      const at = `(${dateOf(date!.text)} - '0001-01-01'::date + trunc(${days!.number}))`
      const shown = `to_char('0001-01-01'::date + ${at}::int, 'YYYY-MM-DD')`
      return text(`(CASE WHEN ${at} BETWEEN 0 AND ${lastDay} THEN ${shown} END) COLLATE "C"`)
    },
  ],
])
