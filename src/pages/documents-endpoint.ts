/** Documents for people: which kinds there are, lists with filters, one with all that belongs to it. It only reads. */
import type { Context, Middleware } from 'koa'
import type { Principal } from '../core/principal.ts'
import { listDoctypes } from '../documents/describing.ts'
import type { Documents } from '../documents/documents.ts'
import { answerPage } from '../oauth/browser-middleware.ts'
import { paths } from '../oauth/urls.ts'
import { forUsers, partsBelow, type UserPageDeps } from './desk-endpoint.ts'
import { fileOf, recordOf, recordsOf, type RecordQuestion } from './records.ts'
import { type View, viewed } from './viewing.ts'

const operators = ['=', '!=', 'like', '>', '>=', '<', '<='] as const
const mostFilters = 5
/** What is done to documents everywhere, in the words of every language; workflows have words of their own. */
const acts = 'create update submit cancel amend comment assign unassign attach detach'.split(' ')

/** GET: the kinds of documents. */
export function doctypesEndpoint(deps: UserPageDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const doctypes = await looked(deps, user, {}, (documents, principal) =>
      Promise.resolve(listDoctypes(documents, principal).filter(({ allowed }) => allowed.includes('read'))),
    )
    answerPage(ctx, 200, deps.render(ctx, 'documents', { doctypes }))
  })
}

/** GET: a page of the documents of one kind. */
export function recordsEndpoint(deps: UserPageDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const [doctype = ''] = partsBelow(ctx, paths.documents)
    const filters = filtersOf(ctx)
    const after = new URLSearchParams(ctx.querystring).get('after') ?? undefined
    const question = { filters, ...(after && { after }) }
    const page = await looked(deps, user, { target: doctype, data: { question } }, (documents, principal) =>
      recordsOf(documents, principal, doctype, question),
    )
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
export function recordEndpoint(deps: UserPageDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const [doctype = '', name = ''] = partsBelow(ctx, paths.documents)
    const record = await looked(deps, user, { target: `${doctype}/${name}` }, (documents, principal) =>
      recordOf(documents, principal, doctype, name),
    )
    answerPage(ctx, 200, deps.render(ctx, 'record', { doctype, name, acts, ...record }))
  })
}

/** GET: a file on a document, to be kept and never shown as a page of ours. */
export function fileEndpoint(deps: UserPageDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const [doctype = '', name = '', , id = ''] = partsBelow(ctx, paths.documents)
    const view = { target: `${doctype}/${name}`, data: { file: id } }
    const { attachment, content } = await looked(deps, user, view, (documents, principal) =>
      fileOf(documents, principal, { doctype, name, id }),
    )
    ctx.status = 200
    ctx.type = 'application/octet-stream'
    ctx.attachment(attachment.file_name)
    ctx.body = Buffer.from(content)
  })
}

/** What somebody reads here is told like every reading. */
function looked<Seen>(
  { audit, site }: UserPageDeps,
  user: Principal,
  view: Pick<View, 'target' | 'data'>,
  look: (documents: Documents, principal: Principal) => Promise<Seen>,
): Promise<Seen> {
  return viewed(audit, user, { type: 'document.view', ...view }, (principal) =>
    look(site.current().documents, principal),
  )
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
