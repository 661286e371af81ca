/** The functions and operators of conditions in SQL; `#state/questions/expression-functions.ts` defines what they mean. */
import type { Dialect } from './dialect.ts'
import { datePattern, quoted } from '../language.ts'

/** The SQL of a term, one for each kind of value: NULL where the value is of another kind, absent for a kind it never has. */
export interface Calculated {
  readonly number?: string
  readonly text?: string
  readonly check?: string
  /** A list, as a JSON array. */
  readonly list?: string
  /** SQL for whether it counts as true. */
  readonly truth: string
  /** SQL for whether it is null. */
  readonly nothing: string
}

type Calculate = (of: readonly Calculated[], d: Dialect) => Calculated | undefined

/** Makes a term that is true or false. */
export function check(truth: string): Calculated {
  return { check: truth, truth, nothing: 'false' }
}

function number(result: string): Calculated {
  return { number: result, truth: `COALESCE(${result} <> 0, false)`, nothing: `(${result}) IS NULL` }
}

/** Makes a term that is a text. */
export function text(result: string, d: Dialect): Calculated {
  return {
    text: result,
    truth: `COALESCE(${d.isFilled(result)}, false)`,
    nothing: `(${result}) IS NULL`,
  }
}

const none: Calculated = { truth: 'false', nothing: 'true' }

/** Makes the term of a document's field. */
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

/** Makes the term of a column in the rows of a field: the list of its values. */
export function columnValue(json: string, column: string): Calculated {
  const rows = `CASE jsonb_typeof(${json}) WHEN 'array' THEN ${json} END`
  const cells = `(SELECT COALESCE(jsonb_agg(one -> ${quoted(column)}), '[]') FROM jsonb_array_elements(${rows}) AS one)`
  const there = `COALESCE(jsonb_typeof(${json}) = 'array', false)`
  return { list: `CASE WHEN ${there} THEN ${cells} END`, truth: there, nothing: `NOT ${there}` }
}

/** Chooses one of two terms by a condition. */
function either(condition: string, a: Calculated, b: Calculated, d: Dialect): Calculated {
  const choose = (one = 'NULL', other = 'NULL'): string =>
    `(CASE WHEN ${condition} THEN ${one} ELSE ${other} END)`
  return {
    ...((a.number ?? b.number) && { number: choose(a.number, b.number) }),
    ...((a.text ?? b.text) && { text: d.text(choose(a.text, b.text)) }),
    ...((a.check ?? b.check) && { check: choose(a.check, b.check) }),
    ...((a.list ?? b.list) && { list: choose(a.list, b.list) }),
    truth: choose(a.truth, b.truth),
    nothing: choose(a.nothing, b.nothing),
  }
}

/** Returns SQL for a number, or for 1 or 0 of a checkbox. */
function size({ number: size, check: held }: Calculated, d: Dialect): string {
  const parts = [...(size ? [size] : []), ...(held ? [d.flag(held)] : [])]
  return parts.length > 0 ? `COALESCE(${parts.join(', ')})` : d.as('NULL', 'float8')
}

function compares(sign: string): Calculate {
  return ([a, b], d) => {
    const parts = [`${size(a!, d)} ${sign} ${size(b!, d)}`]
    if (a!.text !== undefined && b!.text !== undefined)
      parts.push(`${d.sortable(a!.text)} ${sign} ${d.sortable(b!.text)}`)
    return check(`COALESCE(${parts.join(' OR ')}, false)`)
  }
}

function equals([a, b]: readonly Calculated[], d: Dialect): Calculated {
  const parts = [`${size(a!, d)} = ${size(b!, d)}`]
  if (a!.text !== undefined && b!.text !== undefined) parts.push(d.same(a!.text, b!.text))
  return check(`(COALESCE(${parts.join(' OR ')}, false) OR (${a!.nothing} AND ${b!.nothing}))`)
}

/** Tests on two numbers, by which a result is NULL or 0. */
interface Limits {
  readonly none: string
  readonly zero: string
}

const logs = (sign: string): string => `log10(NULLIF(abs(o.a), 0)) ${sign} log10(NULLIF(abs(o.b), 0))`
const sums: Limits = { none: 'abs(o.a) > 8e307 OR abs(o.b) > 8e307', zero: 'false' }
const limits: Readonly<Record<string, Limits>> = {
  '+': sums,
  '-': sums,
  '*': { none: `${logs('+')} > 308.25`, zero: `o.a = 0 OR o.b = 0 OR ${logs('+')} < -323` },
  '/': { none: `o.b = 0 OR ${logs('-')} > 308.25`, zero: `o.a = 0 OR ${logs('-')} < -323` },
}

/**
 * Calculates with two numbers as JavaScript does: a result too large is NULL, one too small is 0. Checkboxes do not count
 * as numbers. Each operand is named once, so that long sums stay short.
 */
function calculates(sign: string): Calculate {
  const { none: tooLarge, zero } = limits[sign]!
  const result = `CASE WHEN o.a IS NULL OR o.b IS NULL OR ${tooLarge} THEN NULL WHEN ${zero} THEN 0 ELSE o.a ${sign} o.b END`
  return ([a, b], d) =>
    a!.number === undefined || b!.number === undefined
      ? none
      : number(d.calculated(result, { a: a!.number, b: b!.number }))
}

