import { assign } from '../../documents/belongings.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { aboutDocument, documentShape, listShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Puts a document on a user's list, or takes it off. Refused for users who may not read the document,
 * in the same words as for users who do not exist.
 */
export const assignTool = defineTool({
  name: 'assign',
  title: 'Assign a document',
  description: 'Assigns a document to a user who may read it, or takes it back.',
  category: 'write',
  idempotent: true,
  input: objectWith(
    { doctype, name, user: { type: 'string', description: 'E-mail address, or me.' } },
    {
      note: { type: 'string', maxLength: 500, description: 'What to do.' },
      remove: { type: 'boolean', description: 'Take the assignment back.' },
      dry_run: dryRun,
    },
  ),
  output: aboutDocument({ assigned_to: listShape(documentShape) }),
  example: { doctype: 'Task', name: 'TASK-00001', user: 'sales@example.com', note: 'Please call back' },
  async run(
    { doctype, name, user: given, note = '', remove = false, dry_run: dryRun = false },
    { principal, documents },
  ) {
    const user = given === 'me' ? principal.user : given
    const all = await assign(documents, principal, doctype, name, { user, note, remove }, { dryRun })
    return {
      doctype,
      name,
      assigned_to: all.map(({ user, by, time, note }) => ({ user, by, time, ...(note !== '' && { note }) })),
      ...(dryRun && { dry_run: true }),
    }
  },
})
