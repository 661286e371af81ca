/** The arguments that many tools share. Descriptions are short: every connected model reads them all. */

/** The doctype of the documents that a tool works on. */
export const doctype = { type: 'string' } as const

/** The name of one document. */
export const name = { type: 'string' } as const

/** The filters in full; documents/filters.ts reads them. */
export const filters = {
  type: ['object', 'array'],
  description:
    '{"status": "Open", "amount": [">", 100], "due_date": "last month", "owner": "me"}. Operators: = != > < >= <= contains, starts with, like, in, between, not …, is ("set"/"not set").',
} as const

/** The filters in short, for a model that reads another tool's filters before it needs these. */
export const likeFilters = { type: ['object', 'array'], description: 'As list_documents.' } as const

/** The most rows of one answer; the byte budget may cut them further. */
export const limit = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  description: 'Default 20.',
} as const

/** The offset at which the next part begins. */
export const offset = { type: 'integer', minimum: 0 } as const

/** The dry run of a tool that changes something: it does all of it, answers the same, and keeps nothing. */
export const dryRun = { type: 'boolean' } as const
