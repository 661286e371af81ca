import type { EffectName } from '../../core/effects.ts'
import type { Principal } from '../../core/principal.ts'
import type { AppErrorCode } from '#leaf/errors.ts'
import type { Stop } from '#leaf/stop.ts'
import type { Recorded } from '#audit/recording.ts'
import type { Content, Tool, ToolContext } from '../tool.ts'

/** The MCP tool annotations, all explicit: clients decide by them whether to ask their user. */
export interface ToolAnnotations {
  readonly title: string
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** The one who must confirm a call before it runs: nobody, the person at the client, or the user on a page of ours. */
export type Confirmation = 'never' | 'client' | 'page'

/** A tool as one principal may call it: the program's definition with the site's settings for it. */
export interface OfferedTool {
  readonly tool: Tool
  /** Its input as it is listed (portable-schema.ts). */
  readonly listedInput: Readonly<Record<string, unknown>>
  readonly annotations: ToolAnnotations
  readonly confirm: Confirmation
}

/** The reason not to offer a tool. `forbidden` must read as if the user had no such tool; `withheld` cannot be called for now. */
export type Refusal = 'unknown' | 'disabled' | 'forbidden' | 'withheld'

/** The decision and its reason, with `file:line` of the deciding rule where there is one. */
export interface Offer {
  readonly refusal?: Exclude<Refusal, 'unknown'>
  readonly reason: string
  readonly source: string
}

/** The outcome of a call, before a protocol revision shapes it (specification §4.5, rules for tools/call). */
export interface ToolOutcome {
  /** The text by rule 1: strings as they stand, everything else as compact JSON. */
  readonly text: string
  /** Further blocks after the text (images, resources); the text block itself is not among them. */
  readonly content: readonly Content[]
  /** The tool's output, if it is an object and the tool declares an output schema. */
  readonly structured?: Readonly<Record<string, unknown>>
  /** The error flag of rule 3. */
  readonly isError: boolean
  /** The reason why no tool ran; `lost`: permission ended meanwhile; `unconfirmed`: the user denied it; `waiting`: undecided. */
  readonly refused?: Refusal | 'invalid' | 'unconfirmed' | 'waiting' | 'lost'
  /** What went wrong, for pages, which say each problem at its field. */
  readonly fault?: { readonly code: AppErrorCode; readonly problems: readonly string[] }
}

/** The caller of a tool, and what the connection to them offers while it runs. */
export interface Caller extends Pick<
  ToolContext,
  'progress' | 'log' | 'ask' | 'repeatable' | 'library' | 'publicUrl'
> {
  /** Ended when the caller is gone or cancels the call. */
  readonly stop: Stop
  /** True when a running tool calls: only tools that read and need nobody's consent, and as its user may by now. */
  readonly program?: true
  /** True when a person works on a page of ours: profiles, which spare the attention of a model, do not count there. */
  readonly person?: true
  /** Asks a person to allow a call of a tool that needs it: undefined when it may run, else what to tell the caller. */
  readonly confirm: (offered: OfferedTool, args: unknown) => Promise<string | undefined>
}

/** Every tool of one snapshot, under the one evaluator: listed if and only if callable (D5). */
export interface Catalogue {
  /** Returns the tools that this principal may call, in a stable order. */
  offered(principal: Principal): readonly OfferedTool[]
  /** Returns a tool that this principal may call; for a person at a page, whatever the profiles say. */
  find(principal: Principal, name: string, person?: 'person'): OfferedTool | Refusal
  /** Decides about what is no tool, by the same rules. */
  effect(principal: Principal, name: EffectName): Offer
  /** Returns the names of all other tools, including those that this machine cannot offer; the same set for the same offer. */
  lacks(principal: Principal): ReadonlySet<string>
  /**
   * Calls a tool through the gate. A fault of the call or of the tool is an outcome with
   * `isError`; only what `confirm` throws is thrown.
   */
  call(principal: Principal, name: string, args: unknown, caller: Caller): Promise<ToolOutcome>
  /** Audits a call that was none: its name or its arguments are not what MCP allows there. */
  tellMalformed(principal: Principal, name: unknown, args: unknown, why: string): void
  /** Returns the arguments of a call as the audit log may keep them. */
  recorded(tool: string, args: unknown): Recorded
  /** Returns a digest, equal exactly when two principals (or two snapshots) are offered the same tools and definitions. */
  digest(principal: Principal): string
}
