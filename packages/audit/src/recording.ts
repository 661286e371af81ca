/**
 * The one function through which arguments, answers and changes come into the audit log: an event takes
 * them from nowhere else, which the types ensure.
 */
import { redact, redactText, withoutLiterals } from '#leaf/redact.ts'
import type { WrittenJson } from '#leaf/written-json.ts'

/** A changed field of the target; null where there is no value. */
export interface AuditedChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

declare const mark: unique symbol

/** A value from which all is gone that readers of the log may not see. */
export type Recorded = { readonly [mark]: true } | WrittenJson

/** What no event keeps. */
export interface Secrecy {
  /** The fields that some readers of their documents may not see. */
  readonly names: ReadonlySet<string>
  /** Dotted paths of a tool's arguments and answers. */
  readonly paths?: readonly string[] | undefined
}

/** Returns a value as the log may keep it, of about `most` characters; adds what it removed to `removed`. */
export function recordable(
  value: unknown,
  { names, paths }: Secrecy,
  { most, removed }: { readonly most?: number; readonly removed?: Set<string> } = {},
): Recorded {
  return redact(value, paths, {
    names,
    ...(most !== undefined && { most }),
    ...(removed && { removed }),
  }) as Recorded
}

/** Returns a text of at most `most` characters, such as an error, without what was removed beside it. */
export function recordableText(
  text: string,
  { names }: Secrecy,
  { most, removed }: { readonly most: number; readonly removed: ReadonlySet<string> },
): string {
  let clean = withoutLiterals(redactText(text.slice(0, most * 4)), names)
  for (const value of removed) clean = clean.replaceAll(value, '[redacted]')
  return clean.slice(0, most)
}

/** Returns a change as every reader of the log may know it; `items[row].qty` is as open as `items` and `qty` are. */
export function recordableChange({ field, from, to }: AuditedChange, { names }: Secrecy): AuditedChange {
  const parts = field.split(/\[.*\]\.?/)
  const name = parts.find((one) => names.has(one)) ?? parts.at(-1)!
  const open = (value: unknown): unknown =>
    (redact({ [name]: value }, [], { names }) as Record<string, unknown>)[name]
  return { field, from: open(from), to: open(to) }
}
