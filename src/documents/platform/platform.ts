import type { People } from '../../users/people.ts'
import type { Operator } from '../asking/filter-forms.ts'
import type { Expression } from '#state/questions.ts'
import type { Naming } from './naming.ts'
import type { OriginWrites } from './origin-writes.ts'

/** The types that fields of the site's doctypes can have; values.ts defines the accepted values of each and their stored form. */
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

/** The actions that a permission rule can allow; deny by default. `write` includes comment and assign. */
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
/** One action that a rule allows; permission.ts decides whether that is enough for a document. */
export type Action = (typeof actions)[number]

/** A field of a doctype. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly type: FieldType
  readonly description: string
  readonly required: boolean
  /** True if no other document, except a cancelled one, may have the same value. */
  readonly unique: boolean
  readonly readOnly: boolean
  /** True if it may be changed after the document was submitted. */
  readonly allowOnSubmit: boolean
  /** True if the store answers equality filters on it from an index. */
  readonly indexed: boolean
  readonly default?: unknown
  /** A default that starts with `=`, such as `=today()`. */
  readonly defaultExpression?: Expression
  /** The choices of a `select`. */
  readonly options: readonly string[]
  /** What the choices are called, for readers of another language. */
  readonly words?: ReadonlyMap<string, string>
  /** The doctype of a `link` or of the rows of a `table`. */
  readonly doctype?: string
  /** The field that holds the doctype of a `dynamic_link`. */
  readonly doctypeField?: string
  /** The demand on the value of a `json` besides being JSON: the specification of a chart. */
  readonly content?: 'vega-lite'
  /** The longest text, in characters. */
  readonly length?: number
  /** Digits after the point of a number, currency or percent. */
  readonly precision?: number
  /** The one action that may set it, where not both may. */
  readonly only?: 'create' | 'write'
  /** The level that a permission rule must open for it to be read. */
  readonly level: number
  /** The roles that see the value; everyone else sees a marker and cannot use the field in a query. */
  readonly mask?: ReadonlySet<string>
  /** The expression that calculates it whenever the document is saved; nobody sets it. */
  readonly computed?: Expression
  /** The place in the site: `file:line`. */
  readonly source: string
}

/** A column of a table of others, as a field shows it. */
export interface OriginColumn {
  readonly column: string
  /** The look-up of the row that has the column: a column here, and the table whose key it holds. */
  readonly through?: { readonly column: string; readonly table: string; readonly key?: string }
  readonly type: FieldType
  readonly options: readonly string[]
  readonly precision?: number
  readonly required: boolean
  /** The place in the site. */
  readonly file: string
  readonly path: readonly (string | number)[]
}

/** Rows of another table that belong to a document, as a field of type `table` shows them. */
export interface OriginRows {
  readonly table: string
  /** The columns that hold the key of the document, and what others (`only`) hold in its rows. */
  readonly parent: readonly string[]
  readonly key: readonly string[]
  readonly order: readonly string[]
  readonly only: Readonly<Record<string, string>>
  readonly columns: Readonly<Record<string, OriginColumn>>
  readonly file: string
  readonly path: readonly (string | number)[]
}

/** Where the documents of a doctype lie, if not in our state. */
export interface Origin {
  /** A name of `config/sources.yaml`. */
  readonly source: string
  readonly table: string
  /** The columns of the key, which is the name of the document. */
  readonly key: readonly string[]
  /** The zone in which times without a zone are read. */
  readonly timeZone: string
  /** The fields in which words are searched. */
  readonly search: readonly string[]
  /** The most rows that analysis reads. */
  readonly mostRows: number
  readonly write: OriginWrites
  /** The field that tells versions apart, which each change moves on. */
  readonly version?: string
  /** By field, the standard fields that there are included. */
  readonly columns: Readonly<Record<string, OriginColumn>>
  readonly rows: Readonly<Record<string, OriginRows>>
  readonly file: string
}

/** A permission rule of a doctype: a role, its actions, and the rows and field levels that it opens. */
export interface Rule {
  readonly role: string
  readonly actions: ReadonlySet<Action>
  /** True if it applies only to documents that the principal created. */
  readonly ifOwner: boolean
  readonly when?: Expression
  /** The levels of the fields that it opens; no others. */
  readonly levels: ReadonlySet<number>
  readonly source: string
}

