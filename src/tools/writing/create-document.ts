import { createDocument } from '../../documents/writing/creating.ts'
import { triedThere } from '../../documents/writing/elsewhere.ts'
import { documentAddress } from './document-id.ts'
import { doctype, dryRun } from '../gate/arguments.ts'
import { documentShape, objectShape, textShape, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Makes a document, or with `dry_run` only says whether it could be made. Refused with every fault of the data at
 * once, so that a model mends them in one go.
 */
export const createDocumentTool = defineTool({
  name: 'create_document',
  title: 'Create a document',
  description:
    'Creates a document of fields as get_doctype_info tells; child rows are arrays of objects. warnings tell what was stored otherwise.',
  category: 'write',
  unlisted: ['validate_only'],
  input: objectWith(
    { doctype, data: { type: 'object', description: 'Values by field.' } },
    {
      submit: { type: 'boolean' },
      validate_only: { type: 'boolean', description: 'Only check.' },
      dry_run: dryRun,
    },
  ),
  largeOutput: objectShape(
    { doctype: textShape, data: documentShape },
    { name: textShape, docstatus: wholeNumberShape },
  ),
  example: { doctype: 'Task', data: { subject: 'Call the supplier', priority: 'High' }, validate_only: true },
  async run(args, { principal, documents, publicUrl }) {
    const { doctype, data, submit = false } = args
    // Two names for one argument: models know both, and what is only tried must never create a document.
    const isTried = (args.validate_only ?? false) || (args.dry_run ?? false)
    const { document, warnings } = await createDocument(documents, principal, doctype, data, {
      dryRun: isTried,
      submit,
    })
    const info = documents.platform.doctypes.get(doctype)
    return {
      doctype,
      ...(isTried
        ? { valid: true, created: false, ...triedThere(documents, doctype) }
        : { name: document['name'] }),
      ...(!isTried &&
        publicUrl !== undefined && { url: documentAddress(publicUrl, doctype, String(document['name'])) }),
      docstatus: document['docstatus'],
      data: document,
      ...(info?.submittable && {
        can_submit: document['docstatus'] === 0 && !documents.platform.workflows.has(doctype),
      }),
      ...(warnings.length > 0 && { warnings }),
    }
  },
})
