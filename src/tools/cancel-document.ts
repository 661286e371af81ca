import { doctype, dryRun, name } from './arguments.ts'
import { defineTool } from './tool.ts'

export const cancelDocument = defineTool({
  name: 'cancel_document',
  title: 'Cancel a document',
  description: 'Cancels a submitted document; amend_document then makes a copy to correct.',
  category: 'write',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['doctype', 'name'],
    properties: { doctype, name, dry_run: dryRun },
  },
  example: { doctype: 'Sales Order', name: 'SO-00001', dry_run: true },
  async run({ doctype, name, dry_run: dryRun = false }, { principal, documents }) {
    const data = await documents.cancel(principal, doctype, name, { dryRun })
    return {
      doctype,
      name: data['name'],
      docstatus: data['docstatus'],
      ...(dryRun && { dry_run: true }),
      data,
    }
  },
})
