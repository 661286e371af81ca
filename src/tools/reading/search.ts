import { searchDocuments } from '../../documents/asking/searching.ts'
import { documentAddress } from '../writing/document-id.ts'
import { listShape, objectShape, textShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Returns ids that `fetch` takes, as ChatGPT's connectors demand of `search`. */
export const search = defineTool({
  name: 'search',
  title: 'Search',
  description: 'Finds documents by words; fetch reads them by id.',
  category: 'read_only',
  input: objectWith({ query: { type: 'string', minLength: 1, maxLength: 500 } }),
  output: objectShape(
    {
      results: listShape(objectShape({ id: textShape, title: textShape, url: textShape })),
    },
    { note: textShape },
  ),
  example: { query: 'drill' },
  async run({ query }, { principal, documents, publicUrl }) {
    const { results, note } = await searchDocuments(documents, principal, { words: query, limit: 20 })
    return {
      results: results.map(({ doctype, name, title }) => ({
        id: `${doctype}/${name}`,
        title: title === name ? `${doctype} ${name}` : `${title} (${doctype} ${name})`,
        url: documentAddress(publicUrl, doctype, name),
      })),
      ...(note !== undefined && { note }),
    }
  },
})
