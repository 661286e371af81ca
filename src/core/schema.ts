/**
 * JSON Schema (2020-12) checking for everything that comes from outside: tool arguments, site
 * files, request bodies. Compiled once, when it is first needed, never per request (D6): most runs need few of them.
 */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { JSONSchema } from 'json-schema-to-ts'
import { didYouMean } from './names.ts'

export type { FromSchema, JSONSchema } from 'json-schema-to-ts'

/** One thing that is wrong with a value, and where: `path` as keys and indexes from the root. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Checks a value and returns every problem at once; no problem means that the value has the schema's type. */
export type Check = (value: unknown) => Problem[]

/** How the message of every problem about a key that should not be there begins. */
export const unknownKeyText = 'unknown key'

/** How a check behaves besides checking. */
export interface CompileOptions {
  /** Fill in the schema's `default`s (changes the value that is checked). */
  readonly defaults?: boolean
}

/** Makes a check of a schema. Its first use throws when the schema itself is wrong. The same schema object gives the same check. */
export function compileSchema(
  schema: JSONSchema | Record<string, unknown>,
  options: CompileOptions = {},
): Check {
  const engine = options.defaults ? filling : checking
  const known = engine.checks.get(schema as object)
  if (known) return known
  let compiled: Check | undefined
  const check: Check = (value) => (compiled ??= engine.compile(schema as Record<string, unknown>))(value)
  engine.checks.set(schema as object, check)
  return check
}

/** What is wrong with a schema itself, each at its place in it. */
export function schemaProblems(schema: Record<string, unknown>): Problem[] {
  return checking.problems(schema)
}

interface Engine {
  readonly checks: WeakMap<object, Check>
  problems(schema: Record<string, unknown>): Problem[]
  compile(schema: Record<string, unknown>): Check
}

// Setting up the validator costs far more than one schema, and a reload compiles every schema of the site.
const checking = createEngine(false)
const filling = createEngine(true)

function createEngine(useDefaults: boolean): Engine {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    strictTuples: false,
    allowUnionTypes: true,
    useDefaults,
    // Ours are right, and those of other people go through `schemaProblems`: checking each costs more than compiling it.
    validateSchema: false,
    // Its passes over the code that it makes take longer (a tenth of a start) than what they save in all checks of a day.
    code: { optimize: false },
    verbose: true,
    // Keywords of our own that carry meaning for a reader, not for the check.
    keywords: ['x-mcp-header', 'example', 'enumNames', '$anchor'],
  })
  formats.default(ajv)
  return {
    checks: new WeakMap(),
    problems: (schema) => {
      if (ajv.validateSchema(schema) === true) return []
      const errors = ajv.errors ?? []
      // Where a list of allowed values failed, its alternatives ("or an array of them") say less.
      const listed = new Set(
        errors.filter((error) => error.keyword === 'enum').map((error) => error.instancePath),
      )
      return describe(errors.filter((error) => error.keyword === 'enum' || !listed.has(error.instancePath)))
    },
    compile: (whole) => {
      const schema = useDefaults ? withoutFilled(whole) : whole
      try {
        const validate = ajv.compile(schema)
        return (value) => (validate(value) ? [] : describe(validate.errors ?? []))
      } finally {
        // Schemas of a site go with it, and two of them may have the same $id.
        ajv.removeSchema(schema)
      }
    },
  }
}

/** The schema without the requirements that its defaults meet: half of what is made of the settings' would be to tell them. */
function withoutFilled(schema: Record<string, unknown>): Record<string, unknown> {
  const { properties, required } = schema as {
    readonly properties?: Record<string, Record<string, unknown>>
    readonly required?: readonly string[]
  }
  if (!properties) return schema
  const inner = Object.entries(properties).map(([name, part]) => [name, withoutFilled(part)])
  const open = required?.filter((name) => properties[name]?.['default'] === undefined)
  return { ...schema, properties: Object.fromEntries(inner), required: open ?? [] }
}

/** A path as a person writes it: `users[0].roles`. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`),
    '',
  )
}

/** All problems in one line, each with its path. */
export function problemsText(problems: readonly Problem[]): string {
  return problems
    .map(({ path, message }) => (path.length ? `${pathText(path)}: ${message}` : message))
    .join('; ')
}

/** Nobody reads more at once, and each takes time to put into words. */
const mostProblems = 200

function describe(errors: readonly ErrorObject[]): Problem[] {
  // A value that is none of those allowed is of the wrong type too, now and then; the list says more.
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

function pathOf(error: ErrorObject): (string | number)[] {
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

function textOf(error: ErrorObject): string {
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
      // Who wrote the schema may have said in words what the pattern means.
      return typeof error.parentSchema?.['title'] === 'string'
        ? `must be ${error.parentSchema['title']}, not ${brief(error.data)}`
        : `${brief(error.data)} does not match ${String(params['pattern'])}`
    case 'format':
      return `${brief(error.data)} is not a valid ${String(params['format'])}`
    case 'minLength':
    case 'maxLength':
      return `must have at ${error.keyword === 'minLength' ? 'least' : 'most'} ${String(params['limit'])} characters`
    default:
      return error.message ?? 'is not valid'
  }
}

function unknownKey(error: ErrorObject): string {
  const params = error.params as Record<string, unknown>
  const key = String(params['additionalProperty'] ?? params['unevaluatedProperty'])
  const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {})
  return `${unknownKeyText}${didYouMean(key, known)}`
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
