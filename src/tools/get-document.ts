import { doctype, name } from './arguments.ts'
import { defineTool } from './tool.ts'

export const getDocument = defineTool({
  name: 'get_document',
  title: 'Get a document',
  description:
    'Returns one document with its fields and child rows. Needs the exact name: search_link or list_documents find it.',
  category: 'read_only',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['doctype', 'name'],
    properties: {
      doctype,
      name,
      fields: { type: 'array', items: { type: 'string' }, description: 'Only these fields.' },
    },
  },
  example: { doctype: 'Sales Order', name: 'SO-00001' },
  async run({ doctype, name, fields }, { principal, documents }) {
    const data = await documents.get(principal, doctype, name, fields ? { fields } : {})
    return { doctype, name, data }
  },
})
