/**
 * Reads the forms in which models write filters, as triples. A form with one meaning is accepted; an ambiguous one is
 * refused in words: a filter that is misread answers wrongly, and nobody sees it.
 */
import { jsonIn } from '#leaf/strict-json.ts'
import { show } from '../../core/values.ts'

/** The operators of conditions, in tools' filters and in the site's reports. */
export const operators = [
  '=',
  '!=',
  '>',
  '<',
  '>=',
  '<=',
  'like',
  'not like',
  'contains',
  'not contains',
  'starts with',
  'in',
  'not in',
  'between',
  'not between',
  'is',
] as const
/** An operator in its one spelling. */
export type Operator = (typeof operators)[number]

/** A field, an operator in any spelling, and a value. */
export type Triple = readonly [field: string, operator: unknown, value: unknown]

const synonyms: Readonly<Record<Operator, string>> = {
  '=': '==,===,eq,equal,equals,equal to,is equal to',
  '!=': '<>,!==,ne,neq,not,is not,not equal,not equals,not equal to,is not equal to',
  '>': 'gt,greater than,more than,after',
  '<': 'lt,less than,before',
  '>=': 'gte,ge,greater than or equal,at least,on or after',
  '<=': 'lte,le,less than or equal,at most,on or before',
  like: 'ilike',
  'not like': 'not ilike',
  contains: 'contain,includes,has,icontains',
  'not contains': 'does not contain,not contain,not includes,not has',
  'starts with': 'startswith,start with,begins with,istartswith',
  in: 'one of,any of,is in',
  'not in': 'nin,notin,none of,is not in',
  between: 'range',
  'not between': 'outside',
  is: '',
}
const operatorWords: ReadonlyMap<string, Operator> = new Map(
  operators.flatMap((operator) =>
    [operator, ...synonyms[operator].split(',')].map((word) => [word, operator] as const),
  ),
)

/** Returns the operator that a word means, if any. */
export function operatorOf(word: unknown): Operator | undefined {
  if (typeof word !== 'string' || word.length > 40) return undefined
  const plain = word
    .trim()
    .toLowerCase()
    .replace(/^\$/, '')
    .replace(/[\s_]+/g, ' ')
  return plain === '' ? undefined : operatorWords.get(plain)
}

/** Returns the end of a day, or of a period such as `this month`, that a comparison with it means. */
export function edgeOf(operator: Operator): 'start' | 'end' | 'both' {
  if (operator === '>=' || operator === '<') return 'start'
  return operator === '<=' || operator === '>' ? 'end' : 'both'
}

const isLetter = /[\p{L}\p{N}]/u
const wordsForNothing = /^(is )?(null|none|nil|undefined|unset|not set|set|empty|blank)$/i

/** Operators that find only what has a part of their value. */
const finding: ReadonlySet<Operator> = new Set(['=', 'like', 'contains', 'starts with', 'in'])

/** A form that may have been meant by a text. */
export interface Meant {
  readonly form: string
  /** Words after an operator in words, which may as well begin a text: where nothing has any of them, neither reading finds anything. */
  readonly values?: readonly string[]
}

