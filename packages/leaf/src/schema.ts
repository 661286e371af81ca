/**
 * JSON Schema (2020-12) validation of everything that comes from outside: tool arguments, site files,
 * request bodies. A schema is compiled once, never per request (D6): for the first value that is not known to fit, or after many.
 */
import { createRequire } from 'node:module'
import type * as Ajv from 'ajv/dist/2020.js'
import type { SchemaValidateFunction } from 'ajv/dist/types/index.js'
import type Formats from 'ajv-formats'
import type * as FormatList from 'ajv-formats/dist/formats.js'
import type { JSONSchema } from 'json-schema-to-ts'
import { AppError, messageOf } from './errors.ts'
import { meantOrKnown } from './names.ts'
import { decidedBy } from './who-decides.ts'
import { canonical } from './strict-json.ts'
import { referenceKeyword } from './references.ts'
import { followReference, schemaPatterns, unreadablePatterns } from './pattern.ts'

export type { FromSchema, JSONSchema } from 'json-schema-to-ts'

/** A problem of a value, and where it is: `path` has the keys and indexes from the root. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** A check: it returns every problem of a value at once; no problem means that the value has the schema's type. */
export type Check = (value: unknown) => Problem[]

/** The beginning of the message of every problem about a key that should not be there. */
export const unknownKeyText = 'unknown key'

/** Options of a check. */
export interface CompileOptions {
  /** True to fill in the schema's `default`s (changes the value that is checked). */
  readonly defaults?: boolean
}

/** Makes the check for a schema, which throws when it is used and the schema is wrong. The same schema object gives the same check. */
export function compileSchema(
  schema: JSONSchema | Record<string, unknown>,
  options: CompileOptions = {},
): Check {
  const engine = options.defaults ? filling : checking
  const known = engine.checks.get(schema as object)
  if (known) return known
  let compiled: Check | undefined
  const check = orProblem((value) => {
    return (compiled ??= engine.compile(schema as Record<string, unknown>))(value)
  })
  engine.checks.set(schema as object, check)
  return check
}

/** Ajv, most of whose time is its loading: many runs need none. */
const load = createRequire(import.meta.url)

/** Tests of texts as a compiled check makes them: by a pattern, and by the name of a format, of those that are patterns. */
export const schemaTexts = {
  pattern: schemaPatterns,
  format: (name: string): RegExp | undefined => {
    const { fullFormats } = load('ajv-formats/dist/formats.js') as typeof FormatList
    const found = fullFormats[name as keyof typeof fullFormats]
    return found instanceof RegExp && name !== 'url' ? found : undefined
  },
}

/** Makes a check say that a value takes too long, instead of throwing it. */
export function orProblem(check: Check): Check {
  return (value) => {
    try {
      return check(value)
    } catch (error) {
      if (error instanceof AppError) return [{ path: [], message: error.message }]
      throw error
    }
  }
}

/** Finds the problems of a schema itself, each with its path in it. */
export function schemaProblems(schema: Readonly<Record<string, unknown>>): readonly Problem[] {
  const problems = [...checking.problems(schema), ...unreadablePatterns(schema)]
  if (problems.length > 0) return problems
  try {
    orProblem(checking.compile({ ...schema }))({})
    return []
  } catch (error) {
    return [{ path: [], message: messageOf(error) }]
  }
}

interface Engine {
  readonly checks: WeakMap<object, Check>
  problems(schema: Readonly<Record<string, unknown>>): Problem[]
  compile(schema: Record<string, unknown>): Check
}

/** Validates the keyword `uniqueItems`. */
const areUnique: SchemaValidateFunction = (wanted: boolean, items: readonly unknown[]) => {
  const places = new Map<string, number>()
  for (const [place, item] of wanted ? items.entries() : []) {
    const text = canonical(item)
    const same = places.get(text)
    if (same !== undefined) {
      const message = `must NOT have duplicate items (items ## ${same} and ${place} are identical)`
      areUnique.errors = [{ keyword: 'uniqueItems', message }]
      return false
    }
    places.set(text, place)
  }
  return true
}

// The validators are shared: setting one up costs far more than one schema.
const checking = createEngine(false)
const filling = createEngine(true)

const addressed = /^(?:https?|ftp):\/\/(?:[^\s/]*@)?([^\s/:@]{1,253})(?::\d{2,5})?(?:\/\S*)?$/i

function createEngine(useDefaults: boolean): Engine {
  let made: Ajv.Ajv2020 | undefined
  const opened = (): Ajv.Ajv2020 => (made ??= openAjv(useDefaults))
  return {
    checks: new WeakMap(),
    problems: (schema) => {
      const ajv = opened()
      if (ajv.validateSchema(schema) === true) return []
      const errors = ajv.errors ?? []
      // Where a list of allowed values failed, the errors of its alternatives ("or an array of them") say less.
      const listed = new Set(
        errors.filter((error) => error.keyword === 'enum').map((error) => error.instancePath),
      )
      return describe(errors.filter((error) => error.keyword === 'enum' || !listed.has(error.instancePath)))
    },
    compile: (schema) => {
      const ajv = opened()
      try {
        const validate = ajv.compile(schema)
        return (value) => (validate(value) ? [] : describe(validate.errors ?? []))
      } finally {
        // A site's schemas must be freed with it, and two of them may have the same $id.
        ajv.removeSchema(schema)
      }
    },
  }
}

