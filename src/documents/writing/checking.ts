/** Checks the demands on a document that is saved. */
import { specificationFault } from '#sandbox/chart-specification.ts'
import { show } from '../../core/values.ts'
import { hasAttachment } from '../belongings.ts'
import type { Change, Values } from './change.ts'
import { all, compared, equal } from '#state/questions.ts'
import { holds } from '#state/questions.ts'
import { collectionFor, reachOf } from '../documents.ts'
import { expressionUser } from '../permission.ts'
import type { Doctype, Field } from '../platform/platform.ts'
import { isClosed, settableNames } from './rows.ts'
import { type StoredDocument, rowsIn } from './stored.ts'

/** Checks that required values are there, links lead somewhere the principal may see, and the rules hold. */
export async function checkStored(
  change: Change,
  document: StoredDocument,
  before: StoredDocument | undefined,
): Promise<void> {
  const { access, problems } = change
  const missing: string[] = []
  for (const field of access.doctype.fields.values()) {
    const value = document[field.name]
    // An unchanged value is not checked again: a document must stay savable after the target of its
    // link was closed to the user.
    if (field.required && isEmpty(value) && !isFilledThere(change, field)) missing.push(field.name)
    if (field.type === 'table') await checkRows(change, field, document, before, missing)
    else if (!isEmpty(value) && !equal(value, before?.[field.name]))
      await checkValue(change, field, value, document)
    if (field.name === access.doctype.parentField && !isEmpty(value)) await checkTree(change, field, document)
    if (field.unique && !isEmpty(value) && !equal(value, before?.[field.name]))
      await checkUnique(change, field, document)
  }
  if (missing.length > 0)
    problems.push(
      `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} required${takenBy(change, missing)}`,
    )
  checkRules(change, access.doctype, document)
}

/** Says what fields take that take more than a plain value. */
function takenBy({ access, work }: Change, names: readonly string[]): string {
  const taken = names.flatMap((name) => {
    const { type, doctype } = access.doctype.fields.get(name) ?? {}
    if (doctype === undefined) return []
    const columns = work.documents.platform.doctypes.get(doctype)!
    return type === 'table'
      ? `${name} takes objects with ${settableNames(access, columns).join(', ')}`
      : `${name} takes the name of a ${doctype}, as search_link finds it`
  })
  return taken.length > 0 ? ` (get_doctype_info tells more: ${taken.join(', ')})` : ''
}

/** Checks the validation rules of a doctype on a document, or on a row, whose place begins the message; not those about a value that is missing. */
function checkRules(
  { problems, work: { documents, principal } }: Change,
  { validations, fields }: Doctype,
  doc: Values,
  place = '',
): void {
  const scope = { doc, user: expressionUser(principal), now: documents.clock.now() }
  const isMissing = (name: string): boolean => fields.get(name)?.required === true && isEmpty(doc[name])
  for (const { rule, message } of validations)
    if (!holds(rule, scope) && !rule.fields.some(isMissing)) problems.push(place + message)
}

async function checkValue(
  change: Change,
  field: Field,
  value: unknown,
  document: StoredDocument,
): Promise<void> {
  if (field.type === 'attachment') return checkAttachment(change, field.name, value, document)
  if (field.content !== 'vega-lite') return checkLink(change, field, field.name, value, document)
  const fault = specificationFault(value)
  if (fault !== undefined) change.problems.push(`${field.name}: ${fault}`)
}

async function checkRows(
  change: Change,
  field: Field,
  document: StoredDocument,
  before: StoredDocument | undefined,
  missing: string[],
): Promise<void> {
  const columns = change.work.documents.platform.doctypes.get(field.doctype!)!
  const old = new Map(rowsIn(before?.[field.name]).map((row) => [row['name'], row]))
  for (const [index, row] of rowsIn(document[field.name]).entries()) {
    for (const column of columns.fields.values()) {
      const path = `${field.name}[${index}].${column.name}`
      const value = row[column.name]
      if (column.required && isEmpty(value)) missing.push(path)
      if (!isEmpty(value) && !equal(value, old.get(row['name'])?.[column.name]))
        await (column.type === 'attachment'
          ? checkAttachment(change, path, value, document)
          : checkLink(change, column, path, value, row))
    }
    checkRules(change, columns, row, `${field.name}[${index}]: `)
  }
}

/** Checks a link: it must lead to a document that the principal may read; another error would reveal that there is one. */
async function checkLink(
  change: Change,
  field: Field,
  path: string,
  value: unknown,
  holder: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (field.type !== 'link' && field.type !== 'dynamic_link') return
  const { problems } = change
  const { documents, principal, tx } = change.work
  const target = field.type === 'link' ? field.doctype! : holder[field.doctypeField!]
  const doctype = typeof target === 'string' ? documents.platform.doctypes.get(target) : undefined
  const access = doctype && !doctype.child ? reachOf(documents, principal, doctype) : undefined
  const linked = access?.may('read') ? await access.collection(tx).get(String(value)) : undefined
  if (!linked || !access!.allows('read', linked)) {
    const kind = doctype && access?.may('read') ? doctype.name : 'document'
    problems.push(
      `${path}: there is no ${kind} ${show(value)} that you may read${kind === 'document' ? '' : ' (search_link finds names)'}`,
    )
  } else if (linked.docstatus === 2) problems.push(`${path}: ${doctype!.name} ${show(value)} is cancelled`)
}

/** The longest chain of parents; a longer one counts as a cycle: no real tree is so deep, and the walk has to end. */
const deepest = 100

/** Checks that no document of a tree is its own ancestor. */
async function checkTree(change: Change, field: Field, document: StoredDocument): Promise<void> {
  const { documents, tx } = change.work
  const collection = collectionFor(documents, change.access.doctype, tx)
  let above = document[field.name]
  for (let level = 0; level < deepest; level++) {
    if (typeof above !== 'string' || above === '') return
    if (above === document.id) break
    above = (await collection.get(above))?.[field.name]
  }
  change.problems.push(
    `${field.name}: ${change.access.doctype.name} "${document.id}" would stand below itself`,
  )
}

/** Checks that an attachment field names a file attached to the document itself. */
async function checkAttachment(
  change: Change,
  path: string,
  value: unknown,
  document: StoredDocument,
): Promise<void> {
  const { doctype } = change.access
  if (typeof value === 'string' && (await hasAttachment(change.work, doctype.name, document.id, value)))
    return
  change.problems.push(
    `${path}: no file ${show(value)} is attached to the document (attach_file first, then set it)`,
  )
}

/** Checks that a value is unique; cancelled documents do not count, because the amended copy carries the same value. */
async function checkUnique(change: Change, field: Field, document: StoredDocument): Promise<void> {
  const same = await collectionFor(change.work.documents, change.access.doctype, change.work.tx).find({
    holds: all(
      compared(field.name, '=', document[field.name]),
      compared('id', '!=', document.id),
      compared('docstatus', '!=', 2),
    ),
    limit: 1,
  })
  if (same.length > 0)
    change.problems.push(`${field.name}: ${show(document[field.name])} cannot be used, it must be unique`)
}

/** True for a field that the table of others gives a value, since nobody here can. */
function isFilledThere({ access, action }: Change, field: Field): boolean {
  return access.doctype.origin !== undefined && isClosed(field, action)
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
