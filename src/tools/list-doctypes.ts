import { listDoctypes } from '../documents/describing.ts'
import { documentShape, listShape, objectShape, wholeNumberShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** Where to begin on an unknown site. It names only doctypes that the caller may read or create. */
export const listDoctypesTool = defineTool({
  name: 'list_doctypes',
  title: 'List doctypes',
  description: 'The types of documents that you may use, and what you may do with each.',
  category: 'read_only',
  input: objectWith({}),
  largeOutput: objectShape({ doctypes: listShape(documentShape), count: wholeNumberShape }),
  example: {},
  run: (_, { principal, documents }) => {
    const doctypes = listDoctypes(documents, principal)
    return Promise.resolve({ doctypes, count: doctypes.length })
  },
})
