import { describedCaller } from '../../core/principal.ts'
import { listDoctypes } from '../../documents/describing.ts'
import { doable } from '../gate/powers.ts'
import { objectShape, rowsOf, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Lists the doctypes that the caller may read or create: the place to begin on an unknown site. */
export const listDoctypesTool = defineTool({
  name: 'list_doctypes',
  title: 'List doctypes',
  description: 'The types of documents that you may use, and what you may do with each.',
  category: 'read_only',
  rows: 'doctypes',
  input: objectWith({}),
  largeOutput: objectShape({ doctypes: rowsOf, count: wholeNumberShape }),
  example: {},
  run: (_, { principal, documents, lacks }) => {
    const doctypes = listDoctypes(documents, principal).map((one) => ({
      ...one,
      allowed: doable(lacks, one.doctype, one.allowed),
    }))
    return Promise.resolve({
      doctypes,
      count: doctypes.length,
      you: describedCaller(principal, documents.clock.now(), documents.currency),
    })
  },
})
