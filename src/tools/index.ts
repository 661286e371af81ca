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
import { addComment } from './add-comment.ts'
import { aggregate } from './aggregate.ts'
import { amendDocument } from './amend-document.ts'
import { assign } from './assign.ts'
import { attachFile } from './attach-file.ts'
import { bulkUpdate } from './bulk-update.ts'
import { cancelDocument } from './cancel-document.ts'
import { countDocuments } from './count-documents.ts'
import { createDocument } from './create-document.ts'
import { deleteDocument } from './delete-document.ts'
import { fetchDocument } from './fetch.ts'
import { generateReport } from './generate-report.ts'
import { getDoctypeInfo } from './get-doctype-info.ts'
import { getDocument } from './get-document.ts'
import { getPendingApprovals } from './get-pending-approvals.ts'
import { listAttachments } from './list-attachments.ts'
import { listDoctypes } from './list-doctypes.ts'
import { listDocuments } from './list-documents.ts'
import { listSkills } from './list-skills.ts'
import { readSkill } from './read-skill.ts'
import { removeAttachment } from './remove-attachment.ts'
import { reportList } from './report-list.ts'
import { reportRequirements } from './report-requirements.ts'
import { runWorkflow } from './run-workflow.ts'
import { searchDoctype } from './search-doctype.ts'
import { searchDocuments } from './search-documents.ts'
import { searchLink } from './search-link.ts'
import { search } from './search.ts'
import { submitDocument } from './submit-document.ts'
import type { Tool } from './tool.ts'
import { updateDocument } from './update-document.ts'

/** The tools that need nothing but the documents and the library, so every installation has them. */
export const builtInTools: readonly Tool[] = [
  listDocuments,
  getDocument,
  createDocument,
  updateDocument,
  deleteDocument,
  submitDocument,
  cancelDocument,
  amendDocument,
  bulkUpdate,
  countDocuments,
  aggregate,
  searchDocuments,
  searchDoctype,
  searchLink,
  search,
  fetchDocument,
  getDoctypeInfo,
  listDoctypes,
  reportList,
  reportRequirements,
  generateReport,
  runWorkflow,
  getPendingApprovals,
  addComment,
  assign,
  attachFile,
  listAttachments,
  removeAttachment,
  listSkills,
  readSkill,
]
