/** Reading a log: questions, searches, summaries, and lines as people read them. None of it goes through the writer. */
export { exportCsv, exportJsonl } from './export.ts'
export { FileLedger, fileWriter } from './files/file-ledger.ts'
export type { AuditFilter } from './filter.ts'
export { type AuditQuestion, filterOf, questionFields } from './question.ts'
export { changeLines, renderLine, type Rendering, showEvent } from './render.ts'
export { endOf, followAudit, type LogPosition, searchAudit, tailAudit } from './search.ts'
export { summarizeAudit } from './summary.ts'
