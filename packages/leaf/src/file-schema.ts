/**
 * A first look at a value by its schema: compiling a schema takes as long as looking at hundreds of values, and most
 * schemas of a start see one value, which fits. Of what it cannot read it says that it does not know.
 */
import { isObject } from './as-json.ts'
import type { JSONSchema } from 'json-schema-to-ts'
import { type Check, compileSchema, type CompileOptions, orProblem, schemaTexts } from './schema.ts'
import { canonical } from './strict-json.ts'

type Schema = Readonly<Record<string, unknown>>
/** Whether something fits; undefined where that is not known. */
type Answer = boolean | undefined

type Texts = typeof schemaTexts

/**
 * Makes the same check for files of a site, whose schemas are ours, and most of which see one file that fits: what is surely right at
 * a first look compiles nothing. What callers and programs send is left to what is compiled.
 */
export function fileSchema(
  schema: JSONSchema | Record<string, unknown>,
  options: CompileOptions = {},
): Check {
  const look = new FirstLook(schema as Record<string, unknown>, options.defaults ?? false, schemaTexts)
  const compiled = compileSchema(schema, options)
  let looks = 0
  return orProblem((value) => (looks++ < mostLooks && look.at(value) === true ? [] : compiled(value)))
}

/** The values that are only looked at: as many cost what compiling costs. */
const mostLooks = 100

/** The words of a schema that say nothing of what fits; of a type all is said before. */
const silent =
  /^(?:type|title|description|examples?|default|deprecated|\$comment|contentMediaType|enumNames|x-.*)$/

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

/** The words that ask something of values of one type, and nothing of others. */
const ofText = /^(?:minLength|maxLength|pattern|format)$/
const ofNumber = /^(?:minimum|maximum)$/
const ofList = /^(?:minItems|maxItems|items|uniqueItems)$/
const ofObject = /^(?:required|minProperties|maxProperties|propertyNames|properties|additionalProperties)$/

/** Looks at values by one schema. */
export class FirstLook {
  readonly #schema: Schema
  readonly #fills: boolean
  readonly #texts: Texts
  readonly #tests = new Map<string, ReturnType<Texts['pattern']> | undefined>()

  /** With `fills`, the defaults of members that are missing are filled in, as the check would. */
  constructor(schema: Schema, fills: boolean, texts: Texts) {
    this.#schema = schema
    this.#fills = fills
    this.#texts = texts
  }

  /** Tells whether a value fits; undefined where that is not known. */
  at(value: unknown): Answer {
    return this.#look(this.#schema, value, this.#fills)
  }

  #look(by: unknown, value: unknown, fills: boolean): Answer {
    if (typeof by === 'boolean') return by
    if (!isObject(by)) return undefined
    const { type } = by
    if (type !== undefined && !([type].flat() as string[]).some((one) => types[one]?.(value))) return false
    if (fills && isObject(value)) fill(by, value)
    return all(Object.keys(by), (word) => silent.test(word) || this.#ask(by, word, value, fills))
  }

  #ask(by: Schema, word: string, value: unknown, fills: boolean): Answer {
    const wanted = by[word]
    if (word === 'enum') return isPlain(wanted) ? (wanted as unknown[]).includes(value) : undefined
    if (word === 'const') return isPlain([wanted]) ? wanted === value : undefined
    if (word === 'oneOf' || word === 'anyOf') return this.#choose(word, wanted as Schema[], value)
    // Some formats are of numbers: `int32`.
    if (word === 'format' && typeof value === 'number') return undefined
    if (ofText.test(word)) return typeof value !== 'string' || this.#askText(word, wanted, value)
    if (ofNumber.test(word))
      return (
        typeof value !== 'number' || (word === 'minimum' ? value >= Number(wanted) : value <= Number(wanted))
      )
    if (ofList.test(word)) return !Array.isArray(value) || this.#askList(word, wanted, value, fills)
    if (ofObject.test(word)) return !isObject(value) || this.#askObject(by, word, value, fills)
    return undefined
  }

  #choose(word: string, choices: readonly Schema[], value: unknown): Answer {
    const answers = choices.map((one) => this.#look(one, value, false))
    if (answers.includes(undefined)) return undefined
    const fitting = answers.filter(Boolean).length
    return word === 'oneOf' ? fitting === 1 : fitting > 0
  }

  #askText(word: string, wanted: unknown, text: string): Answer {
    const count = Number(wanted)
    // A character takes two places of a text at most: few texts need counting.
    if (word === 'minLength') return text.length >= 2 * count || Array.from(text).length >= count
    if (word === 'maxLength')
      return text.length <= count || (text.length <= 2 * count && Array.from(text).length <= count)
    const key = `${word} ${String(wanted)}`
    if (!this.#tests.has(key)) this.#tests.set(key, this.#texts[word as keyof Texts](String(wanted)))
    return this.#tests.get(key)?.test(text)
  }

  #askList(word: string, wanted: unknown, list: readonly unknown[], fills: boolean): Answer {
    if (word === 'minItems') return list.length >= Number(wanted)
    if (word === 'maxItems') return list.length <= Number(wanted)
    if (word === 'items') return all(list, (one) => this.#look(wanted, one, fills))
    return wanted !== true || new Set(list.map((one) => canonical(one))).size === list.length
  }

  #askObject(by: Schema, word: string, value: Schema, fills: boolean): Answer {
    const wanted = by[word]
    const names = Object.keys(value)
    const parts = (by['properties'] ?? {}) as Schema
    if (word === 'required') return (wanted as string[]).every((name) => value[name] !== undefined)
    if (word === 'minProperties') return names.length >= Number(wanted)
    if (word === 'maxProperties') return names.length <= Number(wanted)
    if (word === 'propertyNames') return all(names, (name) => this.#look(wanted, name, false))
    if (word === 'properties')
      return all(
        Object.keys(parts),
        (name) => value[name] === undefined || this.#look(parts[name], value[name], fills),
      )
    // Patterns of names would have their say in which are additional.
    if ('patternProperties' in by) return undefined
    const others = names.filter((name) => !Object.hasOwn(parts, name))
    return all(others, (name) => this.#look(wanted, value[name], fills))
  }
}

/** Whether all fit: no where one does not, and unknown where one is unknown. */
function all<One>(list: readonly One[], fitting: (one: One) => Answer): Answer {
  let answer: Answer = true
  for (const one of list) {
    const fits = fitting(one)
    if (fits === false) return false
    if (fits === undefined) answer = undefined
  }
  return answer
}

function isPlain(values: unknown): boolean {
  return Array.isArray(values) && values.every((one) => typeof one !== 'object' || one === null)
}

function fill({ properties }: Schema, value: Record<string, unknown>): void {
  for (const [name, part] of Object.entries((properties as Schema | undefined) ?? {})) {
    const unsaid = isObject(part) ? part['default'] : undefined
    if (unsaid !== undefined && value[name] === undefined) value[name] = structuredClone(unsaid)
  }
}
