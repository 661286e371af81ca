import { lifecycleTool } from './lifecycle-tool.ts'

export const amendDocument = lifecycleTool({
  name: 'amend_document',
  title: 'Amend a document',
  description: 'Makes a new draft of a cancelled document.',
  change: (documents, ...document) => documents.amend(...document),
})
