/** What either way to a server carries. */
import { isObject } from '#leaf/as-json.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { JsonFault, parseStrict } from '#leaf/strict-json.ts'

export type Texts = Readonly<Record<string, string>>

/** A message of JSON-RPC. */
export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** A way to a server, open. */
export interface Transport {
  /** Sends one message and returns the response to it; nothing for a notification. */
  readonly exchange: (message: Message, signal: AbortSignal, headers?: Texts) => Promise<Message | undefined>
  readonly close: () => void
}

/** The most that a server may answer at once; its values and their depth are bounded besides, as each costs us time. */
export const maxBytes = 10_000_000
const mostValues = 1_500_000
const deepest = 100

/** The protocol revision that we ask for. */
export const revision = '2025-06-18'

/**
 * Returns the response that a text is, if it is one: servers are offered no capabilities, and their own requests not answered.
 * AppError `unavailable` for JSON that is not read.
 */
export function responseOf(text: string): (Message & { readonly id: number }) | undefined {
  let message: unknown
  try {
    message = parseStrict(text, deepest, { left: mostValues })
  } catch (error) {
    if (error instanceof JsonFault && error.kind === 'syntax') return undefined
    // What comes after a colon is the measure of our own callers.
    const [why] = messageOf(error).split(':')
    throw new AppError('unavailable', `the upstream server is not understood: ${why}`)
  }
  if (!isObject(message) || message['id'] === undefined || message['method'] !== undefined) return undefined
  return message as unknown as Message & { readonly id: number }
}
