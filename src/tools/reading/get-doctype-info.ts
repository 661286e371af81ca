import { WrittenJson } from '#leaf/written-json.ts'
import { describeDoctype, type Description } from '../../documents/describing.ts'
import { doable } from '../gate/powers.ts'
import { doctype } from '../gate/arguments.ts'
import { asJson } from '#leaf/as-json.ts'
import { documentShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
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
    return Promise.resolve(answerOf(info, lacks, doctype))
  },
})

/** The answers, by what the caller may know and the tools that the caller lacks. */
const answers = new WeakMap<object, WeakMap<ReadonlySet<string>, WrittenJson>>()

function answerOf(info: Description, lacks: ReadonlySet<string>, doctype: string): WrittenJson {
  const known = answers.get(info) ?? new WeakMap<ReadonlySet<string>, WrittenJson>()
  answers.set(info, known)
  let answer = known.get(lacks)
  if (!answer) {
    const { permissions, ...rest } = info
    const value = asJson({ ...rest, permissions: doable(lacks, doctype, permissions) })
    known.set(lacks, (answer = new WrittenJson(JSON.stringify(value), () => value)))
  }
  return answer
}
