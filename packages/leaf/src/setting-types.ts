/** The kinds of values that settings share, as parts of a JSON Schema. */
import { objectWith } from './object-schema.ts'
import { secretName } from './secret-files.ts'
import { business, host } from './who-decides.ts'

/** A text with one value per line, or a list; read both (see `linesOf`). `settings/read-settings` always passes on a list. */
export const lines = { type: ['array', 'string'], items: { type: 'string' } } as const
/** A text that matches a pattern, which `title` says in words, or null. */
export function orNone(pattern: string, title: string) {
  return { type: ['string', 'null'], pattern, title, default: null } as const
}
/** An http or https address, or null. */
export const uri = orNone('^https?://', 'an address that begins with https:// or http://')
/** An https address: nobody on the way can read along. */
export const httpsUri = { type: 'string', pattern: '^https://', title: 'an https address' } as const
/** A text that is not empty. */
export const word = { type: 'string', minLength: 1 } as const
/** A number of things; 0 usually means without limit. */
export const nonNegative = { type: 'integer', minimum: 0 } as const
/** A number of things, at least one. */
export const positive = { type: 'integer', minimum: 1 } as const
/** A switch: on or off. */
export const flag = { type: 'boolean' } as const
/** The name of a secret, or null. */
export const secretOrNone = orNone(secretName.pattern, secretName.title)
/** An address for sending something that others may not read, or null. */
export const secureUri = orNone(
  '^(https://|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:|/|$))',
  'an https address, or an http address on this machine',
)

/** Makes a section of the settings that the host decides; its defaults apply where a site lacks the section. */
export function section<const Settings extends Readonly<Record<string, unknown>>>(
  settings: Settings,
): ReturnType<typeof objectWith<Settings>> & { readonly default: Readonly<Record<string, never>> } {
  return { ...host(objectWith(settings)), default: {} }
}

/** Makes a section of the settings that people with a business role decide. */
export function businessSection<const Settings extends Readonly<Record<string, unknown>>>(
  settings: Settings,
): ReturnType<typeof section<Settings>> {
  return business(section(settings))
}
