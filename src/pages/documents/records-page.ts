/** The page of the documents of one kind: asked for by words, filters and order, kept as views, and changed several at once. */
import type { Needs } from '../../control/operation.ts'
import { accessFor } from '../../documents/documents.ts'
import { pathPart } from '#ui/requests.ts'
import { bulkDeed, bulkOf, tickedIn } from './bulk-deed.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import { choicesFor } from './document-inputs.ts'
import { looked, told } from './documents-endpoint.ts'
import { pageOfRows, seen, shownList } from '#ui/lists.ts'
import type { OwnPage, Visit } from '../own-page.ts'
import { askableOf } from './record-question.ts'
import { headOf, recordsOf } from './records.ts'
import { viewDeeds, listAsker } from '../saved-views.ts'
import { principalAt } from '../session-middleware.ts'
import { usableTool } from './use-tool.ts'
import { documentsFor } from './viewing.ts'
import { readerOf } from '../views.ts'
import { choiceOf } from '#ui/forms.ts'

/** Makes the page. */
export function recordsPage(deps: UserPageDeps & Needs<'accounts'>): OwnPage {
  return {
    script: true,
    show: (visit) => show(visit, deps),
    deeds: { ...viewDeeds(deps), bulk: bulkDeed(deps) },
  }
}

async function show(visit: Visit, deps: UserPageDeps): Promise<Record<string, unknown>> {
  const user = principalAt(visit, deps)
  const doctype = pathPart(visit.ctx, 'doctype')
  const reader = readerOf(visit.ctx)
  const documents = documentsFor(user, deps)
  const askable = await told(deps, user, doctype, () => askableOf(documents, user, doctype, reader))
  const mayMake = accessFor(documents, user, doctype).may('create')
  const file = `/exports/${encodeURIComponent(doctype)}`
  const list = { askable, head: headOf(reader), file }
  return {
    doctype,
    ...bulksFor(bulkOf(deps, documents, user, doctype, reader), reader.messages.text('bulk.what')),
    ticked: tickedIn(visit.form).map(({ name }) => name),
    mayMake: mayMake && usableTool(deps, user, 'create_document') !== undefined,
    ...(await shownList(listAsker(visit, doctype), list, (question) =>
      looked(deps, user, { target: doctype, data: { question: seen(question) } }, async (own, principal) => ({
        ...(await pageOfRows(recordsOf(own, principal, doctype, { askable, reader }), question)),
        choices: await choicesFor(own, principal, askable.inputs),
      })),
    )),
  }
}

/** Returns what may be done to several documents, and the input that asks which of it. */
function bulksFor(bulks: ReturnType<typeof bulkOf>, label: string) {
  const choice = choiceOf(bulks.map((one) => [one.value, one.label]))
  return { bulks, bulkInput: { key: 'do', label, ...choice, text: '' } }
}