function ofNumber(calculate: (number: string) => string): Calculate {
  return ([a]) => (a!.number === undefined ? none : number(calculate(a!.number)))
}

function ofText(calculate: (text: string, d: Dialect) => Calculated | undefined): Calculate {
  return ([a], d) => (a!.text === undefined ? none : calculate(a!.text, d))
}

function ofTexts(calculate: (text: string, part: string, d: Dialect) => string | undefined): Calculate {
  return ([a, b], d) => {
    if (a!.text === undefined || b!.text === undefined) return check('false')
    const found = calculate(a!.text, b!.text, d)
    return found === undefined ? undefined : check(`COALESCE(${found}, false)`)
  }
}

/** Makes a text of one that is calculated, unless the database cannot. */
function perhaps(result: string | undefined, d: Dialect): Calculated | undefined {
  return result === undefined ? undefined : text(result, d)
}

/** 9999-12-31, in days after 0001-01-01. */
const lastDay = 3_652_058

function partOf(from: number, length: number): Calculate {
  return ofText((date, d) => {
    const part = d.as(`substr(${date}, ${from}, ${length})`, 'float8')
    return number(`CASE WHEN ${d.matches(date, datePattern)} THEN ${part} END`)
  })
}

/** The translations by the function's name in a condition. */
export const calculations: ReadonlyMap<string, Calculate> = new Map<string, Calculate>([
  ['=', equals],
  ['!=', (of, d) => check(`NOT ${equals(of, d).truth}`)],
  ...['<', '<=', '>', '>='].map((sign): [string, Calculate] => [sign, compares(sign)]),
  ['is true', ([a]) => check(a!.check === undefined ? 'false' : `COALESCE(${a!.check}, false)`)],
  ['-', calculates('-')],
  ['*', calculates('*')],
  ['/', calculates('/')],
  [
    '+',
    ([a, b], d) => {
      const sum = calculates('+')([a!, b!], d)!
      if (a!.text === undefined || b!.text === undefined) return sum
      const joined = text(`left(${a!.text} || ${b!.text}, 10000)`, d)
      return either(`${a!.text} IS NOT NULL AND ${b!.text} IS NOT NULL`, joined, sum, d)
    },
  ],
  ['abs', ofNumber((one) => `abs(${one})`)],
  ['floor', ofNumber((one) => `floor(${one})`)],
  ['ceil', ofNumber((one) => `ceil(${one})`)],
  ['lower', ofText((one, d) => perhaps(d.lower(one), d))],
  ['upper', ofText((one, d) => perhaps(d.upper(one), d))],
  // True for a text within another; lists are translated elsewhere.
  [
    'in',
    ([part, whole], d) =>
      whole!.list === undefined
        ? ofTexts((one, other) => d.hasPart(one, other))([whole!, part!], d)
        : undefined,
  ],
  [
    'len',
    ([a], d) => {
      const units = a!.text && d.units(a!.text)
      const parts = [...(units ? [units] : []), ...(a!.list ? [d.length(a!.list)] : []), '0']
      return number(d.as(`COALESCE(${parts.join(', ')})`, 'float8'))
    },
  ],
  [
    'count',
    ([a], d) => {
      const length = a!.list ? d.length(a!.list) : 'NULL'
      return number(d.as(`COALESCE(${length}, CASE WHEN ${a!.nothing} THEN 0 ELSE 1 END)`, 'float8'))
    },
  ],
  [
    'sum',
    (of, d) => {
      const total = d.sum(of)
      return total === undefined ? undefined : number(total)
    },
  ],
  [
    'contains',
    ofTexts((one, part, d) => {
      const [small, smallPart] = [d.lower(one), d.lower(part)]
      return small && smallPart && d.hasPart(small, smallPart)
    }),
  ],
  ['starts_with', ofTexts((one, part, d) => d.startsWith(one, part))],
  ['ends_with', ofTexts((one, part, d) => d.endsWith(one, part))],
  ['coalesce', (of, d) => of.reduceRight((rest, one) => either(one.nothing, rest, one, d), none)],
  ['if', ([condition, then, otherwise], d) => either(condition!.truth, then!, otherwise!, d)],
  ['year', partOf(1, 4)],
  ['month', partOf(6, 2)],
  [
    'days_between',
    ([from, to], d) =>
      from!.text === undefined || to!.text === undefined
        ? none
        : number(d.as(`(${d.dayNumber(to!.text)} - ${d.dayNumber(from!.text)})`, 'float8')),
  ],
  [
    'add_days',
    ([date, days], d) => {
      if (date!.text === undefined || days!.number === undefined) return none
      const whole = `sign(${days!.number}) * floor(abs(${days!.number}))`
      const at = `(${d.dayNumber(date!.text)} + ${whole})`
      return text(d.text(`(CASE WHEN ${at} BETWEEN 0 AND ${lastDay} THEN ${d.dayText(at)} END)`), d)
    },
  ],
])
