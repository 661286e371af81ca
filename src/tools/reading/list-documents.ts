import { listDocuments } from '../../documents/asking/reading.ts'
import { filters, offset } from '../gate/arguments.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { rowsShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Lists documents: the tool to try first (specification §2.5 names its arguments). It lists only what the caller
 * may read, and refuses fields, filters and orders that would tell of the rest.
 */
export const listDocumentsTool = defineTool({
  name: 'list_documents',
  title: 'List documents',
  description:
    'Lists documents of one doctype, newest first, with their number (up to 10,000). search_documents finds by words; `aggregate` computes.',
  category: 'read_only',
  early: true,
  known: ['doctype'],
  unlisted: ['cursor'],
  rows: 'data',
  input: objectWith(
    { doctype: { type: 'string', description: 'As list_doctypes names it.' } },
    {
      filters,
      fields: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 100,
        description: '"*" for all.',
      },
      limit: {
        // A number, because the specification calls it one; `multipleOf` keeps it whole.
        type: 'number',
        minimum: 1,
        maximum: 1000,
        multipleOf: 1,
        description: 'Default 20.',
      },
      offset,
      cursor: {
        type: 'string',
        maxLength: 8000,
        description: 'Instead of offset, and right while others write: "", then each next_cursor.',
      },
      order_by: { type: 'string', description: 'Default "creation desc".' },
    },
  ),
  largeOutput: rowsShape('data'),
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
      ...(cursor !== undefined && cursor !== '' && { cursor }),
      ...(orderBy !== undefined && { orderBy }),
    })
    return fitRows(
      { doctype, data: page.data },
      'data',
      // A cursor is long, and few ask for it.
      cursor === undefined ? { ...page, cursorAfter: undefined } : { ...page, offset: undefined },
      budget,
    )
  },
})
