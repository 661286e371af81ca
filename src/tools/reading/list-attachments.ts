import { listBelongings } from '../../documents/belongings.ts'
import type { Attachment } from '../../documents/belongings.ts'
import { doctype, name } from '../gate/arguments.ts'
import { aboutDocument, rowsOf, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Lists the files attached to a document; `extract_file_content` reads them by the ids given here. */
export const listAttachmentsTool = defineTool({
  name: 'list_attachments',
  title: 'List attachments',
  description: 'The files attached to a document.',
  category: 'read_only',
  rows: 'attachments',
  input: objectWith({ doctype, name }),
  largeOutput: aboutDocument({ attachments: rowsOf, count: wholeNumberShape }),
  example: { doctype: 'Task', name: 'TASK-00001' },
  async run({ doctype, name }, { principal, documents }) {
    const attachments = (await listBelongings(documents, principal, doctype, name, 'attachment')).map(
      attachmentView,
    )
    return { doctype, name, attachments, count: attachments.length }
  },
})

/** Returns an attachment as tools show it. */
export function attachmentView({
  id,
  file_name,
  mime_type,
  bytes,
  user,
  time,
}: Attachment): Readonly<Record<string, unknown>> {
  return { id, file_name, mime_type, bytes, user, time }
}
