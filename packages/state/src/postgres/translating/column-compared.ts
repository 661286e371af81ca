/** Comparisons of a typed column with a constant, such that an index on the column can answer them. */
import type { Bind } from './dialect.ts'
import { likePattern, literally } from './document-layout.ts'
import type { Compared } from './layout.ts'
import {
  constantOf,
  isStorable,
  momentBounds,
  momentEnd,
  momentSql,
  nothingOf,
  oddMoment,
  sortOf,
  textOf,
  type Value,
} from './column-kinds.ts'

const signs = new Set(['<', '<=', '>', '>='])
/** What is shown as no value sorts before all others, whatever it is in the database. */
const leastOf: Readonly<Record<string, string>> = { numeric: "'NaN'", float8: "'Infinity'" }

/** SQL for: the value compares with the constant; undefined where only the terms can tell. */
export function comparedColumn(
  value: Value,
  { operator, value: given }: Omit<Compared, 'field'>,
  bind: Bind,
): string | undefined {
  if (operator === '=') return among(value, [given], bind)
  if (operator === 'in') return Array.isArray(given) ? among(value, given, bind) : undefined
  if (operator === 'contains')
    return typeof given === 'string' ? matched(value, `%${literally(given.toLowerCase())}%`, bind) : undefined
  if (operator === 'like') {
    const pattern = likePattern(given)
    return pattern === undefined ? undefined : matched(value, pattern, bind)
  }
  if (signs.has(operator)) return range(value, operator, given, bind)
  return operator.startsWith('sorts ') ? sorted(value, operator, given, bind) : undefined
}

/** Keeps a comparison from being NULL, and leaves it one that an index can answer. */
function told(condition: string, { column, nullable }: Value): string {
  return nullable ? `(${condition} AND ${column} IS NOT NULL)` : `(${condition})`
}

function among(value: Value, wanted: readonly unknown[], bind: Bind): string | undefined {
  if (wanted.some((one) => typeof one === 'object' && one !== null)) return undefined
  const { kind } = value
  if (kind.is === 'json' || kind.is === 'texts') return undefined
  const isNothing = (one: unknown): boolean => one === null || one === undefined
  const parts: string[] = wanted.some(isNothing) ? [nothingOf(value)] : []
  const constants: string[] = []
  for (const one of wanted) {
    if (isNothing(one)) continue
    if (kind.is === 'moment') {
      const within = typeof one === 'string' ? sameMoment(value, one, bind) : undefined
      if (within !== undefined) parts.push(within)
      continue
    }
    const constant = constantOf(value, one, bind)
    if (constant === 'unknown') return undefined
    if (constant !== 'never') constants.push(constant.sql)
  }
  const operand = kind.is === 'check' ? sortOf(value) : value.column
  if (constants.length > 0) parts.push(told(sameAs(value, operand, constants), value))
  return parts.length === 0 ? 'false' : parts.length === 1 ? parts[0]! : `(${parts.join(' OR ')})`
}

function sameAs({ kind, dialect }: Value, operand: string, constants: readonly string[]): string {
  if (kind.is === 'text') return dialect.among(operand, constants)
  return constants.length === 1 ? `${operand} = ${constants[0]!}` : `${operand} IN (${constants.join(', ')})`
}

/** A text that is no moment as documents show them is equal to none. */
function sameMoment(value: Value, given: string, bind: Bind): string | undefined {
  if (given.length === 10) return undefined
  const bounds = momentBounds(value, given, bind)
  const at = momentSql(value)
  return bounds && given.length === 24
    ? told(`${at} >= ${bounds.from} AND ${at} < ${bounds.to}`, value)
    : undefined
}

