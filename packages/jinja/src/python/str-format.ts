/** `'{} {name}'.format(…)`: replacement fields, looked up with the rules of the sandbox. */
import { format } from './format-spec.ts'
import { Fault, type Run } from '../limits.ts'
import { asciiRepr, repr, str } from './repr.ts'
import type { Value } from '../values.ts'

/** Where fields come from and how their values become text. */
export interface Fields {
  readonly run: Run
  readonly args: readonly Value[]
  named(key: string): Value | undefined
  attribute(value: Value, name: string): Value
  item(value: Value, key: string | number): Value
  /** The value in the way the specification says. */
  text(value: Value, spec: string): string
}

/** Fills the replacement fields of a format. */
export function strFormat(format: string, fields: Fields): string {
  const numbering = { next: 0, mode: '' }
  // Two levels as in Python: a specification may hold fields, those hold none.
  return fill(format, fields, numbering, 2)
}

/** How values become text unless the format is Markup. */
export function plainField(run: Run): Fields['text'] {
  return (value, spec) => format(run, value, spec)
}

interface Numbering {
  next: number
  mode: string
}

function fill(text: string, fields: Fields, numbering: Numbering, depth: number): string {
  if (depth < 0) throw new Fault('ValueError', 'Max string recursion exceeded')
  let out = ''
  let at = 0
  while (at < text.length) {
    const char = text[at]!
    if (char !== '{' && char !== '}') {
      const next = text.slice(at).search(/[{}]/)
      const end = next < 0 ? text.length : at + next
      out += text.slice(at, end)
      at = end
      continue
    }
    if (text[at + 1] === char) {
      out += char
      at += 2
      continue
    }
    if (char === '}') throw new Fault('ValueError', "Single '}' encountered in format string")
    const end = fieldEnd(text, at)
    out += field(text.slice(at + 1, end), fields, numbering, depth)
    fields.run.text(out.length)
    at = end + 1
  }
  return out
}

function fieldEnd(text: string, open: number): number {
  if (open + 1 === text.length) throw new Fault('ValueError', "Single '{' encountered in format string")
  let depth = 0
  for (let i = open; i < text.length; i++) {
    if (text[i] === '{') depth++
    else if (text[i] === '}' && --depth === 0) return i
  }
  throw new Fault('ValueError', "expected '}' before end of string")
}

function field(text: string, fields: Fields, numbering: Numbering, depth: number): string {
  let end = 0
  while (end < text.length && text[end] !== ':' && text[end] !== '!') {
    if (text[end] === '[') {
      while (end < text.length && text[end] !== ']') end++
    }
    if (text[end] === '{') throw new Fault('ValueError', "unexpected '{' in field name")
    end++
  }
  let value = lookup(text.slice(0, end), fields, numbering)
  if (text[end] === '!') {
    const conversion = text[end + 1]
    if (conversion === undefined)
      throw new Fault('ValueError', 'end of string while looking for conversion specifier')
    if (text[end + 2] !== undefined && text[end + 2] !== ':') {
      throw new Fault('ValueError', "expected ':' after conversion specifier")
    }
    value = converted(fields.run, value, conversion)
    end += 2
  }
  const spec = fill(text.slice(end + 1), fields, numbering, depth - 1)
  return fields.text(value, spec)
}

function converted(run: Run, value: Value, conversion: string): string {
  if (conversion === 's') return str(run, value)
  if (conversion === 'r') return repr(run, value)
  if (conversion === 'a') return asciiRepr(run, value)
  throw new Fault('ValueError', `Unknown conversion specifier ${conversion}`)
}

const STEP = /\.([^.[]*)|\[([^\]]*)\]/y

/**
 * `a.b[0]`, step by step through the sandbox's own rules: a format reaches nothing that an expression
 * cannot.
 */
function lookup(name: string, fields: Fields, numbering: Numbering): Value {
  const first = /^[^.[]*/.exec(name)![0]
  let value = root(first, fields, numbering)
  let at = first.length
  while (at < name.length) {
    STEP.lastIndex = at
    const match = STEP.exec(name)
    if (!match) {
      const open = name[at] === '['
      throw new Fault(
        'ValueError',
        open ? "Missing ']' in format string" : "Only '.' or '[' may follow ']' in format field specifier",
      )
    }
    at = STEP.lastIndex
    const [, attribute, key] = match
    if (attribute === '' || key === '') throw new Fault('ValueError', 'Empty attribute in format string')
    if (attribute !== undefined) value = fields.attribute(value, attribute)
    else value = fields.item(value, /^\d+$/.test(key!) ? Number(key) : key!)
  }
  return value
}

function root(first: string, fields: Fields, numbering: Numbering): Value {
  if (first !== '' && !/^\d+$/.test(first)) {
    const value = fields.named(first)
    if (value === undefined) throw new Fault('KeyError', first)
    return value
  }
  // Python refuses to mix `{}` and `{0}` in one format.
  const mode = first === '' ? 'automatic field numbering' : 'manual field specification'
  if (numbering.mode !== '' && numbering.mode !== mode) {
    throw new Fault('ValueError', `cannot switch from ${numbering.mode} to ${mode}`)
  }
  numbering.mode = mode
  const index = first === '' ? numbering.next++ : Number(first)
  const value = fields.args[index]
  if (value === undefined) {
    throw new Fault('IndexError', `Replacement index ${index} out of range for positional args tuple`)
  }
  return value
}
