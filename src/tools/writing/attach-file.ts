import { attachFile } from '../../documents/belongings.ts'
import { AppError } from '#leaf/errors.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { attachmentView } from '../reading/list-attachments.ts'
import { aboutDocument, documentShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Keeps a file with a document. Refused without write permission, above 2 MiB, and for a name that is
 * there already: it replaces nothing.
 */
export const attachFileTool = defineTool({
  name: 'attach_file',
  title: 'Attach a file',
  description: 'Attaches a file (2 MB) to a document, as text or base64.',
  category: 'write',
  input: objectWith(
    {
      doctype,
      name,
      file_name: { type: 'string', minLength: 1, maxLength: 200 },
    },
    {
      text: { type: 'string', maxLength: 2097152, description: 'The content.' },
      base64: { type: 'string', maxLength: 2800000, description: 'Or this.' },
      mime_type: {
        type: 'string',
        pattern: '^[a-z]+/[A-Za-z0-9.+-]{1,100}$',
        description: 'Such as "application/pdf".',
      },
      dry_run: dryRun,
    },
  ),
  output: aboutDocument({ attachment: documentShape }),
  example: { doctype: 'Task', name: 'TASK-00001', file_name: 'notes.txt', text: 'Agreed on Monday.' },
  async run(args, { principal, documents }) {
    const { doctype, name, file_name: fileName, text, base64, dry_run: dryRun = false } = args
    // Checked here and not in the schema: some clients cannot read composition in the schemas of tools.
    if ((text === undefined) === (base64 === undefined))
      throw new AppError(
        'invalid',
        `give ${text === undefined ? 'the content as text, or as base64' : 'either text or base64, not both'}`,
      )
    const content = text === undefined ? decode(base64!) : Buffer.from(text)
    const mimeType = args.mime_type ?? (text === undefined ? 'application/octet-stream' : 'text/plain')
    const attachment = await attachFile(
      documents,
      principal,
      doctype,
      name,
      { fileName, mimeType, content },
      { dryRun },
    )
    return { doctype, name, attachment: attachmentView(attachment), ...(dryRun && { dry_run: true }) }
  },
})

function decode(base64: string): Uint8Array {
  // Node would skip what it cannot decode; half a file must not be kept as a whole one.
  const text = base64.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0)
    throw new AppError(
      'invalid',
      'base64: cannot be decoded; it has A-Z, a-z, 0-9, + and / in groups of four, = at the end (a text goes into text)',
    )
  return Buffer.from(text, 'base64')
}
