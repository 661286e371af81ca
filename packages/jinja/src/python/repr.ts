/** Values printed as Python prints them: `str` for output, `repr` inside containers. */
import type { Run } from '../limits.ts'
import { floatText, intText } from './numbers.ts'
import { Dict, Float, Markup, Range, Tuple, Undefined, type Value } from '../values.ts'

/** Most texts: nothing to escape, single quotes around. */
const PLAIN = /^[ !#-&(-[\]-~]*$/
const UNPRINTABLE = /[\p{C}\p{Z}]/u
const NAMED: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

/** `str(value)`: what `{{ value }}` writes. */
export function str(run: Run, value: Value): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return Number.isInteger(value) ? String(value) : floatText(value)
    case 'boolean':
      return value ? 'True' : 'False'
    case 'bigint':
      return intText(value)
    default:
  }
  if (value === null) return 'None'
  if (value instanceof Markup) return value.text
  if (value instanceof Undefined) return ''
  if (value instanceof Float) return floatText(value.value)
  return container(run, value)
}

/** `repr(value)`. */
export function repr(run: Run, value: Value): string {
  if (typeof value === 'string') return reprText(value)
  if (value instanceof Markup) return `Markup(${reprText(value.text)})`
  if (value instanceof Undefined) return 'Undefined'
  return str(run, value)
}

/** A string between quotes, as Python chooses and escapes them. */
export function reprText(text: string): string {
  if (PLAIN.test(text)) return `'${text}'`
  // Double quotes only where they save an escape.
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  let result = quote
  for (const char of text) {
    if (char === quote) result += `\\${quote}`
    else if (char === ' ' || !(char in NAMED || UNPRINTABLE.test(char))) result += char
    else result += NAMED[char] ?? escapeChar(char.codePointAt(0)!)
  }
  return result + quote
}

/** `ascii(value)`: repr with everything beyond ASCII escaped. */
export function asciiRepr(run: Run, value: Value): string {
  let result = ''
  for (const char of repr(run, value)) result += char < '\x7f' ? char : escapeChar(char.codePointAt(0)!)
  return result
}

/** A character by its number: `\\x1f`, `\\u2028`, `\\U0001f600`. */
export function escapeChar(code: number): string {
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`
  return `\\U${code.toString(16).padStart(8, '0')}`
}

function container(run: Run, value: Exclude<Value, null | boolean | number | bigint | string>): string {
  if (Array.isArray(value)) return around(run, value, '[', ']', (inner) => join(run, value, inner))
  if (value instanceof Tuple) {
    const comma = value.items.length === 1 ? ',' : ''
    return around(run, value, '(', `${comma})`, (inner) => join(run, value.items, inner))
  }
  if (value instanceof Dict) {
    return around(run, value, '{', '}', (inner) => {
      let text = ''
      for (const [hash, item] of value.entries) {
        text += `${text === '' ? '' : ', '}${inner(value.original(hash))}: ${inner(item)}`
        run.text(text.length)
      }
      return text
    })
  }
  if (value instanceof Range) {
    return `range(${value.start}, ${value.stop}${value.step === 1 ? '' : `, ${value.step}`})`
  }
  if (value instanceof Float || value instanceof Markup || value instanceof Undefined) return str(run, value)
  return value.show ? value.show(run) : `<${value.type} object at 0x7f0000000000>`
}

function join(run: Run, items: Value[], inner: (item: Value) => string): string {
  let text = ''
  for (let i = 0; i < items.length; i++) {
    text += i === 0 ? inner(items[i]!) : `, ${inner(items[i]!)}`
    if ((i & 15) === 0) run.text(text.length)
  }
  return text
}

function around(
  run: Run,
  value: object,
  open: string,
  close: string,
  body: (inner: (item: Value) => string) => string,
): string {
  // Python's own way out of a container that contains itself.
  if (run.printing.includes(value)) return `${open}...${close === ',)' ? ')' : close}`
  run.enter()
  run.printing.push(value)
  const text = body((item) => {
    run.tick(1)
    return repr(run, item)
  })
  run.printing.pop()
  run.leave()
  run.text(text.length)
  return open + text + close
}
