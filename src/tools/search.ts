import { searchDocuments } from '../documents/searching.ts'
import { uriOf } from './document-id.ts'
import { listShape, objectShape, textShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** The contract of ChatGPT's connectors: ids that `fetch` takes. */
export const search = defineTool({
  name: 'search',
  title: 'Search',
  description: 'Finds documents by words; fetch reads them by id.',
  category: 'read_only',
  input: objectWith({ query: { type: 'string', minLength: 1, maxLength: 500, description: 'Words.' } }),
  output: objectShape({
    results: listShape(objectShape({ id: textShape, title: textShape, url: textShape })),
  }),
  example: { query: 'drill' },
  async run({ query }, { principal, documents }) {
    const { results } = await searchDocuments(documents, principal, { words: query, limit: 20 })
    return {
      results: results.map(({ doctype, name, title }) => ({
        id: `${doctype}/${name}`,
        title: title === name ? `${doctype} ${name}` : `${title} (${doctype} ${name})`,
        url: uriOf(doctype, name),
      })),
    }
  },
})
