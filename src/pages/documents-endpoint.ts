/** Documents for people: which kinds there are, lists with filters, one with all that belongs to it. It only reads. */
import type { Context, Middleware } from 'koa'
import type { Principal } from '../core/principal.ts'
import { answerPage } from '../oauth/browser-middleware.ts'
import { paths } from '../oauth/urls.ts'
import { forUsers, partsBelow, type UserPageDeps } from './desk-endpoint.ts'

/** Which documents somebody looks for, and after which row the page begins. */
export interface RecordQuestion {
  readonly filters: readonly { readonly field: string; readonly operator: string; readonly value: string }[]
  readonly after?: string
}

/** Where a document is. */
export interface Place {
  readonly doctype: string
  readonly name: string
}

/** A value as a page shows it. */
export interface ShownField {
  readonly label: string
  readonly value: string
  readonly link?: Place
  /** Whether it is a moment, which everybody reads in their own time. */
  readonly isTime?: true
}

/** The head of a column; numbers stand below each other. */
export interface ShownColumn {
  readonly label: string
  readonly isNumber: boolean
}

/** The rows of a document in one of its tables. */
export interface ShownTable {
  readonly label: string
  readonly columns: readonly ShownColumn[]
  readonly rows: readonly (readonly string[])[]
}

/** Where the pages get what they show; AppError `not_found` for what the principal may not see. */
export interface Records {
  doctypes(
    principal: Principal,
  ): Promise<readonly { readonly doctype: string; readonly module: string; readonly description: string }[]>
  list(
    principal: Principal,
    doctype: string,
    question: RecordQuestion,
  ): Promise<{
    readonly columns: readonly ShownColumn[]
    /** What can be filtered by. */
    readonly fields: readonly string[]
    readonly rows: readonly { readonly name: string; readonly cells: readonly string[] }[]
    readonly total: number
    /** Whether there are more than were counted. */
    readonly moreThanTotal: boolean
    /** What the next page begins after; empty when this is the last. */
    readonly next: string
  }>
  one(
    principal: Principal,
    doctype: string,
    name: string,
  ): Promise<{
    readonly title: string
    /** Of a doctype that is submitted: 0 a draft, 1 submitted, 2 cancelled. */
    readonly state: unknown
    /** Who made it and who changed it last, and when. */
    readonly times: readonly {
      readonly word: 'made' | 'changed'
      readonly user: string
      readonly time: string
    }[]
    readonly fields: readonly ShownField[]
    readonly tables: readonly ShownTable[]
    /** The documents that link to this one. */
    readonly links: readonly Place[]
    readonly comments: readonly { readonly user: string; readonly time: string; readonly text: string }[]
    readonly assignments: readonly { readonly user: string; readonly time: string; readonly note: string }[]
    readonly files: readonly { readonly id: string; readonly file_name: string; readonly bytes: number }[]
    readonly history: readonly {
      readonly time: string
      readonly user: string
      readonly action: string
      readonly note: string
      readonly changes: readonly { readonly label: string; readonly from: string; readonly to: string }[]
    }[]
  }>
  file(
    principal: Principal,
    doctype: string,
    name: string,
    id: string,
  ): Promise<{ readonly name: string; readonly bytes: Buffer }>
}

/** What the pages work with. */
export interface DocumentsDeps extends UserPageDeps {
  readonly records: Records
}

const operators = ['=', '!=', 'like', '>', '>=', '<', '<='] as const
const mostFilters = 5
/** What is done to documents everywhere, in the words of every language; workflows have words of their own. */
const acts = 'create update submit cancel amend comment assign unassign attach detach'.split(' ')

/** GET: the kinds of documents. */
export function doctypesEndpoint(deps: DocumentsDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const doctypes = await deps.records.doctypes(principal)
    answerPage(ctx, 200, deps.render(ctx, 'documents', { doctypes }))
  })
}

/** GET: a page of the documents of one kind. */
export function recordsEndpoint(deps: DocumentsDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const [doctype = ''] = partsBelow(ctx, paths.documents)
    const filters = filtersOf(ctx)
    const after = new URLSearchParams(ctx.querystring).get('after') ?? undefined
    const page = await deps.records.list(principal, doctype, { filters, ...(after && { after }) })
    const again = new URLSearchParams()
    for (const filter of filters)
      for (const [name, value] of Object.entries(filter)) again.append(name, value)
    const query = again.toString()
    const blank = { field: '', operator: '=', value: '' }
    const asked = filters.length < mostFilters ? [...filters, blank] : filters
    const view = { doctype, ...page, asked, operators, query, isFirst: after === undefined }
    answerPage(ctx, 200, deps.render(ctx, 'records', view))
  })
}

/** GET: one document. */
export function recordEndpoint(deps: DocumentsDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const [doctype = '', name = ''] = partsBelow(ctx, paths.documents)
    const record = await deps.records.one(principal, doctype, name)
    answerPage(ctx, 200, deps.render(ctx, 'record', { doctype, name, acts, ...record }))
  })
}

/** GET: a file on a document, to be kept and never shown as a page of ours. */
export function fileEndpoint(deps: DocumentsDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const [doctype = '', name = '', , id = ''] = partsBelow(ctx, paths.documents)
    const file = await deps.records.file(principal, doctype, name, id)
    ctx.status = 200
    ctx.type = 'application/octet-stream'
    ctx.attachment(file.name)
    ctx.body = file.bytes
  })
}

/** Fields that were left blank ask nothing. */
function filtersOf(ctx: Context): RecordQuestion['filters'] {
  const asked = new URLSearchParams(ctx.querystring)
  const [fields, given, values] = ['field', 'operator', 'value'].map((name) => asked.getAll(name))
  return fields!
    .map((field, index) => ({
      field,
      operator: operators.find((operator) => operator === given![index]) ?? '=',
      value: values![index] ?? '',
    }))
    .filter(({ field, value }) => field !== '' && value !== '')
    .slice(0, mostFilters)
}
