import type { TurnTaker } from '#leaf/fair-queue.ts'
import type { Principal } from '../core/principal.ts'
import type { Documents } from '../documents/documents.ts'
import type { Repeatable } from '../documents/writing/once.ts'
import type { Library } from '../library/library.ts'
import type { Fits, ToolAbout } from './module-tool.d.ts'

export type { Content, Fits, RichOutput, ToolCategory } from './module-tool.d.ts'

/** The key in `_meta` of a call for its client's idempotency key, when the client may send the call again. */
export const idempotencyKey = 'assistant-core/idempotencyKey'

/** The context of a running tool: the caller first, then the nouns, all of one snapshot. */
export interface ToolContext {
  readonly principal: Principal
  readonly documents: Documents
  readonly library: Pick<Library, 'skills' | 'skill' | 'countSkillRead'>
  /** The most bytes that the answer should have; rows are cut to it (see fit-rows.ts). */
  readonly budget: number
  /** Aborted when the caller is gone, cancels, or the tool's time is up. */
  readonly signal: AbortSignal
  /** Tells the caller the progress of the work, if it asked; `total` when known. */
  readonly progress: (done: number, total?: number, message?: string) => void
  /** Sends the caller a log message, if it asked for the level. */
  readonly log: (level: 'debug' | 'info' | 'warning' | 'error', data: unknown) => void
  /** Calls a read-only tool as the same caller: with permission checks, limits and an audit event of its own. */
  readonly callTool: (
    name: string,
    args: unknown,
  ) => Promise<{ readonly text: string; readonly isError: boolean }>
  /** Asks the person at the client (elicitation, sampling, roots), in whatever way the protocol revision has. */
  readonly ask: AskClient
  /** The address of this service, under which its pages are; absent where there are none. */
  readonly publicUrl?: string | undefined
  /** The tools that the caller is not offered, so that nothing is promised which no tool can do. */
  readonly lacks: ReadonlySet<string>
  /** Set if the caller may send this very call again, which must not do its work twice: the documents ensure it for theirs. */
  readonly repeatable?: Repeatable | undefined
}

/** Returns the user for whom costly work is done, with the function that adds its cost to the caller's audit event. */
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

/** Ends a call that its user has to allow on a page first; the message tells the caller so. */
export class ApprovalPending extends Error {}

/** One request to the MCP client, in the protocol's words. */
export interface ClientQuestion {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
  readonly params?: Readonly<Record<string, unknown>>
}

/** A page that shows tool answers in a frame of the host. */
export type HostView = 'chart' | 'dashboards' | 'approvals'

/** A tool as the catalogue holds it. Write one with `defineTool`. */
export interface Tool extends ToolAbout {
  /** JSON Schema 2020-12, `type: object` at the root, no composition there. */
  readonly input: Readonly<Record<string, unknown>>
  /** True to list `input` as it stands, also what the models of some vendors refuse: for hosts that are known to take it. */
  readonly asWritten?: true
  /** Arguments that are taken and not listed: second names, and what hardly anybody asks for. */
  readonly unlisted?: readonly string[]
  /** True if it may replace or end what is there, and not only add: clients then ask their user more. */
  readonly destructive?: boolean
  /** The member of its answers that holds rows: many are sent as columns and rows (gate/tabled.ts). */
  readonly rows?: string
  /** The members of its answers that a model sent itself or has from another tool: only programs and pages get them. */
  readonly known?: readonly string[]
  /** The page that a host may show beside its answers (MCP Apps). */
  readonly view?: HostView
  /** The reason why it is offered to nobody for now. */
  readonly withheld?: string
  /** True when it may begin before its caller's token is known to be valid still, since it only reads documents. */
  readonly early?: true
  /** True when its answer is computed, under names of its own: of confidential fields the log keeps none of it. */
  readonly computes?: true
  run(args: unknown, context: ToolContext): Promise<unknown>
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
