/** The tools of the program: to add one, write its file and its line here. */
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
