/** Arguments that many tools share. Descriptions are short: every connected model reads them all. */

/** The type of the documents that a tool works on. */
export const doctype = { type: 'string', description: 'As list_doctypes names it.' } as const

/** One document of it. */
export const name = { type: 'string', description: "The document's name." } as const

/** The filters in full; documents/filters.ts reads them. */
export const filters = {
  type: ['object', 'array'],
  description:
    '{"status": "Open", "amount": [">", 100]} or [["amount", ">", 100]]. Operators: = != > < >= <= like, not like, in, not in, between, is ("set"/"not set").',
} as const

/** Where a model reads another tool's filters before it needs these. */
export const likeFilters = { type: ['object', 'array'], description: 'As in list_documents.' } as const

/** Rows of one answer; the byte budget may cut them further. */
export const limit = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  description: 'Most rows; default 20.',
} as const

/** Where the next part begins. */
export const offset = {
  type: 'integer',
  minimum: 0,
  description: 'Rows to skip: the last next_offset.',
} as const

/** For tools that change something: do all of it, answer the same, keep nothing. */
export const dryRun = { type: 'boolean', description: 'Only check and show; keep nothing.' } as const
