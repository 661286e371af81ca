/**
 * Business data: every function takes the principal first and asks the one evaluator.
 *
 * How the files of this folder play together:
 * - The site's YAML: `read-platform.ts` calls the other `read-*.ts` and gives one immutable `Platform`
 *   (`platform.ts`); `expression.ts` is the language of its conditions and computed fields.
 * - Who may: `permission.ts`, asked through `ground.ts`, which turns "may not see" into `not_found`.
 * - Reading: `reading.ts`, `filters.ts`, `aggregating.ts`, `searching.ts`, `reports.ts`, `tables.ts`
 *   for analysis.
 * - Changing: `creating.ts`, `updating.ts`, `lifecycle.ts`, `workflow.ts`, `belongings.ts`. Each runs
 *   in a `Work` (`work.ts`): data are read (`preparing.ts`, `rows.ts`, `values.ts`), checked as a whole
 *   (`checking.ts`) and stored together with history and audit event.
 * - For operators: `explaining.ts`, `state-problems.ts`, `seeds.ts`.
 */
import type { Principal } from '../core/principal.ts'
import { aggregateDocuments, type AggregatePage, type AggregateQuery, countDocuments } from './aggregating.ts'
import {
  addComment,
  assign,
  type Assignment,
  attachFile,
  type Attachment,
  type Comment,
  listAssignments,
  listAttachments,
  listComments,
  readAttachment,
  removeAttachment,
} from './belongings.ts'
import { createDocument, type CreateOptions, type Saved } from './creating.ts'
import { describeDoctype, type DoctypeSummary, listDoctypes } from './describing.ts'
import { explainAccess, type Explanation } from './explaining.ts'
import type { Ground } from './ground.ts'
import { type HistoryEntry, historyOf } from './history.ts'
import { amendDocument, cancelDocument, submitDocument } from './lifecycle.ts'
import type { Platform, Report } from './platform.ts'
import {
  type DocumentPage,
  type DocumentView,
  getDocument,
  type GetOptions,
  listDocuments,
  type ListQuery,
} from './reading.ts'
import { findReport, listReports, type ReportPending, type ReportResult, runReport } from './reports.ts'
import type { RunSql } from './run-sql.ts'
import { type FoundPage, type LinkSuggestion, searchDocuments, suggestLinks } from './searching.ts'
import { type StateProblem, stateProblems } from './state-problems.ts'
import { type ReadableTables, type RowsPage, type RowsQuery, Tables } from './tables.ts'
import {
  type BulkUpdated,
  bulkUpdate,
  deleteDocument,
  type DeleteOptions,
  updateDocument,
  type Updated,
  type UpdateOptions,
} from './updating.ts'
import { type PendingApproval, pendingApprovals, runWorkflow, type WorkflowMove } from './workflow.ts'
import type { ChangeOptions } from './work.ts'

type Data = Readonly<Record<string, unknown>>

/** The documents of one snapshot's platform. What the principal may not see is AppError `not_found`, everywhere. */
export interface Documents {
  readonly platform: Platform
  doctypes(principal: Principal): readonly DoctypeSummary[]
  doctype(principal: Principal, name: string): Data
  /** At most a page, of all that the filters let through; for the rows of an analysis see `rows`. */
  list(principal: Principal, query: ListQuery): Promise<DocumentPage>
  get(principal: Principal, doctype: string, name: string, options?: GetOptions): Promise<DocumentView>
  history(
    principal: Principal,
    doctype: string,
    name: string,
    limit: number,
  ): Promise<readonly Omit<HistoryEntry, 'document'>[]>
  create(principal: Principal, doctype: string, data: Data, options?: CreateOptions): Promise<Saved>
  update(
    principal: Principal,
    doctype: string,
    name: string,
    data: Data,
    options?: UpdateOptions,
  ): Promise<Updated>
  delete(principal: Principal, doctype: string, name: string, options?: DeleteOptions): Promise<void>
  submit(principal: Principal, doctype: string, name: string, options?: ChangeOptions): Promise<DocumentView>
  cancel(principal: Principal, doctype: string, name: string, options?: ChangeOptions): Promise<DocumentView>
  amend(principal: Principal, doctype: string, name: string, options?: ChangeOptions): Promise<DocumentView>
  bulkUpdate(
    principal: Principal,
    doctype: string,
    which: { readonly names?: readonly string[]; readonly filters?: unknown },
    data: Data,
    options?: ChangeOptions,
  ): Promise<BulkUpdated>
  count(principal: Principal, doctype: string, filters?: unknown): Promise<number>
  aggregate(principal: Principal, query: AggregateQuery): Promise<AggregatePage>
  /** Words in names and texts, in one doctype or in all. */
  search(
    principal: Principal,
    query: {
      readonly words: string
      readonly doctype?: string
      readonly limit: number
      readonly offset?: number
    },
  ): Promise<FoundPage>
  /** What a link field could hold, for a name that was typed in part. */
  suggest(
    principal: Principal,
    query: {
      readonly doctype: string
      readonly typed: string
      readonly filters?: unknown
      readonly limit: number
    },
  ): Promise<{ readonly suggestions: readonly LinkSuggestion[]; readonly total: number }>
  runWorkflow(
    principal: Principal,
    doctype: string,
    name: string,
    action: string,
    options?: ChangeOptions & { readonly comment?: string },
  ): Promise<WorkflowMove>
  /** What waits for this principal in any workflow. */
  pendingApprovals(
    principal: Principal,
    query: { readonly doctype?: string; readonly limit: number },
  ): Promise<{ readonly pending: readonly PendingApproval[]; readonly total: number }>
  reports(principal: Principal): readonly Report[]
  /** AppError `not_found` for a report that the principal may not run. */
  report(principal: Principal, name: string): Report
  runReport(
    principal: Principal,
    name: string,
    filters: Data,
    options: { readonly signal: AbortSignal; readonly wait: number },
  ): Promise<ReportResult | ReportPending>
  comments(principal: Principal, doctype: string, name: string): Promise<readonly Comment[]>
  addComment(
    principal: Principal,
    doctype: string,
    name: string,
    text: string,
    options?: ChangeOptions,
  ): Promise<Comment>
  assignments(principal: Principal, doctype: string, name: string): Promise<readonly Assignment[]>
  assign(
    principal: Principal,
    doctype: string,
    name: string,
    to: { readonly user: string; readonly note: string; readonly remove: boolean },
    options?: ChangeOptions,
  ): Promise<readonly Assignment[]>
  attachments(principal: Principal, doctype: string, name: string): Promise<readonly Attachment[]>
  attach(
    principal: Principal,
    doctype: string,
    name: string,
    file: { readonly fileName: string; readonly mimeType: string; readonly content: Uint8Array },
    options?: ChangeOptions,
  ): Promise<Attachment>
  attachment(
    principal: Principal,
    id: string,
  ): Promise<{ readonly attachment: Attachment; readonly content: Uint8Array }>
  detach(
    principal: Principal,
    doctype: string,
    name: string,
    id: string,
    options?: ChangeOptions,
  ): Promise<Attachment>
  /** What the principal may read, as tables for analysis. */
  tables(principal: Principal): ReadableTables
  rows(principal: Principal, query: RowsQuery): Promise<RowsPage>
  /** For operators: why the principal may or may not. */
  explain(principal: Principal, doctype: string, name?: string): Promise<Explanation>
  /** For operators: what in the state this reading of the site does not allow (`check --against-state`). */
  stateProblems(): Promise<readonly StateProblem[]>
}

