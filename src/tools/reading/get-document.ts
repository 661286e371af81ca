import { getDocument } from '../../documents/asking/reading.ts'
import { historyOf } from '../../documents/history.ts'
import { listBelongings } from '../../documents/belongings.ts'
import { documentAddress } from '../writing/document-id.ts'
import { doctype, name } from '../gate/arguments.ts'
import { documentShape, objectShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Returns everything about one document that the caller may see. One that it may not read is not found. */
export const getDocumentTool = defineTool({
  name: 'get_document',
  title: 'Get a document',
  description: 'One document with its child rows, by exact name (search_link finds it).',
  category: 'read_only',
  early: true,
  known: ['doctype', 'name'],
  input: objectWith(
    { doctype, name },
    {
      fields: { type: 'array', items: { type: 'string' } },
      include_history: { type: 'boolean' },
      include_comments: { type: 'boolean', description: 'Also comments, assignments, attachments.' },
    },
  ),
  largeOutput: objectShape({ data: documentShape }),
  example: { doctype: 'Sales Order', name: 'SO-00001' },
  async run(args, { principal, documents, publicUrl }) {
    const {
      doctype,
      name,
      fields,
      include_history: history = false,
      include_comments: comments = false,
    } = args
    const data = await getDocument(documents, principal, doctype, name, fields ? { fields } : {})
    return {
      doctype,
      name,
      ...(publicUrl !== undefined && { url: documentAddress(publicUrl, doctype, name) }),
      data,
      // The last fifty changes: more would crowd out the document itself.
      ...(history && { history: await historyOf(documents, principal, doctype, name, 50) }),
      ...(comments && {
        comments: (await listBelongings(documents, principal, doctype, name, 'comment')).map(
          ({ user, time, text }) => ({
            user,
            time,
            text,
          }),
        ),
        assignments: (await listBelongings(documents, principal, doctype, name, 'assignment')).map(
          ({ user, by, time, note }) => ({ user, by, time, note }),
        ),
        attachments: (await listBelongings(documents, principal, doctype, name, 'attachment')).map(
          ({ id, file_name, bytes }) => ({ id, file_name, bytes }),
        ),
      }),
    }
  },
})
