/** The kinds of values that settings have in common, as parts of a JSON Schema. */

/** One value a line, or a list; read both (see `linesOf`). `site/read-settings` always hands on a list. */
export const lines = { type: ['array', 'string'], items: { type: 'string' } } as const
/** An address, or none. */
export const uri = {
  type: ['string', 'null'],
  pattern: '^https?://',
  title: 'an address that begins with https:// or http://',
} as const
/** A number of things; 0 usually means without limit. */
export const nonNegative = { type: 'integer', minimum: 0 } as const
/** A number of things, at least one. */
export const positive = { type: 'integer', minimum: 1 } as const
/** On or off. */
export const flag = { type: 'boolean' } as const
