/** What either way to a server carries. */
import { jsonOr } from '#leaf/as-json.ts'

export type Texts = Readonly<Record<string, string>>

/** A message of JSON-RPC. */
export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** A way to a server, open. */
export interface Transport {
  /** Sends one message and returns the response to it; nothing for a notification. */
  readonly exchange: (message: Message, signal: AbortSignal, headers?: Texts) => Promise<Message | undefined>
  readonly close: () => void
}

/** The most that a server may answer at once. */
export const maxBytes = 10_000_000

/** The protocol revision that we ask for. */
export const revision = '2025-06-18'

/** Returns the response that a text is, if it is one: servers are offered no capabilities, and their own requests not answered. */
export function responseOf(text: string): (Message & { readonly id: number }) | undefined {
  const message = jsonOr(text) as (Message & { readonly id: number }) | null | undefined
  return message?.id === undefined || message.method !== undefined ? undefined : message
}
