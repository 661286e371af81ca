/** Checks one file of `config/tools/` beyond its schema, for faults and for what is surely not meant. */
import { isIP } from 'node:net'
import { http } from '#leaf/node-http.ts'
import { messageOf } from '#leaf/errors.ts'
import { unknownName } from '#leaf/names.ts'
import { isPublicAddress } from '#leaf/public-address.ts'
import { type Problem, schemaProblems } from '#leaf/schema.ts'
import { placeAt } from '#leaf/places.ts'
import type { Sources } from '../../settings/sources.ts'
import type { HttpDefinition, SqlDefinition, UpstreamDefinition } from './own-schema.ts'
import { portable } from '#leaf/portable-schema.ts'
import { placeholders, withoutPlaceholders } from './templates.ts'

/** The content of a file of `config/tools/`. */
export type Definition = HttpDefinition | SqlDefinition | UpstreamDefinition

/** A fault in a file; or, as a warning, something that is surely not meant. */
export interface DefinitionProblem extends Problem {
  readonly isWarning?: true
  readonly at?: 'key'
}

/** Checks a request: its arguments, its host, its headers and body. */
export function* checkHttp(definition: HttpDefinition): Generator<DefinitionProblem> {
  const { url, query = {}, input, response, method = 'GET' } = definition
  yield* checkInput(input)
  yield* checkReach(definition)
  const texts: [Problem['path'], string][] = Object.entries(query).map(([key, text]) => [
    ['query', key],
    text,
  ])
  const used = [[['url'], url] as const, ...texts].flatMap(([path, text]) =>
    placeholders(text).map((name) => ({ path, name })),
  )
  for (const { path, name } of used) yield* unknownArgument(input, name, path)
  const names = used.map(({ name }) => name)
  if (!sendsBody(definition)) yield* unusedArguments(input, names, 'request')
  // In a query, braces may be those of JSON.
  if (/[{}]/.test(withoutPlaceholders(url.replace(/\?.*$/s, ''))))
    yield { path: ['url'], message: 'a brace holds no argument: write {name}', isWarning: true }
  if (response?.max_pages !== undefined && response.next === undefined)
    yield { path: ['response', 'max_pages'], message: 'counts only beside "next"', isWarning: true }
  if (response?.next !== undefined && method !== 'GET')
    yield { path: ['response', 'next'], message: 'only what is asked by GET is asked again' }
}

/** True if the arguments that have no other place are sent as JSON. */
export function sendsBody({ method = 'GET', body }: HttpDefinition): boolean {
  return (body ?? (method === 'GET' || method === 'DELETE' ? 'none' : 'json')) === 'json'
}

/** Checks a statement: its arguments and its paging. */
export function* checkSql(definition: SqlDefinition, sources: Sources): Generator<DefinitionProblem> {
  const { sql, input, page, cursor, source } = definition
  const { type = 'postgres' } = sources[source] ?? {}
  if (type !== 'postgres')
    yield {
      path: ['source'],
      message: `"${source}" is a ${type}: statements run on PostgreSQL only; write doctypes over its tables, which query_and_analyze reads`,
    }
  yield* checkInput(input)
  const wrong = (at: number, message: string): DefinitionProblem => ({
    path: ['sql'],
    message: `${placeAt(sql, at)}: ${message}`,
  })
  const bare = sql.replace(statementParts, (part) => ' '.repeat(part.length))
  const numbered = bare.search(/\$\d/)
  if (numbered >= 0) yield wrong(numbered, 'arguments have names here, such as $item')
  const [, change] = changing.exec(bare) ?? []
  if (change !== undefined)
    yield wrong(
      bare.indexOf(change),
      `${change.toUpperCase()} is no question, and a tool of the type sql only asks`,
    )
  for (const { 2: name, index } of sql.matchAll(statementParts))
    if (name !== undefined) yield* unknownArgument(input, name, ['sql'], `${placeAt(sql, index)}: `)
  yield* unusedArguments(input, sqlNames(sql), 'statement')
  if (page !== undefined && cursor)
    yield { path: ['cursor'], message: 'a tool has either a page or a cursor' }
  const unordered = 'without ORDER BY a page may repeat or miss rows of the one before'
  if (page !== undefined && !/\border\s+by\b/i.test(bare))
    yield { path: ['page'], message: unordered, isWarning: true }
  const added = pageArgument(definition)
  if (added !== undefined && argumentsOf(input).includes(added))
    yield {
      path: ['input', 'properties', added],
      message: 'this argument is added by the program; take it out',
    }
}

/** The first words of a statement that is surely meant to change something. */
const changing = /^\s*(insert|update|delete|merge|truncate|create|alter|drop|grant|call|do)\b/i

