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
import { addCommentTool } from './writing/add-comment.ts'
import { aggregate } from './reading/aggregate.ts'
import { amendDocumentTool } from './writing/amend-document.ts'
import { assignTool } from './writing/assign.ts'
import { attachFileTool } from './writing/attach-file.ts'
import { bulkUpdateTool } from './writing/bulk-update.ts'
import { cancelDocumentTool } from './writing/cancel-document.ts'
import { countDocumentsTool } from './reading/count-documents.ts'
import { createDocumentTool } from './writing/create-document.ts'
import { deleteDocumentTool } from './writing/delete-document.ts'
import { fetchDocument } from './reading/fetch.ts'
import { generateReport } from './analysing/generate-report.ts'
import { getDoctypeInfo } from './reading/get-doctype-info.ts'
import { getDocumentTool } from './reading/get-document.ts'
import { getPendingApprovals } from './reading/get-pending-approvals.ts'
import { listAttachmentsTool } from './reading/list-attachments.ts'
import { listDoctypesTool } from './reading/list-doctypes.ts'
import { listDocumentsTool } from './reading/list-documents.ts'
import { listSkillsTool } from './reading/list-skills.ts'
import { readSkill } from './reading/read-skill.ts'
import { removeAttachmentTool } from './writing/remove-attachment.ts'
import { reportList } from './analysing/report-list.ts'
import { reportRequirements } from './analysing/report-requirements.ts'
import { runWorkflowTool } from './writing/run-workflow.ts'
import { searchDoctype } from './reading/search-doctype.ts'
import { searchDocumentsTool } from './reading/search-documents.ts'
import { searchLink } from './reading/search-link.ts'
import { search } from './reading/search.ts'
import { submitDocumentTool } from './writing/submit-document.ts'
import type { Tool } from './tool.ts'
import { updateDocumentTool } from './writing/update-document.ts'

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
