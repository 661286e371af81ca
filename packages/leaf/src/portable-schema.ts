/**
 * The schemas of tools as they are listed: in the part of JSON Schema that the models of every vendor take. One type each,
 * `items` in every list, no references and no alternatives. What a call may have is decided by the schema as it was written.
 */
import { isObject } from './as-json.ts'

type Json = Readonly<Record<string, unknown>>

/** A schema as it is listed, and every place where it says less than it was written. */
export interface PortableSchema {
  readonly schema: Json
  readonly changed: readonly { readonly path: readonly (string | number)[]; readonly message: string }[]
}

/** Keywords that every vendor takes, of any type. Bounds are left to the check of the call, which names them. */
const kept = ['title', 'description', 'default', 'x-mcp-header']
/** Keywords that are read here, or may go without a word: the check of the call has them too, or they tell a model nothing. */
const expected: ReadonlySet<string> = new Set(
  `type properties required items enum const additionalProperties anyOf oneOf allOf $ref $dynamicRef title description default
  minimum maximum minLength maxLength minItems maxItems pattern x-mcp-header $schema $id $comment $defs definitions example examples
  multipleOf uniqueItems exclusiveMinimum exclusiveMaximum format propertyNames readOnly writeOnly deprecated enumNames x-asked`.split(
    /\s+/,
  ),
)
const deepest = 8
const mostNodes = 2000
const argumentName = /^[A-Za-z0-9_.-]{1,64}$/

/** Rewrites a schema of `type: object`. */
export function portable(written: Json): PortableSchema {
  const changed: { path: (string | number)[]; message: string }[] = []
  const rewriting = new Rewriting(written, (path, message) => changed.push({ path: [...path], message }))
  return { schema: rewriting.whole(), changed }
}

type Path = readonly (string | number)[]

class Rewriting {
  readonly #root: Json
  readonly #tell: (path: Path, message: string) => void
  /** The targets of references around the place, within which none of them may come again. */
  readonly #open: Json[] = []
  #nodes = 0

  constructor(root: Json, tell: (path: Path, message: string) => void) {
    this.#root = root
    this.#tell = tell
  }

  whole(): Json {
    return this.#object(this.#single(this.#root, []), [])
  }

  /** Rewrites any schema to one of a single type. */
  #any(written: unknown, path: Path): Json {
    const given = isObject(written) ? written : {}
    if (path.length > deepest * 2 || ++this.#nodes > mostNodes) return { type: 'object' }
    const open = this.#open.length
    const result = this.#typed(this.#single(given, path), path)
    this.#open.length = open
    return result
  }

