/** The types for modules in `tools/` of a site: `import type { ToolKit } from 'assistant-core/tool'`. */

/**
 * The effect of a tool on data; its MCP annotations follow from it. `privileged` is a write that
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

/** A tool output that is more than data: content blocks are appended after the text of `data`. */
export interface RichOutput {
  readonly kind: 'rich'
  /** The data that becomes the text; without it there is only `content`. */
  readonly data?: unknown
  readonly content: readonly Content[]
  readonly isError?: boolean
}

/** Fields of a document, or values of a row, by name. */
export type ToolValues = Readonly<Record<string, unknown>>

/** Conditions: `{ status: 'Open', amount: ['>', 100] }` or `[['amount', '>', 100]]`, as `list_documents` takes them. */
export type Filters = ToolValues | readonly unknown[]

/** A page of rows. */
export interface Rows {
  readonly data: readonly ToolValues[]
  readonly count: number
  readonly total_count: number
  readonly has_more: boolean
  readonly next_offset?: number
  readonly next_cursor?: string
}

/**
 * The documents, as the caller of the tool may use them: with the caller's permissions, masks and limits, in the audit log
 * as the caller's own, and only until the call is answered. Each verb takes and answers what the tool named at it does.
 * Verbs that change something need a tool whose category is not `read_only`.
 */
export interface DocumentVerbs {
  /** Works as `list_documents`. */
  list(wanted: {
    readonly doctype: string
    readonly filters?: Filters
    readonly fields?: readonly string[]
    readonly limit?: number
    readonly offset?: number
    readonly cursor?: string
    readonly order_by?: string
  }): Promise<Rows>
  /** Works as `get_document`. */
  get(wanted: {
    readonly doctype: string
    readonly name: string
    readonly fields?: readonly string[]
  }): Promise<{ readonly data: ToolValues }>
  /** Works as `create_document`. */
  create(wanted: {
    readonly doctype: string
    readonly data: ToolValues
    readonly submit?: boolean
    readonly dry_run?: boolean
  }): Promise<{ readonly name?: string; readonly docstatus: number; readonly data: ToolValues }>
  /** Works as `update_document`. */
  update(wanted: {
    readonly doctype: string
    readonly name: string
    readonly data: ToolValues
    readonly expected_modified?: string
    readonly dry_run?: boolean
  }): Promise<{ readonly updated_fields: readonly string[]; readonly data: ToolValues }>
  /** Works as `submit_document`. */
  submit(wanted: {
    readonly doctype: string
    readonly name: string
    readonly dry_run?: boolean
  }): Promise<{ readonly docstatus: number; readonly data: ToolValues }>
  /** Works as `aggregate`. */
  aggregate(wanted: {
    readonly doctype: string
    readonly filters?: Filters
    readonly group_by?: readonly string[]
    readonly metrics?: readonly {
      readonly function: 'count' | 'sum' | 'avg' | 'min' | 'max'
      readonly field?: string
      readonly as?: string
    }[]
    readonly order_by?: string
    readonly limit?: number
    readonly offset?: number
  }): Promise<Rows & { readonly documents: number }>
  /** Works as `search_documents`. */
  search(wanted: {
    readonly query: string
    readonly limit?: number
    readonly offset?: number
  }): Promise<Omit<Rows, 'data'> & { readonly results: readonly ToolValues[] }>
}

/** The context of a running tool of a module. */
export interface ModuleContext {
  /** The caller. */
  readonly principal: {
    /** The user's id: an e-mail address. */
    readonly user: string
    readonly fullName: string
    readonly roles: ReadonlySet<string>
    /** The OAuth client that acts for the user. */
    readonly client?: { readonly id: string; readonly name: string }
    readonly requestId: string
  }
  readonly documents: DocumentVerbs
  /** The most bytes that the answer should have. */
  readonly budget: number
  /** Aborted when the caller is gone, cancels, or the tool's time is up. */
  readonly signal: AbortSignal
  /** The key of a call that the caller may send again: two calls with the same key must do the work once. */
  readonly repeatable?: { readonly id: string }
  /** Tells the caller the progress of the work, if it asked; `total` when known. */
  progress(done: number, total?: number, message?: string): void
  /** Sends the caller a log message, if it asked for the level. */
  log(level: 'debug' | 'info' | 'warning' | 'error', data: unknown): void
  /** Calls a read-only tool as the same caller: with permission checks, limits and an audit event of its own. */
  callTool(name: string, args: unknown): Promise<{ readonly text: string; readonly isError: boolean }>
  /** Asks the person at the client. The run may begin anew with the answers, so it asks before it changes anything. */
  ask(
    questions: Readonly<
      Record<
        string,
        {
          readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
          readonly params?: ToolValues
        }
      >
    >,
  ): Promise<ToolValues>
}

/**
 * The type of values that fit a schema, for the few keywords that tool arguments need. The full derivation
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

/** The description of a tool. */
export interface ToolAbout {
  /** `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string
  readonly title: string
  /** For a model: what it does, when to use it and when another tool, below 1 kB. */
  readonly description: string
  readonly category: ToolCategory
  /** The schema of the output where that is always an object; clients then get `structuredContent` as well. */
  readonly output?: Readonly<Record<string, unknown>>
  /** The schema of an output that may be long: clients get it a second time only if `mcp.structured_results` says `all`. */
  readonly largeOutput?: Readonly<Record<string, unknown>>
  /** Arguments that fit `input`: documentation, checked by a test. */
  readonly example?: Readonly<Record<string, unknown>>
  /** Milliseconds after which a call is stopped; the catalogue's default without it. */
  readonly timeout?: number
  /** Set if a call takes so long that clients which cannot poll for it are refused. */
  readonly onlyAsTask?: true
  /** True if the same call twice leaves the same state; clients may then repeat it after a lost answer. */
  readonly idempotent?: boolean
  /** True if the tool reaches beyond this service's own data. */
  readonly openWorld?: boolean
  /** Roles without which the tool does not exist for a user; `config/tools.yaml` may narrow or widen them. */
  readonly roles?: readonly string[]
}

/** A tool of a module, as `defineTool` returns it. */
export interface ModuleTool extends ToolAbout {
  readonly input: ToolValues
  run(args: never, context: ModuleContext): Promise<unknown>
}

/** The argument of a module's function `tools`. */
export interface ToolKit {
  /** Pairs a tool's input schema (`type: object`) with the code that runs on checked input of that type. */
  readonly defineTool: <const Input extends ToolValues>(
    definition: ToolAbout & {
      readonly input: Input
      readonly run: (args: Fits<Input>, context: ModuleContext) => Promise<unknown>
    },
  ) => ModuleTool
  /** An error that the model reads: `new AppError('invalid', 'no item has this number')`. Of others it learns only the place. */
  readonly AppError: new (
    code: 'not_found' | 'forbidden' | 'invalid' | 'conflict' | 'unavailable',
    message: string,
  ) => Error
}
