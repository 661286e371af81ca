import { lifecycleTool } from './lifecycle-tool.ts'

export const cancelDocument = lifecycleTool({
  name: 'cancel_document',
  title: 'Cancel a document',
  description: 'Cancels a submitted document; amend_document then makes a copy to correct.',
  change: (documents, ...document) => documents.cancel(...document),
})
