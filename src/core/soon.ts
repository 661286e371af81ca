/**
 * What is there at once, or will be. Guards and endpoints that have nothing to wait for answer in the same turn: each
 * promise on the way of a request costs as much as most of its checks, and there were twenty.
 */
export type Soon<T> = T | Promise<T>

/** Goes on with what is there, at once where it is. */
export function soon<T, U>(value: Soon<T>, goOn: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? later(value, goOn) : goOn(value)
}

/** Not by `then`: a stack trace would end here. */
async function later<T, U>(value: Promise<T>, goOn: (value: T) => Soon<U>): Promise<U> {
  return await goOn(await value)
}
