import { assign } from '../documents/belongings.ts'
import { doctype, dryRun, name } from './arguments.ts'
import { aboutDocument, documentShape, listShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/**
 * Puts a document on somebody's list, or takes it off. Refused for users who may not read the document,
 * with the words for users who do not exist.
 */
export const assignTool = defineTool({
  name: 'assign',
  title: 'Assign a document',
  description: 'Assigns a document to a user who may read it, or takes it back.',
  category: 'write',
  idempotent: true,
  input: objectWith(
    { doctype, name, user: { type: 'string', description: 'E-mail address.' } },
    {
      note: { type: 'string', maxLength: 500, description: 'What to do.' },
      remove: { type: 'boolean', description: 'Take the assignment back.' },
      dry_run: dryRun,
    },
  ),
  output: aboutDocument({ assigned_to: listShape(documentShape) }),
  example: { doctype: 'Task', name: 'TASK-00001', user: 'sales@example.com', note: 'Please call back' },
  async run(
    { doctype, name, user, note = '', remove = false, dry_run: dryRun = false },
    { principal, documents },
  ) {
    const all = await assign(documents, principal, doctype, name, { user, note, remove }, { dryRun })
    return {
      doctype,
      name,
      assigned_to: all.map(({ user, by, time, note }) => ({ user, by, time, ...(note !== '' && { note }) })),
      ...(dryRun && { dry_run: true }),
    }
  },
})
