/** The pages on which a document is made and changed, by the one form. */
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Principal } from '../../core/principal.ts'
import { getDocument } from '../../documents/asking/reading.ts'
import { type DocumentForm, documentForm, newDocumentForm } from '../../documents/forms.ts'
import { pathPart } from '#ui/requests.ts'
import { choicesFor, typedFields } from './document-inputs.ts'
import { addressOf } from './document-page.ts'
import { changesBetween, shownValue } from './document-words.ts'
import { looked } from './documents-endpoint.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import { type Deed, type OwnPage, problemsOf, type Visit } from '../own-page.ts'
import { type Reader, type TypedField, markedForm, touchedIn, givenIn, withoutBlanks } from '#ui/forms.ts'
import { principalAt } from '../session-middleware.ts'
import { usableTool, useTool } from './use-tool.ts'
import { documentsFor } from './viewing.ts'
import { readerOf } from '../views.ts'

/** The most bytes of a form, in which a character of three bytes takes nine. */
const largestForm = 1_000_000

/** The document that a page is about; a new one has no name. */
interface Place {
  readonly doctype: string
  readonly name?: string
}

type Values = Readonly<Record<string, unknown>>

function placeOf({ ctx }: Visit): Place {
  const name = pathPart(ctx, 'name')
  return { doctype: pathPart(ctx, 'doctype'), ...(name !== '' && { name }) }
}

/** Makes the page that changes a document, and the one that makes a new one. */
export function documentFormPage(deps: UserPageDeps): OwnPage {
  return {
    script: true,
    largest: largestForm,
    show: async (visit) => {
      const place = placeOf(visit)
      const target = place.name === undefined ? place.doctype : `${place.doctype}/${place.name}`
      return looked(deps, principalAt(visit, deps), { target }, async (documents, principal) => {
        requireTool(deps, principal, place)
        const form = await formAt(deps, principal, place)
        const fields = typedFields(form)
        // Who may change nothing is told on the document's own page, by what it does not offer.
        if (fields.every(({ fixed }) => fixed)) throw notHere()
        const reader = readerOf(visit.ctx)
        const { inputs, ...shown } = formOf(form, fields, { visit, reader })
        return {
          ...place,
          ...shown,
          modified: form.modified,
          key: randomId(),
          asksName: form.asksName,
          name: place.name ?? visit.form?.get('name') ?? '',
          isNew: place.name === undefined,
          inputs: inputs.filter(({ fixed, kind }) => !fixed || kind !== 'table'),
          choices: await choicesFor(documents, principal, fields),
        }
      })
    },
    deeds: { save: saving(deps) },
  }
}

function requireTool(deps: UserPageDeps, principal: Principal, { name }: Place): void {
  if (usableTool(deps, principal, name === undefined ? 'create_document' : 'update_document')) return
  throw notHere()
}

function notHere(): AppError {
  return new AppError('forbidden', 'you may change nothing in this document')
}

function formAt(
  deps: UserPageDeps,
  principal: Principal,
  { doctype, name }: Place,
): DocumentForm | Promise<DocumentForm> {
  const documents = documentsFor(principal, deps)
  return name === undefined
    ? newDocumentForm(documents, principal, doctype)
    : documentForm(documents, principal, doctype, name)
}

const valuesOf = ({ fields }: DocumentForm): Values =>
  Object.fromEntries(fields.map(({ field, value }) => [field.name, value]))

/** Returns the form with what each field holds, in words. */
function formOf(
  form: DocumentForm,
  fields: readonly TypedField[],
  { visit, reader }: { readonly visit: Visit; readonly reader: Reader },
) {
  const values = valuesOf(form)
  const said = (name: string): string => {
    const { field } = form.fields.find((one) => one.field.name === name)!
    return shownValue(field, values[name], reader, values).value
  }
  const state = { values, reader, problems: problemsOf(visit), form: visit.form }
  return markedForm(fields, state, { isStale: (visit.form?.get('modified') ?? '') !== form.modified, said })
}

function saving(deps: UserPageDeps): Deed {
  return {
    run: async (visit, form) => {
      // More rows are asked for, and nothing is to be saved yet.
      if (form.get('more') !== undefined) return { once: {} }
      const place = placeOf(visit)
      const principal = principalAt(visit, deps)
      const reader = readerOf(visit.ctx)
      const asked = await formAt(deps, principal, place)
      const fields = typedFields(asked)
      const isNew = place.name === undefined
      const values = valuesOf(asked)
      const given = givenIn(form, isNew ? fields : touchedIn(form, fields, reader), { values, reader })
      // A new document leaves out what is blank, so that its defaults are filled in.
      const data = isNew ? withoutBlanks(given) : given
      const name = form.get('name')
      const args = isNew
        ? { doctype: place.doctype, data: { ...data, ...(asked.asksName && name !== undefined && { name }) } }
        : { ...place, data, expected_modified: form.get('modified') ?? '' }
      const tool = isNew ? 'create_document' : 'update_document'
      const confirmed = form.get('confirmed') !== undefined
      if (usableTool(deps, principal, tool)?.confirm !== 'never' && !confirmed) {
        const tried = await useTool(deps, principal, tool, { ...args, dry_run: true })
        return { once: { confirm: { changes: await changesOf(deps, principal, place, { tried, reader }) } } }
      }
      const result = await useTool(deps, principal, tool, args, { key: form.get('key'), confirmed })
      const saved = typeof result['name'] === 'string' ? result['name'] : (place.name ?? '')
      return { to: `${addressOf({ doctype: place.doctype, name: saved })}?saved` }
    },
  }
}

async function changesOf(
  deps: UserPageDeps,
  principal: Principal,
  { doctype, name }: Place,
  { tried, reader }: { readonly tried: Values; readonly reader: Reader },
) {
  const documents = documentsFor(principal, deps)
  const before = name === undefined ? {} : await getDocument(documents, principal, doctype, name)
  const after = (tried['data'] ?? {}) as Values
  return changesBetween(documents, documents.platform.doctypes.get(doctype)!, { before, after }, reader)
}
