import { suggestLinks } from '../../documents/asking/searching.ts'
import { doctype, likeFilters } from '../gate/arguments.ts'
import { objectShape, rowsOf, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Finds the exact name that a link field wants, from what a person would call the thing. */
export const searchLink = defineTool({
  name: 'search_link',
  title: 'Find a name for a link',
  description: 'Finds the exact name for a link field, by part of a name or title.',
  category: 'read_only',
  known: ['doctype'],
  rows: 'results',
  input: objectWith(
    {
      doctype,
      query: { type: 'string', maxLength: 200, description: 'Part of a name; "" for the first ones.' },
    },
    { filters: likeFilters },
  ),
  largeOutput: objectShape({
    results: rowsOf,
    count: wholeNumberShape,
    total_count: wholeNumberShape,
  }),
  example: { doctype: 'Customer', query: 'mül' },
  async run({ doctype, query, filters }, { principal, documents }) {
    const { suggestions, total, moreThanTotal, near } = await suggestLinks(documents, principal, {
      doctype,
      typed: query,
      filters,
      limit: 20,
    })
    const counted = { total_count: total, ...(moreThanTotal && { more_than_total: true }) }
    const note = near !== undefined && { note: `nothing is called "${query}"; did you mean "${near}"?` }
    return { doctype, results: suggestions, count: suggestions.length, ...counted, ...note }
  },
})
