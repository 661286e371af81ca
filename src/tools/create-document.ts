import { doctype } from './arguments.ts'
import { defineTool } from './tool.ts'

export const createDocument = defineTool({
  name: 'create_document',
  title: 'Create a document',
  description:
    'Creates a document. get_doctype_info tells its fields; child rows are arrays of objects. Use validate_only first when unsure.',
  category: 'write',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['doctype', 'data'],
    properties: {
      doctype,
      data: {
        type: 'object',
        description: 'Field values, such as {"subject": "Call back", "priority": "High"}.',
      },
      validate_only: { type: 'boolean', description: 'Check everything, create nothing.' },
    },
  },
  example: { doctype: 'Task', data: { subject: 'Call the supplier', priority: 'High' }, validate_only: true },
  async run({ doctype, data, validate_only: dryRun = false }, { principal, documents }) {
    const { document, warnings } = await documents.create(principal, doctype, data, { dryRun })
    return {
      doctype,
      ...(dryRun ? { valid: true, created: false } : { name: document['name'] }),
      data: document,
      ...(warnings.length > 0 && { warnings }),
    }
  },
})
