import { amendDocument } from '../../documents/writing/lifecycle.ts'
import { lifecycleTool } from './lifecycle-tool.ts'

/** Makes a new draft from a cancelled document. Refused for any other state, and when it was amended already. */
export const amendDocumentTool = lifecycleTool({
  name: 'amend_document',
  title: 'Amend a document',
  description: 'Makes a new draft of a cancelled document.',
  change: amendDocument,
})
