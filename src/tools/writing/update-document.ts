import { triedThere } from '../../documents/writing/elsewhere.ts'
import { updateDocument } from '../../documents/writing/updating.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { aboutDocument, documentShape, listShape, textShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Changes the fields given. Refused as a whole when one value is wrong or may not be set, when the
 * document changed since `expected_modified`, and when it is cancelled.
 */
export const updateDocumentTool = defineTool({
  name: 'update_document',
  title: 'Update a document',
  description:
    'Changes fields of one document; others stay. Child rows: with row "name" a row is patched ("_delete": true removes it), without it is added; rows that all lack a name replace the table.',
  category: 'write',
  destructive: true,
  idempotent: true,
  input: objectWith(
    { doctype, name, data: { type: 'object' } },
    {
      expected_modified: {
        type: 'string',
        description: 'The modified that you read.',
      },
      dry_run: dryRun,
    },
  ),
  largeOutput: aboutDocument({ updated_fields: listShape(textShape), data: documentShape }),
  example: { doctype: 'Task', name: 'TASK-00001', data: { status: 'Done' } },
  async run(args, { principal, documents }) {
    const { doctype, name, data, expected_modified: expectedModified, dry_run: dryRun = false } = args
    const { document, updatedFields, warnings } = await updateDocument(
      documents,
      principal,
      doctype,
      name,
      data,
      {
        dryRun,
        ...(expectedModified !== undefined && { expectedModified }),
      },
    )
    return {
      doctype,
      name,
      updated_fields: updatedFields,
      ...(dryRun && { dry_run: true, ...triedThere(documents, doctype) }),
      data: document,
      ...(warnings.length > 0 && { warnings }),
    }
  },
})
