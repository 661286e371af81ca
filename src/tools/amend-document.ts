import { amendDocument } from '../documents/lifecycle.ts'
import { lifecycleTool } from './lifecycle-tool.ts'

/** Goes on from a cancelled document. Refused for any other state, and when it was amended already. */
export const amendDocumentTool = lifecycleTool({
  name: 'amend_document',
  title: 'Amend a document',
  description: 'Makes a new draft of a cancelled document.',
  change: amendDocument,
})
