/** What somebody asks of a list of documents: words, filters by type, an order, columns, and the page. */
import type { Principal } from '../../core/principal.ts'
import { accessFor, type Documents } from '../../documents/documents.ts'
import type { Field } from '../../documents/platform/platform.ts'
import { standardFields, standardOf } from '../../documents/platform/standard-fields.ts'
import { comparableField } from '../../documents/asking/filters.ts'
import { typedField } from './document-inputs.ts'
import { filterInputs, type ListAskable, type ListQuestion } from '#ui/lists.ts'
import { type Reader, type TypedField, choiceOf } from '#ui/forms.ts'

/** A field by which documents are asked for and shown. */
export type AskedField = Pick<Field, 'name' | 'label' | 'type'> & Partial<Field>

/** The most documents before those of a page that words have found. */
export const mostOffset = 1000

/** The inputs of the filters of a doctype, and the fields that may be shown in columns. */
export type Askable = ListAskable<AskedField>

/** Returns by what a doctype's documents can be asked for by this principal. */
export function askableOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { messages: said }: Reader,
): Askable {
  const access = accessFor(documents, principal, doctype)
  const standard = [...standardOf(access.doctype)]
    .filter(([name]) => name !== 'name' && (name !== 'docstatus' || access.doctype.submittable))
    .map(([name, type]) => ({ name, type, label: said.text(`documents.field_${name}`) }))
  const known: AskedField[] = [...access.doctype.fields.values()].filter((field) => access.knows(field))
  const fields = [...known, ...standard].filter(({ type }) => !['table', 'long_text', 'json'].includes(type))
  const inputs = [...known, ...standard]
    .filter(({ name }) => typeof comparableField(access, name) !== 'string')
    .flatMap((field) => inputsFor(field, said.text))
  return { inputs, fields }
}

/** Returns the inputs by which a field is asked for. */
export function inputsFor(field: AskedField, word: (name: string) => string): TypedField[] {
  const { description: _, required: __, longest: ___, ...plain } = typedField(field)
  if (plain.name !== 'docstatus') return filterInputs(plain, word)
  const states = ['Draft', 'Submitted', 'Cancelled']
  return [{ ...plain, ...choiceOf(states.map((one, state) => [one, word(`documents.state_${state}`)])) }]
}

/** Returns the columns of a list: those chosen, else those by which people know a document, and what was asked. */
export function columnsFor(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { columns, filters, order }: ListQuestion,
  { fields }: Askable,
): readonly AskedField[] {
  if (columns.length > 0) return fields.filter(({ name }) => columns.includes(name))
  const { titleField, searchFields } = accessFor(documents, principal, doctype).doctype
  const own = fields.filter(({ name }) => !standardFields.has(name))
  const of = (type: Field['type']): AskedField[] => own.filter((field) => field.type === type)
  const byName = (names: readonly (string | undefined)[]): AskedField[] =>
    names.flatMap((name) => fields.find((field) => field.name === name) ?? [])
  const asked = byName([...filters.map(([field]) => field), order.replace(' desc', '')])
  const best = [
    ...byName([titleField]),
    ...asked,
    ...of('select').slice(0, 1),
    ...of('date').slice(0, 1),
    ...of('currency').slice(-1),
    ...byName(searchFields),
    ...own,
  ]
  return [...new Set(best)].slice(0, Math.max(6, asked.length + 2))
}