/** Checks another server: the way to reach it. */
export function* checkUpstream(definition: UpstreamDefinition): Generator<DefinitionProblem> {
  const { url, command } = definition
  if ((url === undefined) === (command === undefined))
    yield { path: command ? ['command'] : [], message: 'an upstream has either a url or a command' }
  for (const [key, beside] of besides)
    if (definition[key] !== undefined && definition[beside] === undefined)
      yield { path: [key], message: `counts only beside "${beside}"`, isWarning: true }
  yield* checkReach(definition)
}

const besides = [
  ['env', 'command'],
  ['headers', 'url'],
  ['allow_private', 'url'],
] as const

/** Checks the address of requests, and their headers. */
function* checkReach(definition: HttpDefinition | UpstreamDefinition): Generator<DefinitionProblem> {
  const { url, headers = {}, assertion, allow_private: mayBePrivate } = definition
  // The addresses of a name are looked up when the tool is tried.
  const isAddress = url !== undefined && URL.canParse(url)
  if (url !== undefined && !isAddress) yield { path: ['url'], message: `"${url}" is not a web address` }
  const host = isAddress ? new URL(url).hostname.replace(/^\[|\]$/g, '') : ''
  const isPrivate = host === 'localhost' || (isIP(host) !== 0 && !isPublicAddress(host))
  const closed = 'this host is not on the public internet, which only "allow_private: true" opens'
  if (isPrivate && mayBePrivate !== true) yield { path: ['url'], message: closed, isWarning: true }
  const literal = 'is sent as it stands: arguments have no place in headers'
  for (const [key, value] of Object.entries(headers)) {
    const problem = headerProblem(key, value)
    if (problem !== undefined) yield { path: ['headers', key], message: problem }
    if (placeholders(value).length > 0) yield { path: ['headers', key], message: literal, isWarning: true }
  }
  if (!assertion) return
  const { header } = assertion
  const path = ['assertion', 'header']
  const given = Object.keys(headers).map((key) => key.replace(/_file$/, '').toLowerCase())
  if (header !== undefined && given.includes(header.toLowerCase()))
    yield { path, message: `"${header}" is among the headers already` }
  if ('command' in definition && header !== undefined)
    yield { path, message: 'a command is sent no headers; name a key of _meta with "meta"' }
  if (header === undefined && !('meta' in assertion))
    yield { path: ['assertion'], message: 'names neither a header nor, with "meta", a key of _meta' }
}

/** Tells why HTTP could not carry the header; undefined when it can. */
function headerProblem(key: string, value: string): string | undefined {
  try {
    http.validateHeaderName(key)
    http.validateHeaderValue(key, value)
  } catch (error) {
    return messageOf(error)
  }
  return undefined
}

type Input = HttpDefinition['input']

function* checkInput(input: Input): Generator<DefinitionProblem> {
  for (const problem of inputProblems(input)) yield { ...problem, path: ['input', ...problem.path] }
}

/** Checks the input schema of a tool of the site, which must describe the arguments that it requires. */
export function* inputProblems(input: Input): Generator<DefinitionProblem> {
  const problem = inputProblem(input)
  if (problem !== undefined) yield problem
  else for (const one of portable(input).changed) yield { ...one, isWarning: true }
  const required = input['required']
  // JSON Schema allows it, and nobody means it: a model would have to guess what to give.
  for (const [index, name] of (Array.isArray(required) ? required : []).map(String).entries())
    yield* unknownArgument(input, name, ['required', index])
}

function argumentsOf(input: Input): readonly string[] {
  return Object.keys((input['properties'] as object | undefined) ?? {})
}

function* unknownArgument(
  input: Input,
  name: string,
  path: Problem['path'],
  place = '',
): Generator<DefinitionProblem> {
  const known = argumentsOf(input)
  if (!known.includes(name)) yield { path, message: place + unknownName('argument', name, known) }
}

function* unusedArguments(
  input: Input,
  used: readonly string[],
  where: string,
): Generator<DefinitionProblem> {
  const message = `is used nowhere in the ${where}`
  for (const name of argumentsOf(input))
    if (!used.includes(name))
      yield { path: ['input', 'properties', name], message, isWarning: true, at: 'key' }
}

/** Returns the argument that the program adds to those of the tool. */
export function pageArgument({ page, cursor }: Pick<SqlDefinition, 'page' | 'cursor'>): string | undefined {
  return page ?? (cursor && 'cursor')
}

/** The parts of a statement to skip: texts, quoted names, comments; or, in the second group, the name of an argument. */
export const statementParts =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|\$([A-Za-z_]\w*)/g

/** Returns the `$name`s of a statement. */
export function sqlNames(sql: string): string[] {
  return [...new Set([...sql.matchAll(statementParts)].flatMap(({ 2: name }) => name ?? []))]
}

/** Returns the first fault of a schema as the input of a tool. */
export function inputProblem(input: Readonly<Record<string, unknown>>): Problem | undefined {
  return input['type'] === 'object'
    ? schemaProblems(input)[0]
    : { path: [], message: 'the input of a tool is a schema with "type: object"' }
}