function range(value: Value, operator: string, given: unknown, bind: Bind): string | undefined {
  const { kind, column, dialect } = value
  const than = typeof given === 'boolean' ? Number(given) : given
  if (typeof than !== 'number' && typeof than !== 'string') return 'false'
  switch (kind.is) {
    case 'number':
    case 'float': {
      if (typeof than !== 'number') return 'false'
      const whole = kind.is === 'number' && kind.type !== 'numeric' && !Number.isInteger(than)
      // A whole number is above 2.5 if it is above 2, and at least 2.5 if it is.
      const bound = whole ? (operator.startsWith('<') ? Math.ceil(than) : Math.floor(than)) : than
      const sign = whole ? operator[0]! : operator
      const constant = constantOf(value, bound, bind)
      if (constant === 'unknown' || constant === 'never') return undefined
      const most = dialect.endless ? leastOf[kind.type] : undefined
      const least = dialect.endless && kind.type === 'float8' ? "'-Infinity'" : undefined
      const end = sign.startsWith('>')
        ? most && ` AND ${column} < ${most}`
        : least && ` AND ${column} > ${least}`
      return told(`${column} ${sign} ${constant.sql}${end ?? ''}`, value)
    }
    case 'date': {
      if (typeof than !== 'string') return 'false'
      const constant = constantOf(value, than, bind)
      // Another text than a day compares as a text.
      if (constant === 'unknown' || constant === 'never') return undefined
      const end = dialect.dateEnd(column, operator.startsWith('<'))
      return told(`${column} ${operator} ${constant.sql} AND ${end}`, value)
    }
    case 'moment': {
      if (typeof than !== 'string') return 'false'
      const bounds = than.length === 10 || than.length === 24 ? momentBounds(value, than, bind) : undefined
      if (!bounds) return undefined
      const { from, to } = bounds
      const at = momentSql(value)
      const [sign, bound] = { '<': ['<', from], '<=': ['<', to], '>': ['>=', to], '>=': ['>=', from] }[
        operator
      ]!
      const end = momentEnd(value, operator.startsWith('<'))
      return told(`${at} ${sign} ${bound} AND ${end}`, value)
    }
    case 'text':
      // With these, whatever else the other text has comes after them in UTF-16 as in UTF-8.
      return !dialect.flat && typeof than === 'string' && /^[\u0001-\ud7ff]*$/.test(than)
        ? told(`${dialect.text(textOf(value))} ${operator} ${dialect.constant(bind(than), 'text')}`, value)
        : undefined
    default:
      return undefined
  }
}

/** SQL for: the value in lower case is LIKE a pattern. */
export function matched(value: Value, pattern: string, bind: Bind): string | undefined {
  const { is } = value.kind
  if (is !== 'text' && is !== 'date' && is !== 'moment') return undefined
  if (!isStorable(pattern, value.dialect)) return 'false'
  const text = textOf(value)
  const like = value.dialect.like(text, pattern, bind)
  return like && `(${like} AND (${text}) IS NOT NULL)`
}

/** Compares places in a sort order: no value first, then the values; a constant of another kind is before or after all. */
function sorted(value: Value, operator: string, given: unknown, bind: Bind): string | undefined {
  const { kind } = value
  const nothing = value.nullable ? `${sortOf(value)} IS NULL` : 'false'
  if (given === null || given === undefined)
    return { 'sorts with': nothing, 'sorts before': 'false', 'sorts after': `NOT (${nothing})` }[operator]
  const at = placeConstant(value, given, bind)
  if (at === undefined) return undefined
  const sort = sortOf(value)
  const sign = { 'sorts with': '=', 'sorts before': '<', 'sorts after': '>' }[operator]!
  const compares =
    value.nullable || kind.is === 'float'
      ? `(${sort} ${sign} ${at} AND ${sort} IS NOT NULL)`
      : `${sort} ${sign} ${at}`
  return operator === 'sorts before' && value.nullable ? `(${nothing} OR ${compares})` : compares
}

/** Returns the place that a cursor names: the value, or exactly what the document does not show of it. */
function placeConstant(value: Value, given: unknown, bind: Bind): string | undefined {
  const { kind, dialect } = value
  if (kind.is === 'text') {
    if (typeof given !== 'string' || !isStorable(given, dialect)) return undefined
    return dialect.sortable(dialect.constant(bind(given), 'text'))
  }
  if (kind.is === 'check') return typeof given === 'boolean' ? String(given) : undefined
  if (kind.is === 'float')
    return typeof given === 'number' ? dialect.constant(bind(given), 'float8') : undefined
  const exact = typeof given === 'string' ? given : String(given)
  if (exact.length > 100) return undefined
  if (kind.is === 'number')
    return /^(?:NaN|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(exact)
      ? dialect.constant(bind(exact), kind.type === 'numeric' ? 'numeric' : 'int8')
      : undefined
  const special = /^(?:-?infinity|\d{4,7}-\d{2}-\d{2}(?:T[\d:.]+)?(?: BC)?)$/
  if (kind.is === 'date') return special.test(exact) ? dialect.constant(bind(exact), 'date') : undefined
  if (kind.is !== 'moment') return undefined
  const bounds = momentBounds(value, exact, bind)
  if (bounds) return bounds.from
  return special.test(exact) ? oddMoment(value, exact, bind) : undefined
}
