/** What a person has changed in a form, and what others have changed meanwhile in what it is about. */
import { sha256 } from '#leaf/secrets.ts'
import type { Params } from './requests.ts'
import type { Reader, TypedField } from './reader.ts'
import { type FormState, type ShownForm, shownForm, type ShownInput } from './typed-form.ts'

/** Returns what an input holds as one text: what a form begins with, or what was typed. */
function textOf({ kind, text, chosen, rows }: ShownInput): string {
  if (kind === 'several') return chosen.join('\n')
  if (kind !== 'table') return text
  const cells = rows.map((row) => [
    row.name + (row.isDeleted ? '-' : ''),
    ...row.cells.filter(({ fixed }) => !fixed).map(textOf),
  ])
  return JSON.stringify(cells.filter((row) => row.some((cell) => cell !== '')))
}

function marksIn(fields: readonly TypedField[], state: FormState): string[] {
  const open = fields.filter(({ fixed }) => !fixed)
  return shownForm(open, state).inputs.map((input) => sha256(textOf(input)).slice(0, 10))
}

/** Returns marks of the values with which a form begins, by which it is seen later what somebody has changed in it. */
export function marksOf(fields: readonly TypedField[], values: FormState['values'], reader: Reader): string {
  return marksIn(fields, { values, reader }).join(' ')
}

/** Returns the fields that the person has changed since the form was made; of a password, when one was typed. */
export function touchedIn(
  form: Params,
  fields: readonly TypedField[],
  reader: Reader,
): readonly TypedField[] {
  const began = (form.get('began') ?? '').split(' ')
  const marks = marksIn(fields, { form, reader })
  const open = fields.filter(({ fixed }) => !fixed)
  return open.filter(({ kind, name }, index) =>
    kind === 'password' ? form.get(`f.${name}`) !== undefined : marks[index] !== began[index],
  )
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
  const touched = new Set(form ? touchedIn(form, fields, reader) : [])
  const inputs = typed.inputs.map((input, index): ShownInput => {
    const now = stored[index]!
    if (input.fixed) return input
    if (!touched.has(fields[index]!)) return { ...now, problem: input.problem }
    return input.kind === 'table' || input.text === now.text ? input : { ...input, now: said(input.name) }
  })
  return { ...typed, inputs }
}
