import { doctype, dryRun, name } from './arguments.ts'
import { defineTool } from './tool.ts'

export const amendDocument = defineTool({
  name: 'amend_document',
  title: 'Amend a document',
  description: 'Makes a new draft of a cancelled document.',
  category: 'write',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['doctype', 'name'],
    properties: { doctype, name, dry_run: dryRun },
  },
  example: { doctype: 'Sales Order', name: 'SO-00001', dry_run: true },
  async run({ doctype, name, dry_run: dryRun = false }, { principal, documents }) {
    const data = await documents.amend(principal, doctype, name, { dryRun })
    return {
      doctype,
      name: data['name'],
      docstatus: data['docstatus'],
      ...(dryRun && { dry_run: true }),
      data,
    }
  },
})
