import { cancelDocument } from '../../documents/writing/lifecycle.ts'
import { lifecycleTool } from './lifecycle-tool.ts'

/**
 * Cancels a submitted document. Refused while submitted documents build upon it, and where a
 * workflow moves the doctype.
 */
export const cancelDocumentTool = lifecycleTool({
  name: 'cancel_document',
  title: 'Cancel a document',
  description: 'Cancels a submitted document; amend_document then makes a copy to correct.',
  destructive: true,
  change: cancelDocument,
})
