import type { TurnTaker } from '../core/fair-queue.ts'
import type { Principal } from '../core/principal.ts'
import type { Documents } from '../documents/documents.ts'
import type { Repeatable } from '../documents/once.ts'
import type { Library } from '../library/library.ts'

/**
 * What a tool does to data; its MCP annotations follow from it. `privileged` is a write that
 * destroys or reaches far.
 */
export type ToolCategory = 'read_only' | 'write' | 'read_write' | 'privileged'

/** One block of MCP tool content, in the words of the newest revision; older ones get a degraded form. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: {
        readonly uri: string
        readonly mimeType?: string
        readonly text?: string
        readonly blob?: string
      }
    }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly description?: string
      readonly mimeType?: string
    }

/** Where `_meta` of a call holds what its client knows it by, when it may send it again. */
export const idempotencyKey = 'assistant-core/idempotencyKey'

/** What a tool may use while it runs: the caller first, then the nouns, all of one snapshot. */
export interface ToolContext {
  readonly principal: Principal
  readonly documents: Documents
  readonly library: Pick<Library, 'skills' | 'skill' | 'countSkillRead'>
  /** The most bytes that the answer should have; rows are cut to it (see fit-rows.ts). */
  readonly budget: number
  /** Aborted when the caller is gone, cancels, or the tool's time is up. */
  readonly signal: AbortSignal
  /** Tells the caller how far the work is, when it asked; `total` when known. */
  readonly progress: (done: number, total?: number, message?: string) => void
  /** Sends the caller a log message, when it asked for the level. */
  readonly log: (level: 'debug' | 'info' | 'warning' | 'error', data: unknown) => void
  /** Calls a tool that only reads, as the same caller: permission, limits and an audit event of its own. */
  readonly callTool: (
    name: string,
    args: unknown,
  ) => Promise<{ readonly text: string; readonly isError: boolean }>
  /** Asks the person at the client something (elicitation, sampling, roots), in whatever way the protocol revision has. */
  readonly ask: AskClient
  /** The caller may send this very call again, which must not do its work twice: the documents see to their part. */
  readonly repeatable?: Repeatable | undefined
}

/** For whom costly work is done, and to which event its cost belongs. */
export function turnOf({ principal, signal }: Pick<ToolContext, 'principal' | 'signal'>): TurnTaker {
  return { user: principal.user, signal, spent: (cost) => principal.shown?.spent(cost) }
}

/** A question to the MCP client: the method and params of the server request, and a key that is stable between rounds. */
export type AskClient = (
  questions: Readonly<Record<string, ClientQuestion>>,
) => Promise<Readonly<Record<string, unknown>>>

/**
 * Ends a tool's run while its client is being asked; the run begins anew with the answers, so a tool
 * asks before it changes anything. Never to be caught.
 */
export class AnswerPending extends Error {
  constructor() {
    super('the client is being asked')
    this.name = 'AnswerPending'
  }
}

/** Ends a call that its user has to allow on a page first; the message says so to the caller. */
export class ApprovalPending extends Error {}

/** One request to the MCP client, as the protocol words it. */
export interface ClientQuestion {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
  readonly params?: Readonly<Record<string, unknown>>
}

/** A tool output that is more than data: content blocks are appended after the text of `data`. */
export interface RichOutput {
  readonly kind: 'rich'
  /** What becomes the text; left out, there is only `content`. */
  readonly data?: unknown
  readonly content: readonly Content[]
  readonly isError?: boolean
}

/** A page that shows answers of tools in a frame of the host. */
export type HostView = 'chart' | 'dashboards' | 'approvals'

/** A tool as the catalogue holds it. Write one with `defineTool`. */
export interface Tool {
  /** `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string
  readonly title: string
  /** For a model: what it does, when to use it and when another tool, below 1 kB. */
  readonly description: string
  readonly category: ToolCategory
  /** JSON Schema 2020-12, `type: object` at the root, no composition there. */
  readonly input: Readonly<Record<string, unknown>>
  /** Its schema where the output is always an object; clients then get `structuredContent` as well. */
  readonly output?: Readonly<Record<string, unknown>>
  /** The same, where the output may be long: clients get it a second time only if `mcp.structured_results` says `all`. */
  readonly largeOutput?: Readonly<Record<string, unknown>>
  /** Arguments that fit `input`: documentation, and checked by a test. */
  readonly example?: Readonly<Record<string, unknown>>
  /** Milliseconds after which a call is cut off; the catalogue's default without it. */
  readonly timeout?: number
  /** It takes so long that clients which cannot poll for it are refused. */
  readonly onlyAsTask?: true
  /** What a host that can shows beside its answers (MCP Apps). */
  readonly view?: HostView
  /** Whether the same call twice leaves the same state; clients may then repeat it after a lost answer. */
  readonly idempotent?: boolean
  /** Whether it reaches beyond this service's own data. */
  readonly openWorld?: boolean
  /** Roles without which the tool does not exist for a user; `config/tools.yaml` may narrow or widen them. */
  readonly roles?: readonly string[]
  run(args: unknown, context: ToolContext): Promise<unknown>
}

/**
 * The type of what fits a schema, for the few keywords that tool arguments need. The full derivation
 * (json-schema-to-ts) is too deep for the compiler where the schema itself is still being inferred.
 */
export type Fits<Schema> = Schema extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : Schema extends { readonly type: readonly (infer Kind)[] }
    ? Kind extends string
      ? Fits<Omit<Schema, 'type'> & { readonly type: Kind }>
      : never
    : Schema extends { readonly type: 'string' }
      ? string
      : Schema extends { readonly type: 'number' | 'integer' }
        ? number
        : Schema extends { readonly type: 'boolean' }
          ? boolean
          : Schema extends { readonly type: 'null' }
            ? null
            : Schema extends { readonly type: 'array' }
              ? readonly (Schema extends { readonly items: infer Item } ? Fits<Item> : unknown)[]
              : Schema extends { readonly type: 'object'; readonly properties: infer Properties }
                ? FitsObject<
                    Properties,
                    Schema extends { readonly required: readonly (infer Key)[] } ? Key : never
                  >
                : Schema extends { readonly type: 'object' }
                  ? Readonly<Record<string, unknown>>
                  : unknown

type FitsObject<Properties, Required> = {
  readonly [Key in keyof Properties as Key extends Required ? Key : never]: Fits<Properties[Key]>
} & {
  readonly [Key in keyof Properties as Key extends Required ? never : Key]?: Fits<Properties[Key]>
}

type Definition<Input> = Omit<Tool, 'input' | 'run'> & {
  readonly input: Input
  readonly run: (args: Fits<Input>, context: ToolContext) => Promise<unknown>
}

/** Pairs a tool's input schema with the code that runs on checked input of that type. */
export function defineTool<const Input extends Readonly<Record<string, unknown>>>(
  definition: Definition<Input>,
): Tool {
  return definition
}
