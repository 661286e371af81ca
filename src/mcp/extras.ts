/**
 * How something other than the site adds prompts and resources. The library's own prompts and skills are
 * providers like any other; the conformance fixtures are too.
 */
import type { Principal } from '../core/principal.ts'
import type { Content, Tool, ToolContext } from '../tools/tool.ts'

/** A prompt as `prompts/list` shows it; the names are the specification's (§4.5). */
export interface PromptEntry {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly category?: string
  readonly arguments: readonly PromptArgumentEntry[]
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** An argument of a prompt as `prompts/list` shows it (specification §4.5, rules for prompts, 2). */
export interface PromptArgumentEntry {
  readonly name: string
  readonly description: string
  readonly required: boolean
  readonly enum?: readonly string[]
  readonly default?: unknown
}

/** What `prompts/get` answers. */
export interface PromptAnswer {
  readonly description: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: Content }[]
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** Values for an argument that begin with what was typed: at most 100, and how many there are. */
export interface Completion {
  readonly values: readonly string[]
  readonly total: number
}

/** What a prompt or a resource may use of its caller's connection while it is made. */
export type Connection = Pick<ToolContext, 'signal' | 'ask'>

/** A source of prompts. `undefined` always means: not one of mine. */
export interface PromptProvider {
  list(principal: Principal): readonly PromptEntry[]
  get(
    principal: Principal,
    name: string,
    args: Readonly<Record<string, unknown>>,
    connection: Connection,
  ): Promise<PromptAnswer | undefined>
  complete(
    principal: Principal,
    name: string,
    argument: string,
    typed: string,
  ): Promise<Completion | undefined>
  /** Equal exactly when two principals (or two moments) see the same prompts. */
  digest(principal: Principal): string
}

/** A resource as `resources/list` shows it. */
export interface ResourceEntry {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly mimeType: string
  readonly size?: number
  readonly annotations?: Readonly<Record<string, unknown>>
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** A pattern of resources as `resources/templates/list` shows it (RFC 6570). */
export interface ResourceTemplateEntry {
  readonly uriTemplate: string
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly mimeType?: string
}

/** One part of what `resources/read` answers: text, or base64 bytes. */
export interface ResourceContents {
  readonly uri: string
  readonly mimeType: string
  readonly text?: string
  readonly blob?: string
}

/** A source of resources. `undefined` always means: not one of mine. */
export interface ResourceProvider {
  list(principal: Principal): readonly ResourceEntry[]
  templates(principal: Principal): readonly ResourceTemplateEntry[]
  read(
    principal: Principal,
    uri: string,
    connection: Connection,
  ): Promise<readonly ResourceContents[] | undefined>
  complete(
    principal: Principal,
    template: string,
    argument: string,
    typed: string,
  ): Promise<Completion | undefined>
  /** Equal exactly when two principals (or two moments) see the same resources with the same bytes. */
  digest(principal: Principal): string
  /** Changes when the bytes of the resource do. */
  version(principal: Principal, uri: string): string | undefined
}

/** What is offered besides the site's own tools, prompts and skills. */
export interface Extras {
  readonly tools?: readonly Tool[]
  readonly prompts?: readonly PromptProvider[]
  readonly resources?: readonly ResourceProvider[]
  /** Changes when the extra tools do. */
  readonly toolsDigest?: () => string
  /** Hands over the function to call when a list of the extras has changed. */
  readonly attach?: (changed: () => void) => void
}
