import { Remembered } from '#leaf/remembered.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import { describeDoctype } from '../documents/describing.ts'
import { doable } from './gate/powers.ts'
import { doctype } from './gate/arguments.ts'
import { asJson } from '#leaf/as-json.ts'
import { documentShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Tells a model what it must know before it writes: fields, rules and permitted actions. Fields that the caller
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
  run: ({ doctype }, { principal, documents, lacks }) => {
    const info = describeDoctype(documents, principal, doctype)
    const permissions = doable(lacks, doctype, info.permissions)
    const written = (): WrittenJson => {
      const { permissions: _, ...rest } = info
      const value = asJson({ ...rest, permissions })
      return new WrittenJson(JSON.stringify(value), () => value)
    }
    // Requests may ask for any set of tools, so what those make is not kept.
    return Promise.resolve(principal.narrowing ? written() : answers.of(info, permissions.join(), written))
  },
})

const answers = new Remembered<object, WrittenJson>()
