/** The inputs of documents: a field of a doctype as the one form asks for it, with what a link may lead to. */
import type { Principal } from '../../core/principal.ts'
import { suggestLinks } from '../../documents/asking/searching.ts'
import type { Documents } from '../../documents/documents.ts'
import type { DocumentForm, FormField } from '../../documents/forms.ts'
import type { Field } from '../../documents/platform/platform.ts'
import { AppError } from '#leaf/errors.ts'
import { placesOf } from '../../documents/values.ts'
import { formAt, type Visit } from '../own-page.ts'
import type { InputKind, TypedField } from '#ui/forms.ts'
import { readerOf } from '../views.ts'

const kinds: Readonly<Record<Field['type'], InputKind>> = {
  text: 'line',
  long_text: 'text',
  number: 'number',
  integer: 'number',
  currency: 'number',
  percent: 'number',
  check: 'flag',
  date: 'date',
  datetime: 'datetime',
  select: 'select',
  link: 'link',
  dynamic_link: 'line',
  table: 'table',
  json: 'json',
  attachment: 'line',
}

/** Returns a field as a form asks for it. */
export function typedField(field: Pick<Field, 'name' | 'label' | 'type'> & Partial<Field>): TypedField {
  const { name, label, type, description, required, options, words, doctype, length, precision } = field
  return {
    name,
    label,
    kind: kinds[type],
    description,
    required,
    options,
    words,
    longest: length,
    places: placesOf({ type, ...(precision !== undefined && { precision }) }),
    ...(type === 'link' && { linked: doctype }),
    ...(type === 'datetime' && { instant: true }),
  }
}

/** Returns the fields of a document's form. */
export function typedFields({ fields }: DocumentForm): TypedField[] {
  return fields.map(({ field, settable, columns }: FormField) => ({
    ...typedField(field),
    fixed: !settable,
    ...(field.type === 'table' && {
      columns: columns.map((column) => ({
        ...typedField(column.field),
        fixed: !settable || !column.settable,
      })),
    }),
  }))
}

/** What a person may choose for a link. */
export interface LinkChoices {
  readonly linked: string
  readonly choices: readonly { readonly value: string; readonly label: string }[]
}

const mostChoices = 25

/** Returns the first documents of each doctype that the links of a form may name; with a script there are more, as one types. */
export async function choicesFor(
  documents: Documents,
  principal: Principal,
  fields: readonly TypedField[],
): Promise<LinkChoices[]> {
  const open = fields.flatMap((field) => [field, ...(field.columns ?? [])]).filter(({ fixed }) => !fixed)
  const doctypes = new Set(open.flatMap(({ linked }) => linked ?? []))
  const all = await Promise.all(
    [...doctypes].map(async (linked) => ({
      linked,
      choices: await suggestionsFor(documents, principal, linked, ''),
    })),
  )
  return all
}

/** Suggests documents for a link; none of a doctype that the principal may not read. */
export async function suggestionsFor(
  documents: Documents,
  principal: Principal,
  doctype: string,
  typed: string,
): Promise<LinkChoices['choices']> {
  try {
    const query = { doctype, typed, limit: mostChoices }
    const { suggestions } = await suggestLinks(documents, principal, query)
    return suggestions.map(({ value, label, description }) => ({
      value,
      label: [label === value ? '' : label, description].filter(Boolean).join(', '),
    }))
  } catch (error) {
    if (error instanceof AppError && ['not_found', 'forbidden'].includes(error.code)) return []
    throw error
  }
}

/** Returns the forms of what belongs to a document: whom it is assigned to, a comment, a file. */
export function belongingForms(visit: Visit, asksToAttach: boolean) {
  const { text: word } = readerOf(visit.ctx).messages
  const needed = { needed: true } as const
  return {
    assigning: formAt(visit, 'assign', [
      {
        name: 'user',
        label: word('sign_in.email'),
        kind: 'email',
        longest: 200,
        autocomplete: 'off',
        ...needed,
      },
      { name: 'note', label: word('documents.what_to_do'), kind: 'line', longest: 500 },
    ]),
    commenting: formAt(visit, 'comment', [
      { name: 'comment', label: word('documents.comment'), kind: 'text', longest: 10_000, ...needed },
    ]),
    attaching: formAt(visit, 'attach', [
      {
        name: 'file',
        label: word('documents.file'),
        kind: 'file',
        description: word('documents.largest'),
        ...needed,
      },
      ...(asksToAttach
        ? [{ name: 'confirmed', label: word('form.sure'), kind: 'flag', ...needed } as const]
        : []),
    ]),
  }
}
