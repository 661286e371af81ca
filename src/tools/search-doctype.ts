import { searchDocuments } from '../documents/searching.ts'
import { doctype, limit, offset } from './arguments.ts'
import { fitRows } from './fit-rows.ts'
import { rowsShape, textShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/**
 * Words in one doctype. Only fields that the caller can read on every row are searched: a hit in
 * another would tell what stands there.
 */
export const searchDoctype = defineTool({
  name: 'search_doctype',
  title: 'Search one doctype',
  description: 'Finds documents of one doctype by words, best first.',
  category: 'read_only',
  input: objectWith(
    { doctype, query: { type: 'string', minLength: 1, maxLength: 500, description: 'Words.' } },
    { limit, offset },
  ),
  largeOutput: rowsShape('results', { doctype: textShape }),
  example: { doctype: 'Customer', query: 'Müller' },
  async run({ doctype, query, limit = 20, offset = 0 }, { principal, documents, budget }) {
    const { results, total } = await searchDocuments(documents, principal, {
      doctype,
      words: query,
      limit,
      offset,
    })
    return fitRows({ doctype, results }, 'results', { total, offset }, budget)
  },
})
