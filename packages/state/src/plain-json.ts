/** Plain JSON, all that is stored: copied on the way in and frozen, so that nobody can change it behind the store's back. */
import { AppError } from '#leaf/errors.ts'
import { pathText } from '#leaf/schema.ts'
import type { Stored } from './store.ts'

type Path = readonly (string | number)[]

const maximumDepth = 100
const maximumIdLength = 1024

/** Returns a frozen copy of a document to store; AppError `invalid` says which parts cannot be stored. */
export function storable(name: string, document: Stored): Stored {
  const copy = frozenCopy(document, name)
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy)) {
    throw new AppError('invalid', `${name}: a document must be an object`)
  }
  if (typeof copy.id !== 'string' || copy.id === '' || copy.id.length > maximumIdLength) {
    throw new AppError('invalid', `${name}: id must be a text of 1 to ${maximumIdLength} characters`)
  }
  return copy
}

/**
 * Returns a frozen copy of a value that must be plain JSON; members that are undefined are left out.
 * AppError `invalid` lists everything that is not JSON, each after `place` and its path.
 */
export function frozenCopy<T>(value: T, place: string): T {
  const faults: string[] = []
  const copy = copyOf(value, [], (path, message) => {
    faults.push(path.length ? `${place}: ${pathText(path)}: ${message}` : `${place}: ${message}`)
  })
  if (faults.length) throw new AppError('invalid', faults.slice(0, 20).join('; '))
  return copy as T
}

/** Freezes a value just parsed from JSON, at every depth. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}

function copyOf(value: unknown, path: Path, fault: (path: Path, message: string) => void): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) fault(path, `${value} is not a JSON number`)
      // JSON has no negative zero, and a value read back must equal the one written.
      return value === 0 ? 0 : value
    case 'object':
      if (value === null) return null
      if (path.length >= maximumDepth)
        return fault(path.slice(0, 3), `nested deeper than ${maximumDepth} levels`)
      return Array.isArray(value) ? copyArray(value, path, fault) : copyObject(value, path, fault)
    default:
      return fault(path, `${typeof value} is not JSON`)
  }
}

function copyArray(
  values: readonly unknown[],
  path: Path,
  fault: (path: Path, message: string) => void,
): unknown {
  // Array.from reads holes as undefined, which is refused.
  return Object.freeze(
    Array.from(values, (value, index) => (isAsItIs(value) ? value : copyOf(value, [...path, index], fault))),
  )
}

function copyObject(value: object, path: Path, fault: (path: Path, message: string) => void): unknown {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    return fault(path, `${value.constructor?.name ?? 'an object with a prototype'} is not plain JSON`)
  }
  const copy: Record<string, unknown> = { ...value }
  let whole = true
  for (const key of Object.keys(copy)) {
    const member = copy[key]
    if (key === '__proto__') fault([...path, key], 'this key is not allowed')
    else if (member === undefined) whole = false
    else if (!isAsItIs(member)) copy[key] = copyOf(member, [...path, key], fault)
  }
  return Object.freeze(whole ? copy : withoutUndefined(copy))
}

/** True for what most members are: values copied as they are, for which building a path would cost more than the copy. */
function isAsItIs(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && value > 0 && value < Infinity)
}

/** Copies the members that are defined; deleting members from an object would make it slow for good. */
function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const there: Record<string, unknown> = {}
  for (const key of Object.keys(value)) if (value[key] !== undefined) there[key] = value[key]
  return there
}
