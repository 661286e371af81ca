import { describeDoctype } from '../documents/describing.ts'
import { doctype } from './arguments.ts'
import { documentShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/**
 * What a model must know before it writes: fields, rules and what it may do. Fields that the caller
 * cannot know are missing, and so are rules about them.
 */
export const getDoctypeInfo = defineTool({
  name: 'get_doctype_info',
  title: 'Describe a doctype',
  description:
    'Fields, child tables, links, rules, workflow of a doctype, and what you may do with it. Read it before creating.',
  category: 'read_only',
  input: objectWith({ doctype }),
  largeOutput: documentShape,
  example: { doctype: 'Sales Order' },
  run: ({ doctype }, { principal, documents }) =>
    Promise.resolve(describeDoctype(documents, principal, doctype)),
})
