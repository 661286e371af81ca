/** `tojson`: as Python's json.dumps writes with sorted keys, safe inside HTML. */
import { native, type Native } from '../binding.ts'
import { ordered, orderOf } from '../python/compare.ts'
import { Fault, type Run } from '../limits.ts'
import { wantInt } from '../native-arguments.ts'
import { floatText, intText } from '../python/numbers.ts'
import { Dict, Float, isFloat, Markup, textOf, Tuple, typeName, type Env, type Value } from '../values.ts'

/** `tojson`; its text is Markup, because nothing in it can end an element or an attribute. */
export const jsonFilters: readonly [string, Native][] = [['tojson', native('indent?', toJson)]]

const printable = /^[ !#-[\]-~]*$/

/** Written as escapes of JSON, so that the text means the same and HTML sees none of them. */
const UNSAFE: Record<string, string> = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026', "'": '\\u0027' }
const SHORT: Record<string, string> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
  '\b': '\\b',
}

interface Style {
  readonly run: Run
  readonly unit: string | undefined
  readonly open: object[]
  /** The keys of the last dict that had only texts, those in order, and each as it is written. */
  shape?: {
    readonly keys: readonly string[]
    readonly sorted: readonly string[]
    readonly heads: readonly string[]
  }
}

function toJson({ run }: Env, value: Value, indent?: Value): Markup {
  const style: Style = { run, unit: unitOf(run, indent), open: [] }
  const text = write(style, value, '\n')
  return new Markup(/[<>&']/.test(text) ? text.replace(/[<>&']/g, (char) => UNSAFE[char]!) : text)
}

function unitOf(run: Run, indent: Value | undefined): string | undefined {
  if (indent === undefined || indent === null) return undefined
  const text = textOf(indent)
  if (text !== undefined) return text
  const width = Math.max(0, wantInt(indent))
  run.text(width)
  return ' '.repeat(width)
}

function write(style: Style, value: Value, newline: string): string {
  const { run } = style
  run.tick(1)
  if (typeof value === 'string') return quote(run, value)
  if (typeof value === 'number' && Number.isSafeInteger(value)) return intText(value)
  const text = textOf(value)
  if (text !== undefined) return quote(run, text)
  if (value === null) return 'null'
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (isFloat(value)) return floatJson(value instanceof Float ? value.value : value)
  if (typeof value === 'number' || typeof value === 'bigint') return intText(value)
  if (Array.isArray(value) || value instanceof Tuple) {
    const items = Array.isArray(value) ? value : value.items
    return nested(style, value, '[', ']', newline, (inner) => items.map((item) => write(style, item, inner)))
  }
  if (value instanceof Dict) {
    return nested(style, value, '{', '}', newline, (inner) => membersOf(style, value, inner))
  }
  throw new Fault('TypeError', `Object of type ${typeName(value)} is not JSON serializable`)
}

function nested(
  style: Style,
  value: object,
  open: string,
  close: string,
  newline: string,
  parts: (inner: string) => string[],
): string {
  const { run, unit } = style
  // A list can contain itself: templates append to lists.
  if (style.open.includes(value)) throw new Fault('ValueError', 'Circular reference detected')
  style.open.push(value)
  run.enter()
  const inner = unit === undefined ? newline : newline + unit
  const all = parts(inner)
  run.leave()
  style.open.pop()
  let length = 0
  for (const part of all) length += part.length + inner.length + 2
  run.text(length)
  if (all.length === 0) return open + close
  if (unit === undefined) return `${open}${all.join(', ')}${close}`
  return `${open}${inner}${all.join(`,${inner}`)}${newline}${close}`
}

/** The members of a dict in the order of their keys; dicts in a list mostly have the same ones. */
function membersOf(style: Style, dict: Dict, inner: string): string[] {
  const { run } = style
  run.tick(dict.size)
  const keys = dict.keys()
  let { shape } = style
  if (shape?.keys.length !== keys.length || !keys.every((key, at) => key === shape!.keys[at])) {
    if (!keys.every((key) => typeof key === 'string')) return mixedMembers(style, dict, inner)
    const sorted = orderOf(run, keys, false).map((at) => keys[at]!)
    shape = { keys, sorted, heads: sorted.map((key) => `${quote(run, key)}: `) }
    style.shape = shape
  }
  const { sorted, heads } = shape
  return sorted.map((key, at) => heads[at]! + write(style, dict.get(key)!, inner))
}

function mixedMembers(style: Style, dict: Dict, inner: string): string[] {
  const { run } = style
  return dict
    .pairs()
    .sort(([a], [b]) => (ordered(run, a, b, '<') ? -1 : ordered(run, b, a, '<') ? 1 : 0))
    .map(([key, item]) => `${quote(run, keyText(key))}: ${write(style, item, inner)}`)
}

/** Keys as json.dumps writes them: numbers, booleans and None as text. */
function keyText(key: Value): string {
  const text = textOf(key)
  if (text !== undefined) return text
  if (key === null) return 'null'
  if (typeof key === 'boolean') return key ? 'true' : 'false'
  if (isFloat(key)) return floatJson(key instanceof Float ? key.value : key)
  if (typeof key === 'number' || typeof key === 'bigint') return intText(key)
  throw new Fault('TypeError', `keys must be str, int, float, bool or None, not ${typeName(key)}`)
}

/** Not JSON where a number is infinite, but what json.dumps writes. */
function floatJson(value: number): string {
  if (Number.isFinite(value)) return floatText(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'
}

function quote(run: Run, text: string): string {
  run.text(text.length)
  if (printable.test(text)) return `"${text}"`
  const body = text.replace(
    // Everything but printable ASCII, by UTF-16 unit as JSON escapes count.
    /[^ !#-[\]-~]/g,
    (char) => SHORT[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `"${body}"`
}
