/**
 * What the command line and the daemon say to each other over the control socket: one HTTP POST
 * to `/<operation>` whose body is `{actor, params}`; the answer is lines of JSON, each one of these.
 */
import type { AppErrorCode } from '../core/errors.ts'

/**
 * A line of an answer: one `result`, or any number of `item`s, or what went wrong, which may come after
 * items.
 */
export type ControlLine =
  | { readonly result: unknown }
  | { readonly item: unknown }
  | {
      readonly error: {
        readonly code: AppErrorCode | 'internal'
        readonly message: string
        readonly data?: unknown
      }
    }

/** The body of a request. Nobody is authenticated here: whoever may open the socket is the operator. */
export interface ControlRequest {
  /** Name of the operating system's user at the command line; the socket's mode is what protects it. */
  readonly actor: string
  readonly params: unknown
}

/** The control socket of a state folder. */
export const controlSocketName = 'control.sock'
