/** What a person has changed in a form, and what others have changed meanwhile in what it is about. */
import { sha256 } from '#leaf/secrets.ts'
import type { Params } from './requests.ts'
import { inputText, type Reader, type TypedField } from './reader.ts'
import {
  type FormState,
  nameIn,
  type ShownForm,
  shownForm,
  type ShownInput,
  storedRows,
  textIn,
} from './typed-form.ts'

type Values = Readonly<Record<string, unknown>>

/** Returns the text of a stored value in the same form. */
function textOf(field: TypedField, value: unknown, reader: Reader): string {
  if (field.kind === 'several') return Array.isArray(value) ? value.join('\n') : ''
  if (field.kind !== 'table') return inputText(field, value, reader)
  const columns = (field.columns ?? []).filter(({ fixed }) => !fixed)
  return JSON.stringify(
    storedRows(value).map((row) => [
      nameIn(row),
      ...columns.map((column) => inputText(column, row[column.name], reader)),
    ]),
  )
}

/** Returns marks of the values with which a form begins, by which it is seen later what somebody has changed in it. */
export function marksOf(fields: readonly TypedField[], values: Values, reader: Reader): string {
  const open = fields.filter(({ fixed }) => !fixed)
  return open.map((field) => mark(textOf(field, values[field.name], reader))).join(' ')
}

/** Returns the fields that the person has changed since the form was made. */
export function touchedIn(form: Params, fields: readonly TypedField[]): readonly TypedField[] {
  const marks = (form.get('began') ?? '').split(' ')
  const open = fields.filter(({ fixed }) => !fixed)
  return open.filter((field, index) => mark(textIn(field, `f.${field.name}`, form)) !== marks[index])
}

/**
 * Returns a form with what was typed, where others have changed what it is about meanwhile: what they changed is taken over,
 * or stands beside what was typed, as `said` words it.
 */
export function formMeanwhile(
  fields: readonly TypedField[],
  state: FormState,
  said: (name: string) => string,
): ShownForm {
  const typed = shownForm(fields, state)
  const { form, values = {}, reader } = state
  const stored = shownForm(fields, { values, reader }).inputs
  const touched = new Set(form ? touchedIn(form, fields) : [])
  const inputs = typed.inputs.map((input, index): ShownInput => {
    const now = stored[index]!
    if (input.fixed) return input
    if (!touched.has(fields[index]!)) return { ...now, problem: input.problem }
    return input.kind === 'table' || input.text === now.text ? input : { ...input, now: said(input.name) }
  })
  return { ...typed, inputs }
}

function mark(text: string): string {
  return sha256(text).slice(0, 10)
}
