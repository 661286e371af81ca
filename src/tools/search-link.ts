import { suggestLinks } from '../documents/searching.ts'
import { doctype, likeFilters } from './arguments.ts'
import { documentShape, listShape, objectShape, textShape, wholeNumberShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** The exact name that a link field wants, from what a person would call the thing. */
export const searchLink = defineTool({
  name: 'search_link',
  title: 'Find a name for a link',
  description: 'Finds the exact name for a link field, by part of a name or title.',
  category: 'read_only',
  input: objectWith(
    {
      doctype,
      query: { type: 'string', maxLength: 200, description: 'Part of a name; "" for the first ones.' },
    },
    { filters: likeFilters },
  ),
  largeOutput: objectShape({
    doctype: textShape,
    results: listShape(documentShape),
    count: wholeNumberShape,
    total_count: wholeNumberShape,
  }),
  example: { doctype: 'Customer', query: 'mül' },
  async run({ doctype, query, filters }, { principal, documents }) {
    const { suggestions, total, moreThanTotal } = await suggestLinks(documents, principal, {
      doctype,
      typed: query,
      filters,
      limit: 20,
    })
    const counted = { total_count: total, ...(moreThanTotal && { more_than_total: true }) }
    return { doctype, results: suggestions, count: suggestions.length, ...counted }
  },
})
