import { listDocuments } from '../documents/reading.ts'
import { doctype, filters, offset } from './arguments.ts'
import { fitRows } from './fit-rows.ts'
import { rowsShape, textShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/**
 * The one to reach for first (specification §2.5 names its arguments). It lists only what the caller
 * may read, and refuses fields, filters and orders that would tell of the rest.
 */
export const listDocumentsTool = defineTool({
  name: 'list_documents',
  title: 'List documents',
  description:
    'Lists documents of one doctype that match filters, newest first, with the total (counted up to 10,000). search_documents finds by words. `aggregate` computes.',
  category: 'read_only',
  input: objectWith(
    { doctype },
    {
      filters,
      fields: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 100,
        description: '"*" for all; default name, title, creation, modified.',
      },
      limit: {
        // A number, because the specification calls it one; `multipleOf` keeps it whole.
        type: 'number',
        minimum: 1,
        maximum: 1000,
        multipleOf: 1,
        description: 'Most rows; default 20.',
      },
      offset,
      cursor: {
        type: 'string',
        maxLength: 8000,
        description: 'next_cursor of the page before: pages that stay right while others write.',
      },
      order_by: { type: 'string', description: 'Default "creation desc".' },
    },
  ),
  largeOutput: rowsShape('data', { doctype: textShape }),
  example: { doctype: 'Customer', filters: { territory: 'North' }, limit: 5 },
  async run(
    { doctype, filters, fields, limit, offset, cursor, order_by: orderBy },
    { principal, documents, budget },
  ) {
    const page = await listDocuments(documents, principal, {
      doctype,
      filters,
      ...(fields && { fields }),
      ...(limit !== undefined && { limit }),
      ...(offset !== undefined && { offset }),
      ...(cursor !== undefined && { cursor }),
      ...(orderBy !== undefined && { orderBy }),
    })
    return fitRows(
      { doctype, data: page.data },
      'data',
      cursor === undefined ? page : { ...page, offset: undefined },
      budget,
    )
  },
})
