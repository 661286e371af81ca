/** The messages between the daemon and the process of a module: lines of JSON on descriptor 3. */
import type { ModuleContext, ToolAbout, ToolValues } from '../module-tool.d.ts'

/** The verbs by which a module reaches documents. */
export const verbNames = ['list', 'get', 'create', 'update', 'submit', 'aggregate', 'search'] as const

/** The largest message, in bytes, that is read from a module. */
export const mostBytes = 10_000_000

/** The name that stands in stack frames for the text's address. */
export const bundleName = 'module-of-the-site'

/** A tool as its process announces it, not checked yet. */
export type Announced = Partial<ToolAbout> & { readonly input?: ToolValues; readonly runs: boolean }

/** An error that was thrown. */
export interface Thrown {
  readonly message: string
  /** The stack, with places in the text of the module. */
  readonly stack: string
  /** The code of an AppError, which the model may read. */
  readonly code?: string
}

/** A request of a running call to the daemon, which the call awaits. */
export type Asked =
  | { readonly verb: 'documents'; readonly name: string; readonly wanted: unknown }
  | { readonly verb: 'callTool'; readonly name: string; readonly wanted: unknown }
  | { readonly verb: 'ask'; readonly wanted: Parameters<ModuleContext['ask']>[0] }

/** A notice of a running call to the daemon, which needs no answer. */
export type Notice =
  | { readonly verb: 'progress'; readonly params: Parameters<ModuleContext['progress']> }
  | { readonly verb: 'log'; readonly params: Parameters<ModuleContext['log']> }

export type Settlement = { readonly value?: unknown } | { readonly thrown: Thrown }

/** A message to the process. */
export type ToModule =
  | { readonly load: string }
  | {
      readonly call: number
      readonly tool: string
      readonly args: unknown
      readonly principal: Omit<ModuleContext['principal'], 'roles'> & { readonly roles: readonly string[] }
      readonly budget: number
      readonly repeatable?: ModuleContext['repeatable']
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
  | ({ readonly question: number; readonly call: number } & Asked)
  | ({ readonly of: number } & Notice)
  | { readonly pong: true }
