import { createDocument } from '../documents/creating.ts'
import { doctype } from './arguments.ts'
import { documentShape, objectShape, textShape, wholeNumberShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/**
 * Makes a document, or only says whether it could be made. Refused with every fault of the data at
 * once, so that a model mends them in one go.
 */
export const createDocumentTool = defineTool({
  name: 'create_document',
  title: 'Create a document',
  description:
    'Creates a document. get_doctype_info tells its fields; child rows are arrays of objects. warnings tell which values were stored otherwise.',
  category: 'write',
  input: objectWith(
    { doctype, data: { type: 'object', description: 'Values by field.' } },
    {
      submit: { type: 'boolean', description: 'Submit it too, or create nothing.' },
      validate_only: { type: 'boolean', description: 'Only check; create nothing.' },
      dry_run: { type: 'boolean', description: 'The same as validate_only.' },
    },
  ),
  largeOutput: objectShape(
    { doctype: textShape, data: documentShape },
    { name: textShape, docstatus: wholeNumberShape },
  ),
  example: { doctype: 'Task', data: { subject: 'Call the supplier', priority: 'High' }, validate_only: true },
  async run(args, { principal, documents }) {
    const { doctype, data, submit = false } = args
    // Two names for one thing: models know both, and a trial must never become a document.
    const dryRun = (args.validate_only ?? false) || (args.dry_run ?? false)
    const { document, warnings } = await createDocument(documents, principal, doctype, data, {
      dryRun,
      submit,
    })
    const info = documents.platform.doctypes.get(doctype)
    return {
      doctype,
      ...(dryRun ? { valid: true, created: false } : { name: document['name'] }),
      docstatus: document['docstatus'],
      data: document,
      ...(info?.submittable && {
        can_submit: document['docstatus'] === 0 && !documents.platform.workflows.has(doctype),
      }),
      ...(warnings.length > 0 && { warnings }),
    }
  },
})
