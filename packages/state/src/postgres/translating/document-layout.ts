/** The layout of our own table: documents as JSON, with an index of sort keys. */
import type { Bind } from './dialect.ts'
import type { WordQuestion } from '../../questions/words.ts'
import { deepFreeze } from '../../plain-json.ts'
import type { Stored } from '../../store.ts'
import {
  field,
  idBytes,
  idText,
  placeBytes,
  quoted,
  smallText,
  sortPlace,
  storedJson,
  storedText,
} from '../language.ts'
import type { Compared, Layout } from './layout.ts'
import { postgresDialect } from './postgres-dialect.ts'
import { columnValue, fieldValue } from './terms.ts'
import { nearWord, sameWord } from './tsquery.ts'

/** The number of characters that the sort key ("place") of a text covers; longer texts may share one. */
const placeLength = 200

/** The SQL operators that compare sort keys. */
export const places: ReadonlyMap<string, string> = new Map([
  ['sorts with', '='],
  ['sorts before', '<'],
  ['sorts after', '>'],
])

/** Matches texts that no other JSON value reads as. */
const isOnlyText = /^(?![-\d{[]|(?:true|false)$)/

/** Returns the layout of a collection's documents; `indexed` are the fields that have an index. */
export function documentLayout(collection: string, indexed: readonly string[]): Layout {
  return {
    ...ownFields,
    base: [`d.collection = ${quoted(collection)}`],
    holding: (name, wanted, bind) => {
      if (wanted === null || wanted === undefined) return among(name, [null], bind)
      if (typeof wanted === 'object') return undefined
      const held = `COALESCE(${field(name)} @> ${json(wanted, bind)}, false)`
      // An index has all lists under one sort key.
      return indexed.includes(name) ? `(${placed(name, [wanted], bind)} AND ${held})` : held
    },
  }
}

/** What all collections of ours have in common. */
const ownFields: Omit<Layout, 'base' | 'holding'> = {
  dialect: postgresDialect,
  from: 'assistant_core.document d',
  body: 'd.body',
  read: parsed,
  tie: 'd.id',
  mostTested: Infinity,
  order: ({ field: name, descending }) =>
    `${name === 'id' ? 'd.id' : sortPlace(name)}${descending ? ' DESC' : ''}`,
  term: (name, column) => (column === undefined ? fieldValue(field(name)) : columnValue(field(name), column)),
  text: storedText,
  compared,
  unindexed,
  begins: (name, start, bind) => matches(name, `${literally(start)}%`, bind),
  within,
  shares,
  beyond: ({ field: name, descending }, value, bind) =>
    name === 'id' ? undefined : `${sortPlace(name)} ${descending ? '<=' : '>='} ${bind(placeBytes(value))}`,
  measured: (name) => {
    const held = field(name)
    if (name === 'id') return { number: 'NULL::numeric', text: `(${held} #>> '{}')` }
    const check = `${held}::text::boolean::int::numeric`
    return {
      number: `CASE jsonb_typeof(${held}) WHEN 'number' THEN ${held}::numeric WHEN 'boolean' THEN ${check} END`,
      text: `CASE jsonb_typeof(${held}) WHEN 'string' THEN d.data ->> ${quoted(name)} END`,
    }
  },
  hasWords,
  hasWord: (asked, paths, how, bind) =>
    `d.words @@ ${bind(how === 'same' ? sameWord(asked.word, paths) : nearWord(asked, paths))}::tsquery`,
  keys: ['d.id'],
  id: 'd.id',
  readId: (id) => idText(id as Buffer),
}

/** Parses and freezes a document from the database. */
export function parsed(body: unknown): Stored {
  return deepFreeze(JSON.parse(body as string) as Stored)
}

/** SQL for: a field may have one of some values or, as a list, hold it. */
export function placed(name: string, wanted: readonly unknown[], bind: Bind): string {
  return `${sortPlace(name)} = ANY(${bind([...wanted, []].map(placeBytes))}::bytea[])`
}

/** Escapes a text as a LIKE pattern that matches only itself. */
export function literally(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

function json(value: unknown, bind: Bind): string {
  return `${bind(storedJson(value))}::text::jsonb`
}

/** SQL for: a field holds one of some texts, where no index helps: comparing sort keys takes ten times as long. */
function unindexed({ field: name, operator, value }: Compared, bind: Bind): string | undefined {
  const wanted: unknown = operator === '=' ? [value] : operator === 'in' ? value : undefined
  if (name === 'id' || !Array.isArray(wanted)) return undefined
  if (!wanted.every((one) => typeof one === 'string' && isOnlyText.test(one))) return undefined
  const texts = wanted.map((one) => storedText(one as string))
  const [only] = texts
  const same = texts.length === 1 ? `${bind(only)}::text` : `ANY(${bind(texts)}::text[])`
  return `(d.data ->> ${quoted(name)} = ${same}) IS TRUE`
}

function compared({ field: name, operator, value }: Compared, bind: Bind): string | undefined {
  if (name === 'id') return comparedId(operator, value, bind)
  if (operator === '=') return among(name, [value], bind)
  if (operator === 'in') return Array.isArray(value) ? among(name, value, bind) : undefined
  if (operator === 'contains') return contains(name, value, bind)
  if (operator === 'like') return like(name, value, bind)
  if (/^[<>]=?$/.test(operator)) return range(name, operator, value, bind)
  const sign = places.get(operator)
  return sign && `${sortPlace(name)} ${sign} ${bind(placeBytes(value))}`
}

/** Compares by the sort key, which may be indexed; it does not decide alone on long texts and on lists. */
function among(name: string, wanted: readonly unknown[], bind: Bind): string | undefined {
  if (wanted.some((value) => typeof value === 'object' && value !== null)) return undefined
  if (wanted.length === 0) return 'false'
  const long = wanted.some((value) => typeof value === 'string' && value.length >= placeLength)
  if (wanted.length === 1 && !long) return `${sortPlace(name)} = ${bind(placeBytes(wanted[0]))}`
  const same = `${sortPlace(name)} = ANY(${bind(wanted.map(placeBytes))}::bytea[])`
  if (!long) return same
  const list = `${bind(wanted.map((value) => storedJson(value ?? null)))}::text[]`
  const whole = `jsonb_typeof(${field(name)}) = 'string' AND NOT ${field(name)} = ANY(${list}::jsonb[])`
  return `(${same} AND NOT COALESCE(${whole}, false))`
}

function range(name: string, operator: string, value: unknown, bind: Bind): string | undefined {
  const than = typeof value === 'boolean' ? Number(value) : value
  if (typeof than !== 'number' && typeof than !== 'string') return 'false'
  if (typeof than === 'string' && than.length >= placeLength) return undefined
  // Only values of one kind come before or after each other.
  const [least, most] = typeof than === 'number' ? ['01', '02'] : ['02', '03']
  const kind = operator.startsWith('<') ? `>= '\\x${least}'` : `< '\\x${most}'`
  return `(${sortPlace(name)} ${operator} ${bind(placeBytes(than))} AND ${sortPlace(name)} ${kind})`
}

function hasWords({ words, all, fields }: WordQuestion, bind: Bind): string {
  const paths = fields.map(({ path }) => path)
  const parts = words.map((word) => `(${sameWord(word.word, paths)} | ${nearWord(word, paths)})`)
  const asked = `d.words @@ ${bind(parts.join(all ? ' & ' : ' | '))}::tsquery`
  // Asked twice: the planner takes a word it has no statistics on for a frequent one, and would read every document.
  return `(${asked} AND ${asked})`
}

function contains(name: string, part: unknown, bind: Bind): string | undefined {
  return typeof part === 'string' ? matches(name, `%${literally(part.toLowerCase())}%`, bind) : undefined
}

function like(name: string, pattern: unknown, bind: Bind): string | undefined {
  const wanted = likePattern(pattern)
  return wanted === undefined ? undefined : matches(name, wanted, bind, ['string', 'number', 'boolean'])
}

/** Returns a pattern as PostgreSQL reads it: `_` stands for one UTF-16 unit, which the database has no notion of. */
export function likePattern(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string' || pattern.includes('_')) return undefined
  const wanted = pattern.toLowerCase().replaceAll('\\', '\\\\')
  return wanted.includes('%') ? wanted : `%${wanted}%`
}

/** SQL for: a field is of one of these kinds and its lower-case text is LIKE a pattern, as a trigram index reads it. */
function matches(name: string, pattern: string, bind: Bind, kinds: readonly string[] = ['string']): string {
  const kind = `COALESCE(jsonb_typeof(${field(name)}) IN (${kinds.map(quoted).join(', ')}), false)`
  return `(${smallText(name)} LIKE ${bind(storedText(pattern))} AND ${kind})`
}

/** Compares the id, which has an order and a column of its own. */
function comparedId(operator: string, value: unknown, bind: Bind): string | undefined {
  if (operator === 'like') return like('id', value, bind)
  if (operator === 'contains') return contains('id', value, bind)
  if (operator === 'in')
    return Array.isArray(value)
      ? `d.id = ANY(${bind(value.filter((one) => typeof one === 'string').map((one) => idBytes(one)))}::bytea[])`
      : undefined
  if (typeof value !== 'string') return operator.startsWith('sorts') ? undefined : 'false'
  const sign = places.get(operator) ?? operator
  return /^(?:=|[<>]=?)$/.test(sign) ? `d.id ${sign} ${bind(idBytes(value))}` : undefined
}

function within(name: string, column: string | undefined, value: string, bind: Bind): string {
  if (column === undefined)
    return `COALESCE(CASE jsonb_typeof(${field(name)})
        WHEN 'array' THEN ${field(name)} @> ${json([value], bind)}
        WHEN 'string' THEN strpos(${field(name)} #>> '{}', ${bind(storedText(value))}) > 0 END, false)`
  const row = json([{ [column]: value }], bind)
  return `COALESCE(jsonb_typeof(${field(name)}) = 'array' AND ${field(name)} @> ${row}, false)`
}

function shares(name: string, column: string | undefined, wanted: readonly string[], bind: Bind): string {
  const list = `${bind(wanted.map(storedText))}::text[]`
  if (column === undefined)
    return `COALESCE(CASE jsonb_typeof(${field(name)}) WHEN 'array' THEN ${field(name)} ?| ${list}
        WHEN 'string' THEN ${field(name)} #>> '{}' = ANY(${list}) END, false)`
  const rows = `jsonb_array_elements(CASE jsonb_typeof(${field(name)}) WHEN 'array' THEN ${field(name)} ELSE '[]' END)`
  const one = `one -> ${quoted(column)}`
  return `EXISTS (SELECT 1 FROM ${rows} AS one WHERE jsonb_typeof(${one}) = 'string' AND (${one}) #>> '{}' = ANY(${list}))`
}
