import { searchDocuments } from '../../documents/asking/searching.ts'
import { limit, offset } from '../gate/arguments.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { listShape, rowsShape, textShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Searches everything that the caller may read for words, when the doctype is not known. */
export const searchDocumentsTool = defineTool({
  name: 'search_documents',
  title: 'Search documents',
  description:
    'Finds documents of all doctypes by words, best first. With a known doctype use search_doctype.',
  category: 'read_only',
  rows: 'results',
  input: objectWith({ query: { type: 'string', minLength: 1, maxLength: 500 } }, { limit, offset }),
  largeOutput: rowsShape('results', { searched_doctypes: listShape(textShape) }),
  example: { query: 'framework contract' },
  async run({ query, limit = 20, offset = 0 }, { principal, documents, budget }) {
    const { results, total, searched, note } = await searchDocuments(documents, principal, {
      words: query,
      limit,
      offset,
    })
    return fitRows(
      { searched_doctypes: searched, results, ...(note !== undefined && { note }) },
      'results',
      { total, offset },
      budget,
    )
  },
})
