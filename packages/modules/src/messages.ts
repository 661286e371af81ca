/** The messages between the daemon and the process of a module: lines of JSON on descriptor 3. */

/** The largest message, in bytes, that is read from a module. */
export const mostBytes = 10_000_000

/** The name that stands in stack frames for the text's address. */
export const bundleName = 'module-of-the-site'

/** A tool as its process announces it, not checked yet: whatever its author wrote, and whether that can be run. */
export interface Announced {
  readonly [name: string]: unknown
  readonly runs: boolean
}

/** An error that was thrown. */
export interface Thrown {
  readonly message: string
  /** The stack, with places in the text of the module. */
  readonly stack: string
  /** The code of an AppError, which the caller may read. */
  readonly code?: string
}

export type Settlement = { readonly value?: unknown } | { readonly thrown: Thrown }

/** A use of a function that the call was given. */
interface Use {
  readonly verb: string
  readonly params: readonly unknown[]
}

/** A message to the process. */
export type ToModule =
  | { readonly load: string }
  | {
      readonly call: number
      readonly tool: string
      readonly args: unknown
      /** What the call is given, by Node's own serialization, which knows sets. */
      readonly given: string
      /** The names of the functions that it is given: those that answer, and those that do not. */
      readonly asks: readonly string[]
      readonly tells: readonly string[]
    }
  | { readonly cancel: number }
  | ({ readonly answerTo: number } & Settlement)
  | { readonly ping: true }

/** A message from the process. */
export type FromModule =
  | { readonly tools: readonly Announced[] }
  /** The process cannot go on, and ends. */
  | { readonly fatal: Thrown }
  | ({ readonly resultOf: number } & Settlement)
  | ({ readonly question: number; readonly call: number } & Use)
  | ({ readonly of: number } & Use)
  | { readonly pong: true }
