/**
 * A value, or a promise of one. Guards and endpoints that have nothing to wait for return in the same turn: each
 * promise on the way of a request costs as much as most of its checks, and there were twenty.
 */
export type Soon<T> = T | Promise<T>

/** Calls `goOn` with the value, at once unless it is a promise. */
export function soon<T, U>(value: Soon<T>, goOn: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? later(value, goOn) : goOn(value)
}

/** Awaits the value. It does not use `then`, where a stack trace would end. */
async function later<T, U>(value: Promise<T>, goOn: (value: T) => Soon<U>): Promise<U> {
  return await goOn(await value)
}
