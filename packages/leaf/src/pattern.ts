/**
 * Regular expressions, whoever wrote them: authors of prompts and tools, other people's servers, and we. All run on an
 * engine in time linear in text and pattern; V8's time doubles with each character for `^(a+)+$` (D6).
 */
import { RE2JS } from 're2js'
import { AppError, messageOf } from './errors.ts'

/** A fault of a pattern, with the path of keys to it. */
interface PatternFault {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** The budget of steps. Linear is not quick: an instruction of a pattern takes up to 20 ns for each character. */
const mostSteps = 10_000_000

/** The steps that compiling an instruction costs, which takes a microsecond; it limits the instructions of a pattern. */
const stepsToCompile = 50
const mostInstructions = 20_000

/** The steps that following a reference costs, which takes some microseconds. */
const stepsToFollow = 100

let stepsLeft = Infinity

/** Runs work that matches one caller's texts, with a budget: its patterns take a fifth of a second at most. */
export function bounded<T>(work: () => T): T {
  const before = stepsLeft
  stepsLeft = mostSteps
  try {
    return work()
  } finally {
    stepsLeft = before
  }
}

/** Compiles a pattern in RE2 syntax to a test of a whole text; throws when the pattern cannot be read. */
export function wholePattern(source: string): (text: string) => boolean {
  const compiled = compile(source)
  return (text) => {
    spend(text.length * compiled.programSize(), source)
    return compiled.testExact(text)
  }
}

/** The regular expression engine for Ajv. A schema's ECMAScript pattern is compiled at its first use, and throws then. */
export const schemaPatterns = Object.assign(
  (source: string) => {
    let compiled: RE2JS | undefined
    const test = (text: string): boolean => {
      compiled ??= compile(source, asRe2)
      spend(text.length * compiled.programSize(), source)
      return compiled.test(text)
    }
    return { test, toString: () => source }
  },
  { code: 'schemaPatterns' },
)

/** Finds the patterns of a schema that cannot be read. */
export function unreadablePatterns(schema: object): PatternFault[] {
  const faults: PatternFault[] = []
  eachUnreadable(schema, [], true, (fault) => faults.push(fault))
  return faults
}

/** Drops unreadable patterns from other people's schema, where that makes it no stricter, and returns them. */
export function dropUnreadablePatterns(schema: object): PatternFault[] {
  const faults: PatternFault[] = []
  eachUnreadable(schema, [], true, (fault, drop) => {
    if (drop) faults.push(fault)
    drop?.()
  })
  return faults
}

/** Charges for following a reference in a schema: alternatives that refer to it may double with each level of a value. */
export function followReference(): void {
  spend(stepsToFollow, 'a schema that refers to itself')
}

/** Returns the message for a pattern that could not be read. */
export function unusable(error: unknown): string {
  return `is not a usable pattern: ${messageOf(error).replace(/^Invalid regular expression: /, '')}`
}

function compile(source: string, translate = (text: string): string => text): RE2JS {
  const size = source.length > mostInstructions ? Infinity : sizeOf(source)
  if (size > mostInstructions) throw new Error('it is too large')
  spend(size * stepsToCompile, source)
  return RE2JS.compile(translate(source))
}

function spend(steps: number, source: string): void {
  stepsLeft -= steps
  if (stepsLeft < 0) throw new AppError('invalid', `matching so much with ${source} takes too long`)
}

/** Estimates the instructions of a pattern: a repeated part counts as often as it may occur. */
function sizeOf(source: string): number {
  const around: number[] = []
  let size = 0
  let last = 0
  const words = /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(\d+)(?:,(\d*))?\}|./gsu
  for (const [word, least, most] of source.matchAll(words)) {
    if (word === '(') {
      around.push(size)
      size = 0
    } else if (least !== undefined) {
      const more = (last + 1) * Math.max(0, Number(most || least) - 1)
      last += more
      size += more
    } else {
      last = word === ')' ? size + 2 : 1
      size = word === ')' ? (around.pop() ?? 0) + last : size + last
    }
  }
  return around.reduce((sum, part) => sum + part, size)
}

