import { removeAttachment } from '../../documents/belongings.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { attachmentView } from '../reading/list-attachments.ts'
import { aboutDocument, documentShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Removes a file from a document that the caller may write. No copy is kept, hence privileged. */
export const removeAttachmentTool = defineTool({
  name: 'remove_attachment',
  title: 'Remove an attachment',
  description: 'Removes an attached file for good.',
  category: 'privileged',
  input: objectWith(
    { doctype, name, attachment: { type: 'string', description: 'Its id or file name.' } },
    { dry_run: dryRun },
  ),
  output: aboutDocument({ removed: documentShape }),
  example: { doctype: 'Task', name: 'TASK-00001', attachment: 'notes.txt', dry_run: true },
  async run({ doctype, name, attachment, dry_run: dryRun = false }, { principal, documents }) {
    const removed = await removeAttachment(documents, principal, doctype, name, attachment, { dryRun })
    return { doctype, name, removed: attachmentView(removed), ...(dryRun && { dry_run: true }) }
  },
})
