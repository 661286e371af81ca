import { searchDocuments } from '../../documents/asking/searching.ts'
import { doctype, limit, offset } from '../gate/arguments.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { rowsShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Searches one doctype for words. Only fields that the caller can read on every row are searched: a hit in
 * another would reveal its content.
 */
export const searchDoctype = defineTool({
  name: 'search_doctype',
  title: 'Search one doctype',
  description: 'Finds documents of one doctype by words, best first.',
  category: 'read_only',
  known: ['doctype'],
  rows: 'results',
  input: objectWith({ doctype, query: { type: 'string', minLength: 1, maxLength: 500 } }, { limit, offset }),
  largeOutput: rowsShape('results'),
  example: { doctype: 'Customer', query: 'Müller' },
  async run({ doctype, query, limit = 20, offset = 0 }, { principal, documents, budget }) {
    const { results, total, note } = await searchDocuments(documents, principal, {
      doctype,
      words: query,
      limit,
      offset,
    })
    return fitRows(
      { doctype, results, ...(note !== undefined && { note }) },
      'results',
      { total, offset },
      budget,
    )
  },
})