/** The characters of `\s` in ECMAScript, and all others. */
const spaces =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const others =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'

const words = /\\(?:u\{[0-9a-f]+\}|ud[89ab]..\\ud[c-f]..|u....|c.|.)|\(\?<?[=!]|\(\?<[^\]>]*>|\[\^?|./gisu

/** Translates an ECMAScript pattern to RE2. Throws for an invalid pattern, and for one that takes more than linear time. */
function asRe2(source: string): string {
  RegExp(source, 'u')
  let inClass = false
  let translated = ''
  for (const { 0: word, index } of source.matchAll(words)) {
    if (word.startsWith('[') && !inClass && source[index + word.length] === ']')
      throw new Error(`${word}] cannot be read`)
    translated += inClass ? insideOf(word) : outsideOf(word)
    inClass = inClass ? word !== ']' : word.startsWith('[')
  }
  return translated
}

function outsideOf(word: string): string {
  if (/^\\[1-9k]|^\(\?<?[=!]/.test(word))
    throw new Error(`${word} takes more than linear time: a pattern cannot look ahead, behind or back`)
  if (word.startsWith('(?<')) return '(?:'
  if (word === '\\s') return `[${spaces}]`
  if (word === '\\S') return `[^${spaces}]`
  return word === '.' ? '[^\\n\\r\\x{2028}\\x{2029}]' : escapeOf(word)
}

function insideOf(word: string): string {
  if (word === '\\s') return spaces
  if (word === '\\S') return others
  if (word === '\\b') return '\\x08'
  // Unescaped it would begin a class of RE2's own, such as [:alpha:].
  return word.startsWith('[') ? `\\${word}` : escapeOf(word)
}

function escapeOf(word: string): string {
  if (word === '\\0') return '\\x00'
  if (word.startsWith('\\u{')) return `\\x${word.slice(2)}`
  if (word.startsWith('\\u'))
    return `\\x{${(JSON.parse(`"${word}"`) as string).codePointAt(0)!.toString(16)}}`
  return word.startsWith('\\c') ? `\\x{${(word.charCodeAt(2) % 32).toString(16)}}` : word
}

/** Schema keywords whose keys are names, those whose values are data, and those that refuse what a part of them allows. */
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const data = ['const', 'enum', 'default', 'example', 'examples']
const turning = ['not', 'if', 'oneOf', 'contains']

/** Calls `found` for each unreadable pattern of a schema; `drop`, where given, removes it and leaves the schema less strict. */
function eachUnreadable(
  schema: unknown,
  path: PatternFault['path'],
  mayDrop: boolean,
  found: (fault: PatternFault, drop: (() => void) | undefined) => void,
): void {
  if (typeof schema !== 'object' || schema === null) return
  const holder = schema as Record<string, unknown>
  for (const [key, value] of Object.entries(holder)) {
    const at = [...path, Array.isArray(schema) ? Number(key) : key]
    const message = key === 'pattern' && typeof value === 'string' ? faultOf(value) : undefined
    if (message !== undefined) found({ path: at, message }, mayDrop ? () => delete holder[key] : undefined)
    if (!maps.includes(key)) {
      if (!data.includes(key)) eachUnreadable(value, at, mayDrop && !turning.includes(key), found)
      continue
    }
    const named = value as Record<string, unknown>
    for (const [name, part] of Object.entries(named ?? {})) {
      const fault = key === 'patternProperties' ? faultOf(name) : undefined
      const drop = () => void (delete named[name], delete holder['additionalProperties'])
      if (fault !== undefined) found({ path: [...at, name], message: fault }, mayDrop ? drop : undefined)
      else eachUnreadable(part, [...at, name], mayDrop, found)
    }
  }
}

function faultOf(pattern: string): string | undefined {
  try {
    compile(pattern, asRe2)
    return undefined
  } catch (error) {
    return unusable(error)
  }
}
