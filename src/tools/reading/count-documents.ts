import { countStates } from '../../documents/asking/aggregating.ts'
import { doctype, likeFilters } from '../gate/arguments.ts'
import { objectShape, statesShape, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Counts the documents that the caller may read: a number instead of a list, where a model needs no more. */
export const countDocumentsTool = defineTool({
  name: 'count_documents',
  title: 'Count documents',
  description: 'Counts documents that match filters.',
  category: 'read_only',
  known: ['doctype'],
  input: objectWith({ doctype }, { filters: likeFilters }),
  output: objectShape({ count: wholeNumberShape }, { counted: statesShape }),
  example: { doctype: 'Lead', filters: { status: 'Open' } },
  async run({ doctype, filters }, { principal, documents }) {
    return { doctype, ...(await countStates(documents, principal, doctype, filters)) }
  },
})