/** A condition that every saved document must meet. */
export interface Validation {
  readonly rule: Expression
  /** The message for the caller when it does not hold. */
  readonly message: string
}

/** A type of document. */
export interface Doctype {
  readonly name: string
  /** By language, what its texts and those of its workflow are called there. */
  readonly translations: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly module: string
  readonly description: string
  readonly naming: Naming
  /** The field by which people know a document. */
  readonly titleField?: string
  /** The fields shown beside the title where a link is chosen. */
  readonly searchFields: readonly string[]
  /** True if its documents go from draft to submitted to cancelled. */
  readonly submittable: boolean
  /** True if its documents are only rows of a table field. */
  readonly child: boolean
  /** The link field to the parent of the same doctype, when it is a tree. */
  readonly parentField?: string
  /** Set if its documents lie in a database of others. */
  readonly origin?: Origin
  readonly fields: ReadonlyMap<string, Field>
  readonly rules: readonly Rule[]
  readonly validations: readonly Validation[]
  readonly source: string
}

/** A state of a workflow, with the document's own state in it. */
export interface WorkflowState {
  readonly name: string
  readonly docstatus: 0 | 1 | 2
  /** The roles that may edit a document in this state; empty: everyone who may write. */
  readonly editRoles: readonly string[]
}

/** A transition of a workflow: the states, the roles, and the condition. */
export interface Transition {
  readonly from: string
  readonly action: string
  readonly to: string
  readonly roles: readonly string[]
  readonly when?: Expression
  /** True if the owner of the document may take it. */
  readonly allowSelf: boolean
  readonly source: string
}

/** The states of the documents of one doctype, and the transitions between them. */
export interface Workflow {
  readonly name: string
  readonly doctype: string
  readonly states: ReadonlyMap<string, WorkflowState>
  readonly initial: string
  readonly transitions: readonly Transition[]
  readonly source: string
}

/** The types of report filters, each also a type of fields. */
export const filterTypes = [
  'text',
  'number',
  'integer',
  'check',
  'date',
  'select',
  'link',
] as const satisfies readonly FieldType[]

/** A filter of a report; in SQL it is the parameter `$name`. */
export interface ReportFilter {
  readonly name: string
  readonly label: string
  readonly type: (typeof filterTypes)[number]
  readonly required: boolean
  readonly default?: unknown
  readonly options: readonly string[]
  readonly doctype?: string
  readonly description: string
  /** Declarative reports: the field that it narrows, and the operator. */
  readonly field?: string
  readonly operator: Operator
}

/** A column of a declarative report; the statement of an SQL report names its own. */
export interface ReportColumn {
  readonly name: string
  readonly label: string
  /** Declarative reports: the field it shows or aggregates. */
  readonly field?: string
  readonly aggregate?: AggregateFunction
}

/** The functions over a group of documents, for the tool `aggregate` and for reports alike. */
export const aggregateFunctions = ['count', 'sum', 'avg', 'min', 'max'] as const
/** The function that calculates one column of a group. */
export type AggregateFunction = (typeof aggregateFunctions)[number]

/** A report: a question that the site has already formulated. */
export interface Report extends Pick<Doctype, 'translations'> {
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
  /** The roles that may run it; empty: everyone who may report on the doctype. */
  readonly roles: readonly string[]
  readonly maxRows: number
  /** Seconds for which the result is kept; the report then runs in the background. */
  readonly cacheSeconds?: number
  readonly source: string
}

/** The most that an OAuth client may use, whoever it acts for. */
export interface ClientLimit {
  /** Client ids or names; `*` at the end matches any ending. */
  readonly clients: readonly string[]
  readonly roles?: readonly string[]
  readonly tools?: readonly string[]
  readonly source: string
}

/** The immutable reading of the site's doctypes, workflows, reports and people. */
export interface Platform {
  /** A digest that is equal for equal readings of the site. */
  readonly digest: string
  readonly people: People
  readonly doctypes: ReadonlyMap<string, Doctype>
  /** The workflows by doctype. */
  readonly workflows: ReadonlyMap<string, Workflow>
  readonly reports: ReadonlyMap<string, Report>
  readonly clientLimits: readonly ClientLimit[]
  /** Names of fields that some readers of their documents may not see: the audit log keeps no value of theirs. */
  readonly confidential: ReadonlySet<string>
  /** By language, the same platform for people who read it, in the words that the site has for them. */
  readonly translated: ReadonlyMap<string, Platform>
}
