/** Reading a log: questions, searches, summaries, and lines as people read them. None of it goes through the writer. */
export { exportCsv, exportJsonl } from './finding/export.ts'
export { FileLedger, fileWriter } from './files/file-ledger.ts'
export type { AuditFilter } from './finding/filter.ts'
export { type AuditQuestion, filterOf, questionFields } from './finding/question.ts'
export { changeLines, renderLine, type Rendering, showEvent } from './finding/render.ts'
export { endOf, followAudit, type LogPosition, searchAudit, tailAudit } from './finding/search.ts'
export { summarizeAudit } from './finding/summary.ts'