/** The documents under one reading of the site. */
export function createDocuments(ground: Ground, runSql: RunSql): Documents {
  const tables = new Tables(ground)
  return {
    platform: ground.platform,
    doctypes: (principal) => listDoctypes(ground, principal),
    doctype: (principal, name) => describeDoctype(ground, principal, name),
    list: (principal, query) => listDocuments(ground, principal, query),
    get: (principal, doctype, name, options = {}) => getDocument(ground, principal, doctype, name, options),
    history: (principal, doctype, name, limit) => historyOf(ground, principal, doctype, name, limit),
    create: (principal, doctype, data, options = {}) =>
      createDocument(ground, principal, doctype, data, options),
    update: (principal, doctype, name, data, options = {}) =>
      updateDocument(ground, principal, doctype, name, data, options),
    delete: (principal, doctype, name, options = {}) =>
      deleteDocument(ground, principal, doctype, name, options),
    submit: (principal, doctype, name, options = {}) =>
      submitDocument(ground, principal, doctype, name, options),
    cancel: (principal, doctype, name, options = {}) =>
      cancelDocument(ground, principal, doctype, name, options),
    amend: (principal, doctype, name, options = {}) =>
      amendDocument(ground, principal, doctype, name, options),
    bulkUpdate: (principal, doctype, which, data, options = {}) =>
      bulkUpdate(ground, principal, doctype, which, data, options),
    count: (principal, doctype, filters) => countDocuments(ground, principal, doctype, filters),
    aggregate: (principal, query) => aggregateDocuments(ground, principal, query),
    search: (principal, query) => searchDocuments(ground, principal, query),
    suggest: (principal, query) => suggestLinks(ground, principal, query),
    runWorkflow: (principal, doctype, name, action, options = {}) =>
      runWorkflow(ground, principal, doctype, name, action, options),
    pendingApprovals: (principal, query) => pendingApprovals(ground, principal, query),
    reports: (principal) => listReports(ground, principal),
    report: (principal, name) => findReport(ground, principal, name),
    runReport: (principal, name, filters, options) =>
      runReport(ground, principal, name, filters, { ...options, runSql, tables: (who) => tables.of(who) }),
    comments: (principal, doctype, name) => listComments(ground, principal, doctype, name),
    addComment: (principal, doctype, name, text, options = {}) =>
      addComment(ground, principal, doctype, name, text, options),
    assignments: (principal, doctype, name) => listAssignments(ground, principal, doctype, name),
    assign: (principal, doctype, name, to, options = {}) =>
      assign(ground, principal, doctype, name, to, options),
    attachments: (principal, doctype, name) => listAttachments(ground, principal, doctype, name),
    attach: (principal, doctype, name, file, options = {}) =>
      attachFile(ground, principal, doctype, name, file, options),
    attachment: (principal, id) => readAttachment(ground, principal, id),
    detach: (principal, doctype, name, id, options = {}) =>
      removeAttachment(ground, principal, doctype, name, id, options),
    tables: (principal) => tables.of(principal),
    rows: (principal, query) => tables.rows(principal, query),
    explain: (principal, doctype, name) => explainAccess(ground, principal, doctype, name),
    stateProblems: () => stateProblems(ground),
  }
}
