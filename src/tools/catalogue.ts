import type { Principal } from '../core/principal.ts'
import type { Stop } from '../core/stop.ts'
import type { Content, Tool, ToolContext } from './tool.ts'

/** MCP tool annotations, all explicit: clients decide by them whether to ask their user. */
export interface ToolAnnotations {
  readonly title: string
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** Who must confirm a call before it runs: nobody, the person at the client, or the user on a page of ours. */
export type Confirmation = 'never' | 'client' | 'page'

/** A tool as one principal may call it: the program's definition with the site's settings for it. */
export interface OfferedTool {
  readonly tool: Tool
  readonly annotations: ToolAnnotations
  readonly confirm: Confirmation
}

/** Why a tool that was asked for is not offered. `forbidden` must read like a tool that does not exist for this user. */
export type Refusal = 'unknown' | 'disabled' | 'forbidden'

/** How a call ended, before a protocol revision shapes it. Specification §4.5, rules for tools/call. */
export interface ToolOutcome {
  /** Rule 1: strings as they stand, everything else as compact JSON. */
  readonly text: string
  /** Further blocks after the text (images, resources); the text block itself is not among them. */
  readonly content: readonly Content[]
  /** The tool's output where it is an object and the tool declares an output schema. */
  readonly structured?: Readonly<Record<string, unknown>>
  /** Rule 3. */
  readonly isError: boolean
  /** Why the call did not come to its tool; `lost` is what was allowed when the call began, `unconfirmed` what its user did not allow, `waiting` what they have not decided. */
  readonly refused?: Refusal | 'invalid' | 'unconfirmed' | 'waiting' | 'lost'
}

/** Who calls a tool, and what the connection to them offers while it runs. */
export interface Caller extends Pick<ToolContext, 'progress' | 'log' | 'ask' | 'repeatable' | 'library'> {
  /** Ended when the caller is gone or takes the call back. */
  readonly stop: Stop
  /** A running tool calls: only tools that read and need nobody's consent, and as its user may by now. */
  readonly program?: true
  /** Has a person allow a call of a tool that needs it: undefined when it may run, else what to tell the caller. */
  readonly confirm: (offered: OfferedTool, args: unknown) => Promise<string | undefined>
}

/** Every tool of one snapshot, under the one evaluator: listed if and only if callable (D5). */
export interface Catalogue {
  /** The tools that this principal may call, in a stable order. */
  offered(principal: Principal): readonly OfferedTool[]
  find(principal: Principal, name: string): OfferedTool | Refusal
  /** The names of all other tools, those included that this machine cannot offer; the same set for the same offer. */
  lacks(principal: Principal): ReadonlySet<string>
  /**
   * Calls a tool through the gate. What is wrong with the call or goes wrong in the tool is an outcome with
   * `isError`; only what `confirm` throws is thrown.
   */
  call(principal: Principal, name: string, args: unknown, caller: Caller): Promise<ToolOutcome>
  /** Has it audited that a call was none: its name or its arguments are not what MCP has there. */
  tellMalformed(principal: Principal, name: unknown, args: unknown, why: string): void
  /** Equal exactly when two principals (or two snapshots) are offered the same tools with the same definitions. */
  digest(principal: Principal): string
}
