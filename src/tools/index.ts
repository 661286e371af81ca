/**
 * The tools of the program: to add one, write its file and its line here.
 *
 * - A tool is data and one function (`tool.ts`): schema, category, example, `run`. It checks no
 *   permission itself; it hands the principal to `documents/` or `library/`, which do.
 * - `create-catalogue.ts` puts tools under the site's settings (`read-tools.ts`) and the one evaluator
 *   (`offer.ts`), and runs calls: limits, time, audit, output (`output.ts`, `fit-rows.ts`).
 * - `analysis-tools.ts` adds those that compute outside the daemon, where the machine can run them;
 *   `own/` adds those that the site defines itself.
 */
import { addCommentTool } from './add-comment.ts'
import { aggregate } from './aggregate.ts'
import { amendDocumentTool } from './amend-document.ts'
import { assignTool } from './assign.ts'
import { attachFileTool } from './attach-file.ts'
import { bulkUpdateTool } from './bulk-update.ts'
import { cancelDocumentTool } from './cancel-document.ts'
import { countDocumentsTool } from './count-documents.ts'
import { createDocumentTool } from './create-document.ts'
import { deleteDocumentTool } from './delete-document.ts'
import { fetchDocument } from './fetch.ts'
import { generateReport } from './generate-report.ts'
import { getDoctypeInfo } from './get-doctype-info.ts'
import { getDocumentTool } from './get-document.ts'
import { getPendingApprovals } from './get-pending-approvals.ts'
import { listAttachmentsTool } from './list-attachments.ts'
import { listDoctypesTool } from './list-doctypes.ts'
import { listDocumentsTool } from './list-documents.ts'
import { listSkillsTool } from './list-skills.ts'
import { readSkill } from './read-skill.ts'
import { removeAttachmentTool } from './remove-attachment.ts'
import { reportList } from './report-list.ts'
import { reportRequirements } from './report-requirements.ts'
import { runWorkflowTool } from './run-workflow.ts'
import { searchDoctype } from './search-doctype.ts'
import { searchDocumentsTool } from './search-documents.ts'
import { searchLink } from './search-link.ts'
import { search } from './search.ts'
import { submitDocumentTool } from './submit-document.ts'
import type { Tool } from './tool.ts'
import { updateDocumentTool } from './update-document.ts'

/** The tools that need only the documents and the library, so that every installation has them. */
export const builtInTools: readonly Tool[] = [
  listDocumentsTool,
  getDocumentTool,
  createDocumentTool,
  updateDocumentTool,
  deleteDocumentTool,
  submitDocumentTool,
  cancelDocumentTool,
  amendDocumentTool,
  bulkUpdateTool,
  countDocumentsTool,
  aggregate,
  searchDocumentsTool,
  searchDoctype,
  searchLink,
  search,
  fetchDocument,
  getDoctypeInfo,
  listDoctypesTool,
  reportList,
  reportRequirements,
  generateReport,
  runWorkflowTool,
  getPendingApprovals,
  addCommentTool,
  assignTool,
  attachFileTool,
  listAttachmentsTool,
  removeAttachmentTool,
  listSkillsTool,
  readSkill,
]
