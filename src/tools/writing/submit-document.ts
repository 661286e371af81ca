import { submitDocument } from '../../documents/writing/lifecycle.ts'
import { lifecycleTool } from './lifecycle-tool.ts'

/** Makes a draft final, after checking it once more as a whole. Refused where a workflow moves the doctype. */
export const submitDocumentTool = lifecycleTool({
  name: 'submit_document',
  title: 'Submit a document',
  description: 'Makes a draft final. Doctypes with a workflow are moved by run_workflow.',
  destructive: true,
  change: submitDocument,
})
