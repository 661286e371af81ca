/** Returns a value as JSON can hold it: itself where it is JSON already. */
export function asJson(data: unknown): unknown {
  return isJson(data) ? data : toJson(data)
}

/** True when a value is JSON as it stands, which is nearly always so and costs a third of a copy. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean'
  if (value === null) return true
  if (Array.isArray(value)) return value.every(isJson)
  if (!isPlainObject(value)) return false
  for (const key in value) if (value[key] !== undefined && !isJson(value[key])) return false
  return true
}

/** Copies a value as JSON: dates, big integers, decimals and the like as text, maps as objects, sets as lists. */
function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (value === null || ['undefined', 'function', 'symbol'].includes(typeof value)) return null
  if (typeof value !== 'object') return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof Set) return [...value].map(toJson)
  if (value instanceof Map) return toJson(Object.fromEntries(value as Map<string, unknown>))
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  // A decimal, a URL and the like have a text of their own.
  if (!isPlainObject(value) && value.toString !== Object.prototype.toString) return (value as Date).toString()
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, toJson(item)]),
  )
}

/** True for an object as JSON has them: no list, and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for an object that is nothing but its members. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Returns what a text is as JSON; for one that is none, something else. */
export function jsonOr(text: string, otherwise?: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}