  #typed(node: Json, path: Path): Json {
    const type = typeOf(node)
    if (type === 'object') return this.#object(node, path)
    if (type === 'array')
      // Without a word about the items most models write texts.
      return {
        ...plain(node),
        items: this.#any(node['items'] ?? { type: 'string' }, [...path, 'items']),
      }
    const values = [...listOf(node['enum']), ...('const' in node ? [node['const']] : [])]
    const texts = values.filter((value) => typeof value === 'string')
    const others = values.filter((value) => typeof value !== 'string' && value !== null)
    const description = [node['description'], others.length > 0 && `One of ${others.map(String).join(', ')}.`]
    return {
      ...plain(node),
      ...(node['format'] === 'date-time' && { format: 'date-time' }),
      ...(others.length > 0 && { description: description.filter(Boolean).join(' ') }),
      ...(texts.length > 0 && type === 'string' && { enum: texts }),
    }
  }

  #object(node: Json, path: Path): Json {
    const properties = Object.entries(isObject(node['properties']) ? node['properties'] : {})
    const required = listOf(node['required']).filter((name) => properties.some(([known]) => known === name))
    const named = properties.filter(([name]) => {
      const fits = argumentName.test(name)
      if (!fits && required.includes(name))
        this.#tell(
          [...path, 'properties', name],
          'some models take no argument of this name: use letters, digits, _',
        )
      else if (!fits)
        this.#tell([...path, 'properties', name], 'is not listed: some models take no such name')
      return fits || required.includes(name)
    })
    return {
      ...plain(node, 'object'),
      ...(named.length + Number(path.length === 0) > 0 && {
        properties: Object.fromEntries(
          named.map(([name, property]) => [name, this.#any(property, [...path, 'properties', name])]),
        ),
      }),
      ...(required.length > 0 && { required }),
    }
  }

  /** Follows references, joins parts and chooses among alternatives, until a schema stands for itself. */
  #single(written: Json, path: Path): Json {
    let node = written
    const target = this.#target(node)
    if (target && this.#open.includes(target)) {
      this.#tell(path, 'is listed as any object, since it is within itself')
      return { type: 'object' }
    }
    if (target) {
      const { $ref: _, $dynamicRef: __, ...own } = node
      this.#open.push(target)
      node = this.#single({ ...target, ...own }, path)
    }
    for (const key of Object.keys(node))
      if (!expected.has(key)) this.#tell([...path, key], 'is not listed, since some models do not take it')
    if (isObject(node['additionalProperties']))
      this.#tell(
        [...path, 'additionalProperties'],
        'is listed as open, since some models take no schema there',
      )
    for (const part of listOf(node['allOf']))
      node = joined(node, this.#single(isObject(part) ? part : {}, path), true)
    for (const key of ['anyOf', 'oneOf']) {
      const choices = listOf(node[key])
        .filter(isObject)
        .filter((one) => one['type'] !== 'null')
      if (choices.length > 0) node = this.#chosen(node, choices, [...path, key])
    }
    const { anyOf: _any, oneOf: _one, allOf: _all, ...rest } = node
    const types = listOf(rest['type']).filter((one) => one !== 'null')
    if (types.length > 1)
      this.#tell([...path, 'type'], `is listed as ${String(types[0])}, since some models take one type`)
    return types.length > 0 ? { ...rest, type: types[0] } : rest
  }

  #chosen(node: Json, choices: readonly Json[], path: Path): Json {
    const read = choices.map((one) => this.#single(one, path))
    const [first, ...others] = read as [Json, ...Json[]]
    if (others.length === 0) return joined(node, first, true)
    if (read.every((one) => typeOf({ ...node, ...one }) === 'object')) {
      this.#tell(path, 'is listed as one object with the members of all')
      return read.reduce((all, one) => joined(all, one, false), node)
    }
    if (read.every((one) => 'const' in one || 'enum' in one))
      return { ...node, enum: read.flatMap((one) => [...listOf(one['enum']), ...listOf(one['const'])]) }
    this.#tell(path, 'is listed as the first of them, since some models take no alternatives')
    return joined(node, first, true)
  }

  #target(node: Json): Json | undefined {
    const reference = node['$ref'] ?? node['$dynamicRef']
    if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
    const steps = reference.slice(1).split('/').slice(1)
    const name = (step: string): string =>
      decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    const found = steps.reduce<unknown>((at, step) => (isObject(at) ? at[name(step)] : undefined), this.#root)
    return isObject(found) ? found : undefined
  }
}

/** Joins two schemas; of alternatives only what all of them require is required. */
function joined(a: Json, b: Json, both: boolean): Json {
  const properties = [a, b].map((one) => (isObject(one['properties']) ? one['properties'] : {}))
  const [mine, theirs] = [a, b].map((one) => listOf(one['required'])) as [unknown[], unknown[]]
  const required = both ? [...new Set([...mine, ...theirs])] : mine
  return {
    ...b,
    ...a,
    ...(Object.keys({ ...properties[0], ...properties[1] }).length > 0 && {
      properties: { ...properties[1], ...properties[0] },
    }),
    ...(required.length > 0 && { required }),
  }
}

/** Returns the type of a schema with what every vendor takes beside it. */
function plain(node: Json, type = typeOf(node)): Json {
  const keys = kept.filter((key) => (node[key] ?? null) !== null)
  return { type, ...Object.fromEntries(keys.map((key) => [key, node[key]])) }
}

function typeOf(node: Json): string {
  const [type] = listOf(node['type'])
  if (typeof type === 'string') return type
  if (isObject(node['properties'])) return 'object'
  if (node['items'] !== undefined) return 'array'
  const value = node['const'] ?? listOf(node['enum'])[0]
  return typeof value === 'number' || typeof value === 'boolean' ? typeof value : 'string'
}

function listOf(value: unknown): unknown[] {
  return value === undefined ? [] : [value].flat()
}
