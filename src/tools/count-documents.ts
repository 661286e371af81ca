import { countDocuments } from '../documents/aggregating.ts'
import { doctype, likeFilters } from './arguments.ts'
import { objectShape, textShape, wholeNumberShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** A number instead of a list, where a model only needs to know how many. Counts what the caller may read. */
export const countDocumentsTool = defineTool({
  name: 'count_documents',
  title: 'Count documents',
  description: 'Counts documents that match filters. For sums or counts per group use `aggregate`.',
  category: 'read_only',
  input: objectWith({ doctype }, { filters: likeFilters }),
  output: objectShape({ doctype: textShape, count: wholeNumberShape }),
  example: { doctype: 'Lead', filters: { status: 'Open' } },
  async run({ doctype, filters }, { principal, documents }) {
    return { doctype, count: await countDocuments(documents, principal, doctype, filters) }
  },
})
