import type { People } from '../users/people.ts'
import type { Expression } from './expression.ts'

/**
 * The types that fields of the site's doctypes can have; values.ts says what each accepts and how it is
 * stored.
 */
export const fieldTypes = [
  'text',
  'long_text',
  'number',
  'integer',
  'currency',
  'percent',
  'check',
  'date',
  'datetime',
  'select',
  'link',
  'dynamic_link',
  'table',
  'json',
  'attachment',
] as const
/** The type of a field, which decides how its values are read, compared and indexed. */
export type FieldType = (typeof fieldTypes)[number]

/** What a permission rule can allow; deny by default. `write` includes comment and assign. */
export const actions = [
  'read',
  'write',
  'create',
  'delete',
  'submit',
  'cancel',
  'amend',
  'report',
  'comment',
  'assign',
] as const
/** One thing that a rule allows; whether that is enough for a document is for permission.ts to say. */
export type Action = (typeof actions)[number]

/** One value of a document. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly type: FieldType
  readonly description: string
  readonly required: boolean
  /** No other document but a cancelled one may have the same value. */
  readonly unique: boolean
  readonly readOnly: boolean
  /** May be changed after the document was submitted. */
  readonly allowOnSubmit: boolean
  /** Equality filters on it are answered from an index of the store. */
  readonly indexed: boolean
  readonly default?: unknown
  /** A default that starts with `=`, such as `=today()`. */
  readonly defaultExpression?: Expression
  /** The choices of a `select`. */
  readonly options: readonly string[]
  /** The doctype of a `link` or of the rows of a `table`. */
  readonly doctype?: string
  /** The field that holds the doctype of a `dynamic_link`. */
  readonly doctypeField?: string
  /** What the value of a `json` must be, besides JSON: the specification of a chart. */
  readonly content?: 'vega-lite'
  /** Longest text, in characters. */
  readonly length?: number
  /** Digits after the point of a number, currency or percent. */
  readonly precision?: number
  /** Who may read it: rules name the levels that they open. */
  readonly level: number
  /** The roles that see the value; everyone else sees a marker and cannot use the field in a query. */
  readonly mask?: ReadonlySet<string>
  /** Calculated whenever the document is saved; nobody sets it. */
  readonly computed?: Expression
  /** `file:line`. */
  readonly source: string
}

/** One permission rule of a doctype: a role, what it may do, to which rows and field levels. */
export interface Rule {
  readonly role: string
  readonly actions: ReadonlySet<Action>
  /** Reaches only documents that the principal created. */
  readonly ifOwner: boolean
  readonly when?: Expression
  /** Opens the fields of these levels only. */
  readonly levels: ReadonlySet<number>
  readonly source: string
}

/** A statement that must hold of every document that is saved. */
export interface Validation {
  readonly rule: Expression
  /** What the caller is told when it does not hold. */
  readonly message: string
}

/** How new documents get their names: from a counter, a field, the caller, or by chance. */
export type Naming =
  | { readonly rule: 'series'; readonly series: string }
  | { readonly rule: 'field'; readonly field: string }
  | { readonly rule: 'prompt' }
  | { readonly rule: 'hash' }

/** A type of document. */
export interface Doctype {
  readonly name: string
  readonly module: string
  readonly description: string
  readonly naming: Naming
  /** The field that people know a document by. */
  readonly titleField?: string
  /** Shown beside the title where a link is chosen. */
  readonly searchFields: readonly string[]
  /** Its documents go from draft to submitted to cancelled. */
  readonly submittable: boolean
  /** Its documents are only rows of a table field. */
  readonly child: boolean
  /** The link field to the parent of the same doctype, when it is a tree. */
  readonly parentField?: string
  readonly fields: ReadonlyMap<string, Field>
  readonly rules: readonly Rule[]
  readonly validations: readonly Validation[]
  readonly source: string
}

/** A state of a workflow, and what it means for the document's own state. */
export interface WorkflowState {
  readonly name: string
  readonly docstatus: 0 | 1 | 2
  /** The roles that may edit a document in this state; empty: whoever may write. */
  readonly editRoles: readonly string[]
}

