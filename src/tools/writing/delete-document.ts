import { triedThere } from '../../documents/writing/elsewhere.ts'
import { deleteDocument } from '../../documents/writing/updating.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { aboutDocument, yesNoShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Removes a document for good. Refused while it is submitted or others link to it; `force` overrides
 * links, for System Managers.
 */
export const deleteDocumentTool = defineTool({
  name: 'delete_document',
  title: 'Delete a document',
  description: 'Deletes a draft or cancelled document for good; refused when others link to it.',
  category: 'privileged',
  input: objectWith(
    { doctype, name },
    { force: { type: 'boolean', description: 'Despite links (System Manager).' }, dry_run: dryRun },
  ),
  output: aboutDocument({ deleted: yesNoShape }),
  example: { doctype: 'Task', name: 'TASK-00001', dry_run: true },
  async run({ doctype, name, force = false, dry_run: dryRun = false }, { principal, documents }) {
    await deleteDocument(documents, principal, doctype, name, { force, dryRun })
    return {
      doctype,
      name,
      deleted: !dryRun,
      ...(dryRun && { dry_run: true, ...triedThere(documents, doctype) }),
    }
  },
})
