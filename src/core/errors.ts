/**
 * The one error of the program's own nouns: the work could not be done, in our words.
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

  constructor(code: AppErrorCode, message: string, options: { data?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.data = options.data
  }
}

/** Nobody waits for an answer any more: the peer took its request back, or is gone. */
export class Cancelled extends Error {
  /** Whether the peer said so. */
  readonly isWish: boolean

  constructor(isWish = true) {
    super('the client cancelled the request')
    this.name = 'Cancelled'
    this.isWish = isWish
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const mostCharacters = 2000

/** The words of an error for a peer: what it named itself may have been as long as it liked. */
export function peerMessageOf(error: Error): string {
  const { message } = error
  return message.length > mostCharacters ? `${message.slice(0, mostCharacters)}…` : message
}
