import { messageOf } from '#leaf/errors.ts'
import type { Fault } from './site-files.ts'

/** A fault at a place of the site, which its author can mend. */
export class SiteFault extends Error {
  readonly fault: Fault

  constructor(fault: Fault, options?: { readonly cause?: unknown; readonly stack?: string }) {
    super(fault.message, options)
    this.name = 'SiteFault'
    this.fault = fault
    if (options?.stack !== undefined) this.stack = options.stack
  }
}

/** Formats the place. */
export function placeText({ file, line, column }: Fault): string {
  return `${file}:${line}:${column}`
}

/** Words an error for the operator, who may know what callers may not. */
export function wholeMessage(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`
}
