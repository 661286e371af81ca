/** The kinds of values that settings have in common, as parts of a JSON Schema. */
import { objectWith } from './object-schema.ts'

/** One value a line, or a list; read both (see `linesOf`). `site/read-settings` always hands on a list. */
export const lines = { type: ['array', 'string'], items: { type: 'string' } } as const
/** A text of such a form, which `title` says in words, or none. */
export function orNone(pattern: string, title: string) {
  return { type: ['string', 'null'], pattern, title, default: null } as const
}
/** An address, or none. */
export const uri = orNone('^https?://', 'an address that begins with https:// or http://')
/** An address that nobody on the way reads. */
export const httpsUri = { type: 'string', pattern: '^https://', title: 'an https address' } as const
/** A text that is not empty. */
export const word = { type: 'string', minLength: 1 } as const
/** A number of things; 0 usually means without limit. */
export const nonNegative = { type: 'integer', minimum: 0 } as const
/** A number of things, at least one. */
export const positive = { type: 'integer', minimum: 1 } as const
/** On or off. */
export const flag = { type: 'boolean' } as const
/** A file of the operator's, or none. */
export const filePath = orNone('^/', 'a full path, which begins with /')
/** Where something is sent that others may not read, or nowhere. */
export const secureUri = orNone(
  '^(https://|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:|/|$))',
  'an https address, or an http address on this machine',
)

/** A section of the settings; its defaults hold where a site has none of it. */
export function section<const Settings extends Readonly<Record<string, unknown>>>(
  settings: Settings,
): ReturnType<typeof objectWith<Settings>> & { readonly default: Readonly<Record<string, never>> } {
  return { ...objectWith(settings), default: {} }
}
