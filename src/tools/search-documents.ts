import { searchDocuments } from '../documents/searching.ts'
import { limit, offset } from './arguments.ts'
import { fitRows } from './fit-rows.ts'
import { listShape, rowsShape, textShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** Words in everything that the caller may read, for when the doctype is not known. */
export const searchDocumentsTool = defineTool({
  name: 'search_documents',
  title: 'Search documents',
  description:
    'Finds documents of all doctypes by words, best first. With a known doctype use search_doctype.',
  category: 'read_only',
  input: objectWith(
    { query: { type: 'string', minLength: 1, maxLength: 500, description: 'Words.' } },
    { limit, offset },
  ),
  largeOutput: rowsShape('results', { searched_doctypes: listShape(textShape) }),
  example: { query: 'framework contract' },
  async run({ query, limit = 20, offset = 0 }, { principal, documents, budget }) {
    const { results, total, searched } = await searchDocuments(documents, principal, {
      words: query,
      limit,
      offset,
    })
    return fitRows({ searched_doctypes: searched, results }, 'results', { total, offset }, budget)
  },
})
