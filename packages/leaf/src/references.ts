/**
 * References by name in the files of a site. A schema says what kind of thing a text names (`references('role', …)`), and one
 * walker finds all places with such names; the caller checks that the names exist.
 */
import { schemaAt, type Schema } from './who-decides.ts'

/** The schema keyword for references. */
export const referenceKeyword = 'x-references'

/** Marks the schema of a text as the name of a thing of this kind; for the keys of a map it is used in `propertyNames`. */
export function references<const S extends Schema>(kind: string, schema: S): S {
  return { ...schema, [referenceKeyword]: kind }
}

/** A reference: a name that must exist, and where it stands. */
export interface Reference {
  readonly kind: string
  readonly name: string
  readonly path: readonly (string | number)[]
  readonly at: 'key' | 'value'
}

/** Yields the references in a value that matches the schema, or nearly does. */
export function* referencesIn(
  schema: Schema,
  value: unknown,
  path: Reference['path'] = [],
  at: Reference['at'] = 'value',
): Generator<Reference> {
  const kind = schema[referenceKeyword]
  if (typeof kind === 'string' && typeof value === 'string') yield { kind, name: value, path, at }
  for (const one of (schema['oneOf'] ?? []) as readonly Schema[]) yield* referencesIn(one, value, path)
  if (typeof value !== 'object' || value === null) return
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  const names = schema['propertyNames'] as Schema | undefined
  for (const key of keys) {
    if (names) yield* referencesIn(names, key, [...path, key], 'key')
    const part = schemaAt(schema, key)
    if (part) yield* referencesIn(part, (value as Record<string | number, unknown>)[key], [...path, key])
  }
}
