/** What a person may do with a document, for pages that offer it. The verbs decide again when it is done. */
import type { Principal } from '../core/principal.ts'
import { versionOf, viewOf, type DocumentView } from './asking/reading.ts'
import { accessFor, type Documents, readable, requireAction, type Reach } from './documents.ts'
import { type Access, maskMarker } from './permission.ts'
import type { Doctype, Field } from './platform/platform.ts'
import { defaultOf } from './writing/change.ts'
import { newBy } from './writing/lifecycle.ts'
import { isClosed } from './writing/rows.ts'
import type { StoredDocument } from './writing/stored.ts'
import { availableActions, stateClosedTo } from './writing/workflow.ts'

/** A field of a form: what it holds as its reader may see it, and whether they may change it. */
export interface FormField {
  readonly field: Field
  readonly value: unknown
  readonly settable: boolean
  /** The columns of a table that the reader knows, with those that they may set. */
  readonly columns: readonly { readonly field: Field; readonly settable: boolean }[]
}

/** A form for a document, new or stored. */
export interface DocumentForm {
  readonly doctype: Doctype
  readonly fields: readonly FormField[]
  /** What tells its versions apart, such as the moment of the last change; empty for a new document. */
  readonly modified: string
  /** True when the person gives a new document its name. */
  readonly asksName: boolean
}

/** Returns the form for a new document, filled in with what it begins with. AppError `not_found` or `forbidden`. */
export function newDocumentForm(documents: Documents, principal: Principal, doctype: string): DocumentForm {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'create')
  const work = { documents, principal }
  const blank: StoredDocument = { id: '', ...newBy(work) }
  const fields = [...access.doctype.fields.values()]
    .filter((field) => access.knows(field) && isAsked(field))
    .map((field) => formField(access, field, { document: blank, action: 'create' }))
    .filter(({ settable }) => settable)
    .map((one) => ({ ...one, value: defaultOf({ work, access }, one.field) }))
  return { doctype: access.doctype, fields, modified: '', asksName: access.doctype.naming.rule === 'prompt' }
}

/** Returns the form for a stored document. AppError `not_found`; a document that may not be changed has no field that may. */
export async function documentForm(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
): Promise<DocumentForm> {
  const access = accessFor(documents, principal, doctype)
  const document = await readable(access, name)
  const view = viewOf(access, document)
  const open = mayChange(access, document)
  const fields = [...access.doctype.fields.values()]
    .filter((field) => field.computed === undefined && access.shows(field, document) !== 'hidden')
    .map((field) => {
      const one = formField(access, field, { document, action: 'write' })
      const settable = open && one.settable && (document.docstatus !== 1 || field.allowOnSubmit)
      return { ...one, settable, value: view[field.name] }
    })
    .filter(({ settable, value }) => settable || (value !== undefined && value !== maskMarker))
  return { doctype: access.doctype, fields, modified: versionOf(access, document), asksName: false }
}

/** What a person may do with one document. */
export interface PossibleDeeds {
  readonly document: DocumentView
  /** What it is compared with before something that was confirmed is done. */
  readonly version: string
  readonly submittable: boolean
  /** The verbs that are open to them, such as `submit`. */
  readonly verbs: ReadonlySet<
    'change' | 'submit' | 'cancel' | 'amend' | 'delete' | 'comment' | 'assign' | 'attach'
  >
  /** The actions of its workflow. */
  readonly moves: readonly { readonly action: string; readonly next_state: string }[]
}

/** Tells what the principal may do with a document. AppError `not_found`. */
export async function possibleDeeds(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
): Promise<PossibleDeeds> {
  const access = accessFor(documents, principal, doctype)
  const document = await readable(access, name)
  const workflow = documents.platform.workflows.get(doctype)
  const { submittable } = access.doctype
  const { docstatus } = document
  const open = {
    change: mayChange(access, document) && (docstatus !== 1 || hasOpenField(access)),
    submit: submittable && !workflow && docstatus === 0 && access.allows('submit', document),
    cancel: submittable && !workflow && docstatus === 1 && access.allows('cancel', document),
    amend: submittable && docstatus === 2 && access.allows('amend', document) && access.may('create'),
    delete: docstatus !== 1 && access.allows('delete', document),
    comment: access.allows('comment', document),
    assign: access.allows('assign', document),
    attach: access.allows('write', document),
  }
  type Verb = keyof typeof open
  return {
    document: viewOf(access, document),
    version: versionOf(access, document),
    submittable,
    verbs: new Set((Object.keys(open) as Verb[]).filter((verb) => open[verb])),
    moves: workflow ? availableActions(access, workflow, document) : [],
  }
}

function mayChange(access: Reach, document: StoredDocument): boolean {
  return document.docstatus !== 2 && access.allows('write', document) && !stateClosedTo(access, document)
}

function hasOpenField({ doctype }: Access): boolean {
  return [...doctype.fields.values()].some(({ allowOnSubmit }) => allowOnSubmit)
}

function isAsked({ readOnly, computed, type }: Field): boolean {
  return !readOnly && computed === undefined && type !== 'attachment'
}

function formField(
  access: Reach,
  field: Field,
  { document, action }: { readonly document: StoredDocument; readonly action: 'create' | 'write' },
): Omit<FormField, 'value'> {
  const settable = (one: Field): boolean =>
    isAsked(one) && !isClosed(one, action) && access.mayset(one, action, document)
  const columns =
    field.type === 'table' ? [...access.documents.platform.doctypes.get(field.doctype!)!.fields.values()] : []
  return {
    field,
    settable: settable(field),
    columns: columns
      .filter((column) => access.knows(column) && !access.masks(column))
      .map((column) => ({ field: column, settable: settable(column) })),
  }
}
