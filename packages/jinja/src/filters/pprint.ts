/** `pprint`: values laid out within 80 columns, as Python's pprint does. */
import { native, type Native } from '../binding.ts'
import { ordered } from '../python/compare.ts'
import { Fault, type Run } from '../limits.ts'
import { repr, reprText } from '../python/repr.ts'
import { lengthOf, SPACE, splitLines } from '../python/text.ts'
import { Dict, Tuple, typeName, type Env, type Value } from '../values.ts'

/** `pprint`, for looking at data while a template is written. */
export const prettyFilters: readonly [string, Native][] = [
  ['pprint', native('', ({ run }: Env, value) => layout(run, value, 0, 0, 0))],
]

const WIDTH = 80
const PARTS = new RegExp(`[^${SPACE}]+[${SPACE}]*|[${SPACE}]+`, 'g')

/** One value that starts at a column, with so many characters to follow its end. */
function layout(run: Run, value: Value, indent: number, allowance: number, level: number): string {
  run.enter()
  const text = flat(run, value)
  let result = text
  if (lengthOf(text) > WIDTH - indent - allowance) {
    if (Array.isArray(value)) result = `[${sequence(run, value, indent, allowance + 1, level + 1)}]`
    else if (value instanceof Tuple) {
      const close = value.items.length === 1 ? ',)' : ')'
      result = `(${sequence(run, value.items, indent, allowance + close.length, level + 1)}${close}`
    } else if (value instanceof Dict) result = `{${entries(run, value, indent, allowance + 1, level + 1)}}`
    else if (typeof value === 'string') result = longText(value, indent, allowance, level + 1)
  }
  run.leave()
  run.text(result.length)
  return result
}

/** On one line, dicts sorted by key. */
function flat(run: Run, value: Value): string {
  if (run.printing.includes(value as object)) {
    return `<Recursion on ${typeName(value)} with id=140000000000000>`
  }
  if (!(Array.isArray(value) || value instanceof Tuple || value instanceof Dict)) return repr(run, value)
  run.printing.push(value)
  run.enter()
  run.tick(1)
  let text: string
  if (value instanceof Dict) {
    text = `{${sorted(run, value)
      .map(([key, item]) => `${flat(run, key)}: ${flat(run, item)}`)
      .join(', ')}}`
  } else {
    const items = Array.isArray(value) ? value : value.items
    const body = items.map((item) => flat(run, item)).join(', ')
    text = Array.isArray(value) ? `[${body}]` : `(${body}${items.length === 1 ? ',' : ''})`
  }
  run.leave()
  run.printing.pop()
  run.text(text.length)
  return text
}

/** Pairs by key; keys without an order between them go by the name of their type. */
function sorted(run: Run, dict: Dict): [Value, Value][] {
  // Python's pprint sorts what cannot be compared too, rather than to fail.
  const less = (a: Value, b: Value): boolean => {
    try {
      return ordered(run, a, b, '<')
    } catch (error) {
      if (error instanceof Fault && error.kind === 'TypeError') return typeName(a) < typeName(b)
      throw error
    }
  }
  run.tick(dict.size)
  return dict.pairs().sort(([a], [b]) => (less(a, b) ? -1 : less(b, a) ? 1 : 0))
}

function sequence(run: Run, items: Value[], indent: number, allowance: number, level: number): string {
  const gap = `,\n${' '.repeat(indent + 1)}`
  return items
    .map((item, index) => layout(run, item, indent + 1, index === items.length - 1 ? allowance : 1, level))
    .join(gap)
}

function entries(run: Run, dict: Dict, indent: number, allowance: number, level: number): string {
  const pairs = sorted(run, dict)
  const gap = `,\n${' '.repeat(indent + 1)}`
  return pairs
    .map(([key, item], index) => {
      const label = flat(run, key)
      const column = indent + 1 + lengthOf(label) + 2
      return `${label}: ${layout(run, item, column, index === pairs.length - 1 ? allowance : 1, level)}`
    })
    .join(gap)
}

/** A text too long for its line: pieces of it, one under the other, in parentheses at the top. */
function longText(text: string, indent: number, allowance: number, level: number): string {
  const column = level === 1 ? indent + 1 : indent
  const after = level === 1 ? allowance + 1 : allowance
  const width = WIDTH - column
  const pieces: string[] = []
  const lines = splitLines(text, true)
  lines.forEach((line, index) => {
    const isLast = index === lines.length - 1
    const whole = reprText(line)
    if (lengthOf(whole) <= (isLast ? width - after : width)) pieces.push(whole)
    else pieces.push(...splitPieces(line, width, isLast ? after : 0))
  })
  if (pieces.length === 1) return reprText(lines.at(-1) ?? '')
  const body = pieces.join(`\n${' '.repeat(column)}`)
  return level === 1 ? `(${body})` : body
}

function splitPieces(line: string, width: number, after: number): string[] {
  const pieces: string[] = []
  const parts = line.match(PARTS) ?? []
  let current = ''
  parts.forEach((part, index) => {
    const room = index === parts.length - 1 ? width - after : width
    if (lengthOf(reprText(current + part)) > room) {
      if (current !== '') pieces.push(reprText(current))
      current = part
    } else current += part
  })
  if (current !== '') pieces.push(reprText(current))
  return pieces
}
