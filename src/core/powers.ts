import type { ActingClient } from './principal.ts'

/**
 * What a client may do once it acts for a user, in the terms of people rather than of scopes, which
 * restrict no tool (specification §5.6). The pages print it; `tools/powers.ts` works it out.
 */
export interface Powers {
  /** Doctypes of which it may read documents. */
  readonly read: readonly string[]
  /** Doctypes of which it may create, change, submit, cancel or amend documents. */
  readonly change: readonly string[]
  /** Doctypes on whose documents it may only comment, or assign them. */
  readonly remark: readonly string[]
  readonly delete: readonly string[]
  /** Whether it may run programs of its own over what it may read. */
  readonly programs: boolean
  /** Titles of tools that do something else than read: those of the site's own. */
  readonly others: readonly string[]
  /** Titles of all tools that it may call. */
  readonly tools: readonly string[]
}

/** The powers that a client would have for a user at this moment; undefined for who may not use the service. */
export type PowersOf = (
  user: string,
  client: ActingClient | undefined,
  limit: { readonly readOnly?: boolean },
) => Powers | undefined
