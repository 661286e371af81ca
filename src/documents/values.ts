/** Reads the values that callers give, by field type: returns what is stored, or what is wrong with it (see core/values.ts). */
import { type Bounds, isMissing, readAs, type ReadValue, type ValueType } from '../core/values.ts'
import type { Field, FieldType } from './platform/platform.ts'

type FieldValue = Bounds & { readonly type: ValueType }

// Beyond this, a number that is no money loses digits before its point.
const most = 1e15

/** The value type and bounds of each field type; null for a table, whose rows are read one by one. */
const fieldValues: Readonly<Record<FieldType, FieldValue | null>> = {
  text: { type: 'text', longest: 500, oneLine: true },
  long_text: { type: 'text' },
  number: { type: 'number', most },
  integer: { type: 'integer' },
  currency: { type: 'decimal', places: 2 },
  percent: { type: 'number', most },
  check: { type: 'boolean' },
  date: { type: 'date' },
  datetime: { type: 'datetime' },
  select: { type: 'select' },
  link: { type: 'link' },
  dynamic_link: { type: 'link' },
  attachment: { type: 'link' },
  // This is enough for a nested value; what is larger is a file and belongs in an attachment.
  json: { type: 'json', longest: 65_536 },
  table: null,
}

/** Returns the type of a field's values; a table has rows, which are JSON where there are only values. */
export function valueTypeOf(type: FieldType): ValueType {
  return fieldValues[type]?.type ?? 'json'
}

/** The types of fields in whose values words are searched. */
export const searchedTypes: ReadonlySet<FieldType> = new Set([
  'text',
  'long_text',
  'select',
  'link',
  'dynamic_link',
])

/** True when values can be added up; a sum of dates or texts would be a number that means nothing. */
export function isSummable(type: FieldType): boolean {
  return ['number', 'integer', 'decimal'].includes(valueTypeOf(type))
}

/** Returns the number of digits after the point of an amount of money; undefined for fields of other types. */
export function placesOf({ type, precision }: Pick<Field, 'type' | 'precision'>): number | undefined {
  return valueTypeOf(type) === 'decimal' ? (precision ?? fieldValues[type]?.places) : undefined
}

/** Reads one value of a field as it will be stored; `null` is no value. To compare with, days may come in words. */
export function readValue(
  { type, options, length, precision }: Pick<Field, 'type' | 'options' | 'length' | 'precision'>,
  value: unknown,
  days: Pick<Bounds, 'now' | 'edge'> = {},
): ReadValue {
  const kind = fieldValues[type]
  if (isMissing(value)) return { value: null }
  if (!kind) return { problem: 'is a table of rows, not a value' }
  return readAs(kind.type, value, {
    ...kind,
    ...days,
    options,
    ...(length !== undefined && { longest: length }),
    ...(precision !== undefined && { places: precision }),
    stored: true,
  })
}
