import { lifecycleTool } from './lifecycle-tool.ts'

export const submitDocument = lifecycleTool({
  name: 'submit_document',
  title: 'Submit a document',
  description: 'Makes a draft final. Doctypes with a workflow are moved by run_workflow.',
  change: (documents, ...document) => documents.submit(...document),
})
