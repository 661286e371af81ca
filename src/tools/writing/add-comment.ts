import { addComment } from '../../documents/belongings.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { aboutDocument, documentShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Adds a comment to a document. Refused without the action `comment` or `write` on the
 * document, and for more than 10,000 characters.
 */
export const addCommentTool = defineTool({
  name: 'add_comment',
  title: 'Comment on a document',
  description: 'Adds a comment to a document, for everyone who may read it.',
  category: 'write',
  unlisted: ['dry_run'],
  input: objectWith(
    {
      doctype,
      name,
      comment: { type: 'string', minLength: 1, maxLength: 10000 },
    },
    { dry_run: dryRun },
  ),
  output: aboutDocument({ comment: documentShape }),
  example: { doctype: 'Task', name: 'TASK-00001', comment: 'Waiting for the supplier.' },
  async run({ doctype, name, comment: text, dry_run: dryRun = false }, { principal, documents }) {
    const { user, time } = await addComment(documents, principal, doctype, name, text, { dryRun })
    return { doctype, name, comment: { user, time, text }, ...(dryRun && { dry_run: true }) }
  },
})