/** One move of a workflow: from where, by whom, and on which condition. */
export interface Transition {
  readonly from: string
  readonly action: string
  readonly to: string
  readonly roles: readonly string[]
  readonly when?: Expression
  /** Whether the owner of the document may do it. */
  readonly allowSelf: boolean
  readonly source: string
}

/** The states that documents of one doctype go through, and who moves them. */
export interface Workflow {
  readonly name: string
  readonly doctype: string
  readonly states: ReadonlyMap<string, WorkflowState>
  readonly initial: string
  readonly transitions: readonly Transition[]
  readonly source: string
}

/** The types of what a report can ask, each also one of fields. */
export const filterTypes = [
  'text',
  'number',
  'integer',
  'check',
  'date',
  'select',
  'link',
] as const satisfies readonly FieldType[]

/** What a report asks before it runs; in SQL it is the parameter `$name`. */
export interface ReportFilter {
  readonly name: string
  readonly label: string
  readonly type: (typeof filterTypes)[number]
  readonly required: boolean
  readonly default?: unknown
  readonly options: readonly string[]
  readonly doctype?: string
  readonly description: string
  /** Declarative reports: the field that it narrows, and how. */
  readonly field?: string
  readonly operator: string
}

/** A column of a declarative report; the statement of an SQL report names its own. */
export interface ReportColumn {
  readonly name: string
  readonly label: string
  /** Declarative reports: the field it shows, or what is aggregated. */
  readonly field?: string
  readonly aggregate?: AggregateFunction
}

/** What can be calculated over a group of documents, by the tool `aggregate` and by reports alike. */
export const aggregateFunctions = ['count', 'sum', 'avg', 'min', 'max'] as const
/** How one column of a group is calculated. */
export type AggregateFunction = (typeof aggregateFunctions)[number]

/** A question that the site has already formulated. */
export interface Report {
  readonly name: string
  readonly description: string
  readonly module: string
  readonly type: 'declarative' | 'sql'
  /** The doctype whose rows are read; for SQL the doctypes that may be queried. */
  readonly doctypes: readonly string[]
  /** One SELECT over the doctypes as tables (`Sales Order` is `sales_order`), with `$name` for the filters. */
  readonly sql?: string
  readonly columns: readonly ReportColumn[]
  readonly filters: readonly ReportFilter[]
  /** Filters that always apply, as `list_documents` takes them. */
  readonly where?: unknown
  readonly groupBy: readonly string[]
  readonly orderBy?: string
  /** The columns that are summed over the rows of the answer. */
  readonly totals: readonly string[]
  /** Empty: whoever may report on the doctype. */
  readonly roles: readonly string[]
  readonly maxRows: number
  /** Runs in the background and keeps its result for this many seconds. */
  readonly cacheSeconds?: number
  readonly source: string
}

/** What an OAuth client may at most use, whoever it acts for. */
export interface ClientLimit {
  /** Client ids or names; `*` at the end matches any ending. */
  readonly clients: readonly string[]
  readonly roles?: readonly string[]
  readonly tools?: readonly string[]
  readonly source: string
}

/** The immutable reading of what the site says about doctypes, workflows and reports, and who the people are. */
export interface Platform {
  /** Equal for equal readings of the site. */
  readonly digest: string
  readonly people: People
  readonly doctypes: ReadonlyMap<string, Doctype>
  /** By doctype. */
  readonly workflows: ReadonlyMap<string, Workflow>
  readonly reports: ReadonlyMap<string, Report>
  readonly clientLimits: readonly ClientLimit[]
  /** Names of fields that not everyone who reads their documents sees: the audit log keeps no value of theirs. */
  readonly confidential: ReadonlySet<string>
}

/** Fields that every document has besides those of its doctype, with the type that each is compared as. */
export const standardFields: ReadonlyMap<string, FieldType> = new Map<string, FieldType>([
  ['name', 'text'],
  ['owner', 'text'],
  ['creation', 'datetime'],
  ['modified', 'datetime'],
  ['modified_by', 'text'],
  ['docstatus', 'integer'],
])
