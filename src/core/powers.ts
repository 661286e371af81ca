import type { EffectName } from './effects.ts'
import type { ActingClient } from './principal.ts'

/**
 * The powers of a client that acts for a user, in the terms of people rather than of scopes, which
 * restrict no tool (specification §5.6). The pages print them; `tools/gate/powers.ts` computes them.
 */
export interface Powers {
  /** Doctypes whose documents it may read. */
  readonly read: readonly string[]
  readonly create: readonly string[]
  /** Doctypes whose documents it may change, submit, cancel or amend. */
  readonly change: readonly string[]
  /** Doctypes whose documents it may only comment on or assign. */
  readonly remark: readonly string[]
  readonly delete: readonly string[]
  /** True when it may run programs of its own over what it may read. */
  readonly programs: boolean
  /** Titles of the site's own tools that do more than read. */
  readonly others: readonly string[]
  /** What it may do otherwise than by calling tools. */
  readonly effects: readonly EffectName[]
  /** Titles of all tools that it may call. */
  readonly tools: readonly string[]
}

/** Returns the powers that a client would have for a user now; undefined when the user may not use the service. */
export type PowersOf = (
  user: string,
  client: ActingClient | undefined,
  limit: { readonly readOnly?: boolean },
) => Powers | undefined