function openAjv(useDefaults: boolean): Ajv.Ajv2020 {
  const { Ajv2020, _ } = load('ajv/dist/2020.js') as typeof Ajv
  const formats = load('ajv-formats') as typeof Formats
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    strictTuples: false,
    allowUnionTypes: true,
    useDefaults,
    // Our schemas are right, and other people's go through `schemaProblems`: checking each costs more than compiling it.
    validateSchema: false,
    // Ajv's optimization of its code takes longer (a tenth of a start) than it saves in all checks of a day.
    code: { optimize: false, regExp: schemaPatterns },
    verbose: true,
    // Keywords that carry meaning for a reader, not for the check.
    keywords: ['x-mcp-header', 'x-asked', decidedBy, referenceKeyword, 'example', 'enumNames', '$anchor'],
  })
  // Ajv compares each item with all others: for a hundred thousand lists of one number it takes minutes.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: areUnique })
  countReferences(ajv, _)
  formats.default(ajv)
  const { url } = ajv.formats
  // Alone among the formats, `url` takes time quadratic in the text's length: it is applied to the host only.
  ajv.addFormat('url', (text: string) => {
    const [, host] = addressed.exec(text) ?? []
    return host !== undefined && url instanceof RegExp && url.test(`https://${host}`)
  })
  return ajv
}

/** Makes every followed reference in a schema charge the caller's budget. */
function countReferences(ajv: Ajv.Ajv2020, _: typeof Ajv._): void {
  for (const keyword of ['$ref', '$dynamicRef']) {
    const given = ajv.getKeyword(keyword) as Ajv.CodeKeywordDefinition
    const code: Ajv.CodeKeywordDefinition['code'] = (context, rule) => {
      context.gen.code(_`${context.gen.scopeValue('func', { ref: followReference })}()`)
      given.code(context, rule)
    }
    ajv.removeKeyword(keyword)
    ajv.addKeyword({ ...given, code })
  }
}

/** Formats a path as a person writes it: `users[0].roles`. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`),
    '',
  )
}

/** Joins all problems in one line, each with its path. */
export function problemsText(problems: readonly Problem[]): string {
  return problems
    .map(({ path, message }) => (path.length ? `${pathText(path)}: ${message}` : message))
    .join('; ')
}

/** The most problems reported: nobody reads more at once, and each takes time to put into words. */
const mostProblems = 200

function describe(errors: readonly Ajv.ErrorObject[]): Problem[] {
  // A value that is not among those allowed may be of the wrong type too; the list says more.
  const listed = new Set(
    errors.filter(({ keyword }) => keyword === 'enum').map((error) => error.instancePath),
  )
  const problems = errors
    .filter(({ keyword, instancePath }) => keyword !== 'type' || !listed.has(instancePath))
    .slice(0, mostProblems)
    // The parts of an `if`, `oneOf` or `anyOf` say more than the frame around them.
    .filter((error) => !(error.keyword === 'if' && errors.length > 1))
    .map((error) => ({ path: pathOf(error), message: textOf(error) }))
  const seen = new Set<string>()
  return problems.filter((problem) => {
    const key = `${pathText(problem.path)}: ${problem.message}`
    return seen.has(key) ? false : seen.add(key)
  })
}

function pathOf(error: Ajv.ErrorObject): (string | number)[] {
  const path: (string | number)[] = []
  for (const part of error.instancePath.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(/^\d+$/.test(key) ? Number(key) : key)
  }
  const params = error.params as Record<string, unknown>
  if (error.keyword === 'additionalProperties') path.push(String(params['additionalProperty']))
  if (error.keyword === 'unevaluatedProperties') path.push(String(params['unevaluatedProperty']))
  return path
}

function textOf(error: Ajv.ErrorObject): string {
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'required':
      return `"${String(params['missingProperty'])}" is required`
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownKey(error)
    case 'type':
      return `must be ${list([params['type']].flat().map(String), 'or')}, not ${kindOf(error.data)}`
    case 'enum':
      return `must be one of ${list(
        (params['allowedValues'] as unknown[]).map((v) => JSON.stringify(v)),
        'or',
      )}, not ${brief(error.data)}`
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}, not ${brief(error.data)}`
    case 'pattern':
      // The schema's author may have said in words what the pattern means.
      return typeof error.parentSchema?.['title'] === 'string'
        ? `must be ${error.parentSchema['title']}, not ${brief(error.data)}`
        : `${brief(error.data)} does not match ${String(params['pattern'])}${typeof error.parentSchema?.['description'] === 'string' ? ` (${error.parentSchema['description']})` : ''}`
    case 'format':
      return `${brief(error.data)} is not a valid ${String(params['format'])}`
    case 'minLength':
    case 'maxLength':
      return `must have at ${error.keyword === 'minLength' ? 'least' : 'most'} ${String(params['limit'])} characters`
    default:
      return error.message ?? 'is not valid'
  }
}

function unknownKey(error: Ajv.ErrorObject): string {
  const params = error.params as Record<string, unknown>
  const key = String(params['additionalProperty'] ?? params['unevaluatedProperty'])
  const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {})
  return `${unknownKeyText}${meantOrKnown(key, known)}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

function list(words: readonly string[], last: string): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}
