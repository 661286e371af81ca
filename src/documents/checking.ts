/** What must hold of a document that is saved. */
import { specificationFault } from '../core/chart-specification.ts'
import { show } from '../core/values.ts'
import { hasAttachment } from './belongings.ts'
import type { Change, Values } from './change.ts'
import { all, compared } from '../core/conditions.ts'
import { equal } from '../core/expression-values.ts'
import { holds } from './expression.ts'
import { collectionFor } from './documents.ts'
import { accessTo, expressionUser } from './permission.ts'
import type { Doctype, Field } from './platform.ts'
import type { StoredDocument } from './stored.ts'

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
    // What stands there already is not checked again: a document must stay savable after the target of its
    // link was closed to the user.
    if (field.required && isEmpty(value)) missing.push(field.name)
    if (field.type === 'table') await checkRows(change, field, document, before, missing)
    else if (!isEmpty(value) && !equal(value, before?.[field.name]))
      await checkValue(change, field, value, document)
    if (field.name === access.doctype.parentField && !isEmpty(value)) await checkTree(change, field, document)
    if (field.unique && !isEmpty(value) && !equal(value, before?.[field.name]))
      await checkUnique(change, field, document)
  }
  if (missing.length > 0)
    problems.push(`${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} required`)
  checkRules(change, access.doctype, document)
}

/** What the author of a doctype says of its documents, or of rows, which are told by their place. */
function checkRules(
  { problems, work: { documents, principal } }: Change,
  { validations }: Doctype,
  doc: Values,
  place = '',
): void {
  const scope = { doc, user: expressionUser(principal), now: documents.clock.now() }
  for (const { rule, message } of validations) if (!holds(rule, scope)) problems.push(place + message)
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
  const old = new Map(rowsOf(before?.[field.name]).map((row) => [row['name'], row]))
  for (const [index, row] of rowsOf(document[field.name]).entries()) {
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

/** A link must lead to a document that the principal may read: otherwise an error would tell that there is one. */
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
  const access = doctype && !doctype.child ? accessTo(principal, doctype, documents.clock.now()) : undefined
  const linked = access?.may('read')
    ? await collectionFor(documents, doctype!, tx).get(String(value))
    : undefined
  if (!linked || !access!.allows('read', linked)) {
    const kind = doctype && access?.may('read') ? doctype.name : 'document'
    problems.push(
      `${path}: there is no ${kind} ${show(value)} that you may read${kind === 'document' ? '' : ' (search_link finds names)'}`,
    )
  } else if (linked.docstatus === 2) problems.push(`${path}: ${doctype!.name} ${show(value)} is cancelled`)
}

/** A longer chain of parents counts as a circle: no real tree is so deep, and the walk has to end. */
const deepest = 100

/** In a tree nothing stands below itself. */
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

/** An attachment field names a file that hangs on the document itself. */
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

/** Cancelled documents do not count, because the amended copy carries the same value. */
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

function rowsOf(value: unknown): Values[] {
  return Array.isArray(value) ? (value as Values[]) : []
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
