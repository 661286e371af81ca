/** Arguments that many tools share. */

export const doctype = {
  type: 'string',
  description: 'A doctype, such as "Customer" (see list_doctypes).',
} as const

export const name = { type: 'string', description: 'The name of the document.' } as const

export const filters = {
  type: ['object', 'array'],
  description:
    'Conditions: {"status": "Open", "amount": [">", 100]} or [["amount", ">", 100]]. Operators: = != > < >= <= like, not like, in, not in, between, is ("set"/"not set").',
} as const

export const dryRun = {
  type: 'boolean',
  description: 'Check everything and show the result, but change nothing.',
} as const
