/** Documents for people: their kinds, lists with filters, and one with all that belongs to it. Only reads. */
import type { Principal } from '../../core/principal.ts'
import { listDoctypes } from '../../documents/describing.ts'
import type { Documents } from '../../documents/documents.ts'
import { secrecyOf } from '../../documents/work.ts'
import { suggestionsFor } from './document-inputs.ts'
import { answerDownload, answerJson, asked, pathPart } from '#ui/requests.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import { askableOf } from './record-question.ts'
import { questionIn, sheetOf, answerSheet, sheetFormat } from '#ui/lists.ts'
import { fileOf, recordsOf } from './records.ts'
import { readerOf } from '../views.ts'
import type { Showing } from '../route-page.ts'
import { documentsFor, type View, viewed } from './viewing.ts'

/** Answers GET with the kinds of documents. */
export function doctypesEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (_, user) => {
    const doctypes = await looked(deps, user, {}, (documents, principal) =>
      Promise.resolve(listDoctypes(documents, principal).filter(({ allowed }) => allowed.includes('read'))),
    )
    return { doctypes }
  }
}

/** Answers GET with the documents that were asked for, as a file. */
export function exportEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (ctx, user) => {
    const doctype = pathPart(ctx, 'doctype')
    const format = sheetFormat(asked(ctx, 'format') || 'csv')
    const reader = readerOf(ctx)
    const view = { target: doctype, data: { format } }
    const sheet = await looked(deps, user, view, (documents, principal) => {
      const askable = askableOf(documents, principal, doctype, reader)
      const question = questionIn(ctx.querystring, askable, reader)
      return sheetOf(doctype, recordsOf(documents, principal, doctype, { askable, reader }), question)
    })
    await answerSheet(ctx, format, sheet, reader)
  }
}

/** Looks at what is no document, and audits only who may not. */
export async function told<Seen>(
  deps: UserPageDeps,
  user: Principal,
  target: string,
  look: () => Seen,
): Promise<Seen> {
  try {
    return look()
  } catch (error) {
    return looked(deps, user, { target }, () => Promise.reject(error as Error))
  }
}

/** Answers GET with a file on a document, to be saved and never shown as a page of ours. */
export function fileEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (ctx, user) => {
    const [doctype, name, id] = [pathPart(ctx, 'doctype'), pathPart(ctx, 'name'), pathPart(ctx, 'id')]
    const view = { target: `${doctype}/${name}`, data: { file: id } }
    const { attachment, content } = await looked(deps, user, view, (documents, principal) =>
      fileOf(documents, principal, { doctype, name, id }),
    )
    answerDownload(ctx, attachment.file_name, 'application/octet-stream', Buffer.from(content))
  }
}

/** Answers GET, in JSON, with documents that a link may name, for the script that asks while somebody types. */
export function suggestionsEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (ctx, user) => {
    const doctype = pathPart(ctx, 'doctype')
    const typed = asked(ctx, 'typed').slice(0, 200)
    const view = { target: doctype, data: { question: { typed } } }
    const found = await looked(deps, user, view, (documents, principal) =>
      suggestionsFor(documents, principal, doctype, typed),
    )
    answerJson(ctx, 200, found)
  }
}

/** Reads documents for a page, and audits it like every reading. */
export function looked<Seen>(
  deps: UserPageDeps,
  user: Principal,
  view: Pick<View, 'target' | 'data'>,
  look: (documents: Documents, principal: Principal) => Promise<Seen>,
): Promise<Seen> {
  const secrecy = secrecyOf(deps.site.current().documents)
  return viewed(deps.audit, user, { type: 'document.view', ...view, secrecy }, (principal) =>
    look(documentsFor(principal, deps), principal),
  )
}