/** Returns the form that was meant by a text which no value is: an operator in the value, a form in a text, or a word for no value. */
export function formMeant(text: string): Meant | undefined {
  if (wordsForNothing.test(text.trim())) return { form: '["is", "not set"]' }
  const written = text.trim().toLowerCase().replaceAll('_', ' ')
  if (/^[[{]/.test(written)) return { form: 'the list itself, not in a text' }
  const found = [...operatorWords.keys()].filter((word) => {
    const [follows] = written.slice(word.length)
    const apart =
      !isLetter.test(word.at(-1)!) || word.length > 4 || (follows !== undefined && !isLetter.test(follows))
    return word !== '' && written.startsWith(word) && apart
  })
  const longest = found.toSorted((a, b) => b.length - a.length)[0]
  if (longest === undefined) return undefined
  const operator = operatorWords.get(longest)!
  const form = `["${operator}", …]`
  if (!/^[a-z ]+$/.test(longest) || !finding.has(operator)) return { form }
  const values = written
    .slice(longest.length)
    .split(/,| and | or /)
    .map((value) => value.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''))
  return { form, values: values.filter((value) => value !== '').slice(0, 5) }
}

/** Tells what to write instead of a word that is no operator. */
export function unknownOperator(word: unknown): string {
  return `unknown operator ${show(word)}; use one of ${operators.join(', ')}`
}

/**
 * Reads `{field: value}`, `{field: [operator, value]}`, `{field: {operator: value}}`, `[[field, operator, value], …]`,
 * one such triple alone, `[{field, operator, value}]`, and any of these as JSON in a text. Reports every other form,
 * and gives up beyond `most`.
 */
export function triplesOf(
  filters: unknown,
  doctype: string,
  most: number,
  problems: string[],
): readonly Triple[] {
  const given = typeof filters === 'string' && filters !== '' ? jsonIn(filters) : filters
  if (filters === undefined || filters === null || filters === '') return []
  if (typeof given !== 'object' || given === null) {
    problems.push('must be an object such as {"status": "Open", "amount": [">", 100]}')
    return []
  }
  const triples: Triple[] = []
  // One too many shows that there are too many; the others need not be read.
  if (Array.isArray(given)) {
    const list = given as unknown[]
    const isOne = typeof list[0] === 'string' && list.length > 1 && !list.every((one) => Array.isArray(one))
    for (const one of isOne ? [list] : list) {
      if (triples.length > most) break
      const read = tripleOf(one, doctype)
      if (read) triples.push(read)
      else problems.push(`${show(one)} must be [field, operator, value], such as ["status", "=", "Open"]`)
    }
    return triples
  }
  for (const field in given) {
    if (triples.length > most) break
    triples.push(...ofField(field, (given as Readonly<Record<string, unknown>>)[field], problems))
  }
  return triples
}

function tripleOf(one: unknown, doctype: string): Triple | undefined {
  if (Array.isArray(one)) {
    const [first, ...rest] = one as unknown[]
    if (typeof first !== 'string') return undefined
    if (rest.length === 2) return [first, rest[0], rest[1]]
    if (rest.length !== 3) return undefined
    if (takesTwo(operatorOf(rest[0]))) return [first, rest[0], [rest[1], rest[2]]]
    return first === doctype && typeof rest[0] === 'string' ? [rest[0], rest[1], rest[2]] : undefined
  }
  if (typeof one !== 'object' || one === null) return undefined
  const { field, operator, value, ...others } = one as Readonly<Record<string, unknown>>
  if (typeof field !== 'string' || Object.keys(others).length > 0) return undefined
  return [field, operator ?? '=', value]
}

function takesTwo(operator: Operator | undefined): boolean {
  return operator === 'between' || operator === 'not between'
}

function ofField(field: string, value: unknown, problems: string[]): readonly Triple[] {
  if (Array.isArray(value)) {
    const [word, ...rest] = value as unknown[]
    const operator = operatorOf(word)
    if (operator !== undefined && rest.length === 1) return [[field, operator, rest[0]]]
    if (takesTwo(operator) && rest.length === 2) return [[field, operator, rest]]
    problems.push(
      `${field}: a list is [operator, value], such as ["in", ["a", "b"]] for one of several values; ${
        typeof word === 'string' && operator === undefined
          ? unknownOperator(word)
          : `${show(value)} has ${operator === undefined ? 'no operator' : `no single value for ${operator}`}`
      }`,
    )
    return []
  }
  if (typeof value !== 'object' || value === null) return [[field, '=', value]]
  const entries = Object.entries(value)
  if (entries.length === 0) problems.push(`${field}: {} has no operator; write {">": 100}`)
  return entries.slice(0, operators.length).map(([word, operand]) => [field, word, operand])
}
