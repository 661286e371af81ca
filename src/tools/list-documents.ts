import { defineTool } from './tool.ts'
import { fitRows } from './fit-rows.ts'
import { doctype, filters } from './arguments.ts'

export const listDocuments = defineTool({
  name: 'list_documents',
  title: 'List documents',
  description:
    'Lists documents of one doctype that match filters, newest first, a page at a time, with the total. Use search_documents to find by words, aggregate for sums and counts, get_document for everything of one document.',
  category: 'read_only',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['doctype'],
    properties: {
      doctype,
      filters,
      fields: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 100,
        description: 'Fields to show; "*" for all. Default: name, title, creation, modified.',
      },
      limit: {
        type: 'number',
        minimum: 1,
        maximum: 1000,
        multipleOf: 1,
        description: 'Most rows to return; default 20.',
      },
      offset: { type: 'integer', minimum: 0, description: 'Rows to skip: next_offset of the page before.' },
      order_by: { type: 'string', description: 'Such as "modified desc"; default "creation desc".' },
    },
  },
  example: { doctype: 'Customer', filters: { territory: 'North' }, limit: 5 },
  async run(
    { doctype, filters, fields, limit, offset, order_by: orderBy },
    { principal, documents, budget },
  ) {
    const page = await documents.list(principal, {
      doctype,
      filters,
      ...(fields && { fields }),
      ...(limit !== undefined && { limit }),
      ...(offset !== undefined && { offset }),
      ...(orderBy !== undefined && { orderBy }),
    })
    return fitRows({ doctype, data: page.data }, 'data', page, budget)
  },
})
