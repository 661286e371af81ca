/** The fields of what a JSON Schema describes: the arguments of a tool, and settings. */
import type { InputKind, TypedField } from './reader.ts'

interface Property {
  readonly type?: unknown
  readonly format?: unknown
  readonly description?: unknown
  readonly enum?: readonly unknown[]
  readonly items?: { readonly enum?: readonly unknown[] }
  readonly maxLength?: unknown
  /** Set for a text of several lines. */
  readonly contentMediaType?: unknown
}

/** Returns the fields of a form for what a schema describes; what has no input of its own is JSON. */
export function fieldsOf(schema: Readonly<Record<string, unknown>>): TypedField[] {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Property>>
  const required = new Set((schema['required'] ?? []) as readonly string[])
  return Object.entries(properties).map(([name, property]) => ({
    name,
    label: name,
    kind: kindOf(property),
    required: required.has(name),
    description: typeof property.description === 'string' ? property.description : '',
    options: (property.enum ?? property.items?.enum ?? []).filter(
      (one): one is string => typeof one === 'string',
    ),
  }))
}

function kindOf({ type, format, items, maxLength = 0, ...property }: Property): InputKind {
  if (property.enum?.every((one) => typeof one === 'string')) return 'select'
  if (type === 'string' && (format === 'date' || format === 'date-time'))
    return format === 'date' ? 'date' : 'line'
  if (type === 'string') return property.contentMediaType || Number(maxLength) > 300 ? 'text' : 'line'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'yesno'
  return type === 'array' && items?.enum?.every((one) => typeof one === 'string') ? 'several' : 'json'
}
