import { doctype, dryRun, name } from './arguments.ts'
import { defineTool } from './tool.ts'

export const submitDocument = defineTool({
  name: 'submit_document',
  title: 'Submit a document',
  description: 'Makes a draft final. Doctypes with a workflow are moved by run_workflow.',
  category: 'write',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['doctype', 'name'],
    properties: { doctype, name, dry_run: dryRun },
  },
  example: { doctype: 'Sales Order', name: 'SO-00001', dry_run: true },
  async run({ doctype, name, dry_run: dryRun = false }, { principal, documents }) {
    const data = await documents.submit(principal, doctype, name, { dryRun })
    return {
      doctype,
      name: data['name'],
      docstatus: data['docstatus'],
      ...(dryRun && { dry_run: true }),
      data,
    }
  },
})
