/** What native functions accept: arguments checked and turned into plain JavaScript values. */
import { Fault } from './limits.ts'
import { isInt, textOf, typeName, type Value } from './values.ts'

/** An argument that must be a str. */
export function wantText(value: Value | undefined, what: string): string {
  const text = textOf(value)
  if (text === undefined) throw new Fault('TypeError', `${what} must be str, not ${typeName(value ?? null)}`)
  return text
}

/** An argument that must be a str, or None or absent. */
export function optionalText(value: Value | undefined, what: string): string | undefined {
  return value === undefined || value === null ? undefined : wantText(value, what)
}

/** An argument that must be an int; a default when it is absent. */
export function wantInt(value: Value | undefined, absent?: number): number {
  if (value === undefined && absent !== undefined) return absent
  if (typeof value === 'number' && Number.isInteger(value)) return value
  if (value !== undefined && isInt(value)) return Number(value)
  throw new Fault('TypeError', `'${typeName(value ?? null)}' object cannot be interpreted as an integer`)
}

/** Start and end as Python's `find(sub, start, end)` and slices read them, within a length. */
export function bounds(start: Value | undefined, end: Value | undefined, length: number): [number, number] {
  const from = start === undefined || start === null ? 0 : wantInt(start)
  const to = end === undefined || end === null ? length : wantInt(end)
  return [clamp(from, length), clamp(to, length)]
}

function clamp(index: number, length: number): number {
  return index < 0 ? Math.max(0, index + length) : Math.min(index, length)
}
