/**
 * AppError, the program's own error: the work could not be done, said in our words.
 * Two more exist, one per protocol: `OAuthError` (oauth/) and `JsonRpcError` (mcp/). Anything
 * else that is thrown is a bug: logged with its request id, answered "internal error".
 */

/**
 * - `not_found`: it does not exist, or the caller may not see it (the two are never told apart).
 * - `forbidden`: the caller may see it but not do this to it.
 * - `invalid`: the input is wrong; the message lists every fault at once.
 * - `conflict`: it was changed, exists already, or is linked, meanwhile.
 * - `unavailable`: it cannot be done now; trying again may help.
 */
export type AppErrorCode = 'not_found' | 'forbidden' | 'invalid' | 'conflict' | 'unavailable'

/** The work could not be done. The message may reach the peer: no secrets, no paths, no stacks. */
export class AppError extends Error {
  readonly code: AppErrorCode
  /** Structured detail that may reach the peer, such as the list of problems of an input. */
  readonly data: unknown
  /** The seconds until a retry is allowed, where it was one request too many. */
  readonly retryAfter: number | undefined

  constructor(
    code: AppErrorCode,
    message: string,
    options: { data?: unknown; cause?: unknown; retryAfter?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.data = options.data
    this.retryAfter = options.retryAfter
  }
}

/** Makes the error for a caller that used up a budget, which is there again in so many seconds. */
export function tooMany(seconds: number): AppError {
  return new AppError('unavailable', `too many requests; try again in ${seconds} seconds`, {
    retryAfter: seconds,
  })
}

/** Returns the HTTP status of an error. */
export function httpStatusOf({ code, retryAfter }: AppError): number {
  if (retryAfter !== undefined) return 429
  return { not_found: 404, forbidden: 403, invalid: 400, conflict: 409, unavailable: 503 }[code]
}

/** The error when nobody waits for an answer any more: the peer cancelled its request, or is gone. */
export class Cancelled extends Error {
  /** True when the peer asked for it. */
  readonly isWish: boolean

  constructor(isWish = true) {
    super('the client cancelled the request')
    this.name = 'Cancelled'
    this.isWish = isWish
  }
}

/** Returns the message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const mostCharacters = 2000

/** Returns the message of an error for a peer, cut to length: names that the peer chose may be of any length. */
export function peerMessageOf(error: Error): string {
  const { message } = error
  return message.length > mostCharacters ? `${message.slice(0, mostCharacters)}…` : message
}
