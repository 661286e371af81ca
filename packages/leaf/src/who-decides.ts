/**
 * Tells who decides the value of a key of the site. Business keys are for people with a business role, and give no power over
 * the machine, the network, the log or how others sign in; all others are for whoever runs the host, by the file or by git. The
 * schemas say which; a key that says nothing is like those around it, and an unclassified key is the host's.
 */
/** A JSON Schema to look through. */
export type Schema = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]

/** The schema keyword for who decides. */
export const decidedBy = 'x-decided-by'

/** Marks a schema as decided by people with a business role, except parts of it that say otherwise. */
export function business<const S extends Schema>(schema: S): S {
  return { ...schema, [decidedBy]: 'business' }
}

/** Marks a schema as decided on the host, except parts of it that say otherwise. */
export function host<const S extends Schema>(schema: S): S {
  return { ...schema, [decidedBy]: 'host' }
}

/** Returns the paths where two readings of a file differ in what the host decides; without a schema, all where they differ. */
export function hostChanges(schema: Schema | undefined, before: unknown, after: unknown): Path[] {
  return [...changes(before, after, [])].filter((path) => !isBusiness(schema ?? {}, path))
}

/** Yields the paths where two values differ, at the deepest places that differ. */
function* changes(before: unknown, after: unknown, path: Path): Generator<Path> {
  const [was, is] = [entriesOf(before), entriesOf(after)]
  const keys = new Set([...was.keys(), ...is.keys()])
  const [wasKind, isKind] = [kindOf(before), kindOf(after)]
  const differs =
    wasKind === isKind
      ? (isKind === 'value' || isKind === 'nothing') && !Object.is(before, after)
      : // What was not there at all is of no kind: only what came with it counts.
        (wasKind !== 'nothing' && isKind !== 'nothing') || keys.size === 0
  if (differs) yield path
  for (const key of keys) yield* changes(was.get(key), is.get(key), [...path, key])
}

function kindOf(value: unknown): 'nothing' | 'list' | 'map' | 'value' {
  if (value === null || value === undefined) return 'nothing'
  return Array.isArray(value) ? 'list' : typeof value === 'object' ? 'map' : 'value'
}

function entriesOf(value: unknown): ReadonlyMap<string | number, unknown> {
  if (Array.isArray(value)) return new Map(value.entries())
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : [])
}

/** True when people with a business role decide the value at a path. */
export function isBusiness(schema: Schema, path: Path, above = false): boolean {
  const decided = schema[decidedBy] === undefined ? above : schema[decidedBy] === 'business'
  const [key, ...rest] = path
  if (key === undefined) return decided
  const kinds = schema['oneOf'] as readonly Schema[] | undefined
  if (kinds) {
    // All alternatives that know the key must say so, whichever applies.
    const known = kinds.filter((kind) => schemaAt(kind, key) !== undefined)
    return known.length > 0 && known.every((kind) => isBusiness(kind, path, decided))
  }
  const part = schemaAt(schema, key)
  return part !== undefined && isBusiness(part, rest, decided)
}

/** Returns the schema of the value at a key; an open one where any key is allowed, undefined where this key is not. */
export function schemaAt(schema: Schema, key: string | number): Schema | undefined {
  if (typeof key === 'number') return (schema['items'] as Schema | undefined) ?? {}
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
  if (Object.hasOwn(properties, key)) return properties[key]
  const { additionalProperties: others = {} } = schema as { additionalProperties?: Schema | boolean }
  return others === true ? {} : others === false ? undefined : others
}
