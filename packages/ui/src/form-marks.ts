/** What a person has changed in a form, and what others have changed meanwhile in what it is about. */
import { sha256 } from '#leaf/secrets.ts'
import type { Params } from './requests.ts'
import type { Reader, TypedField } from './reader.ts'
import { type FormState, type ShownForm, shownForm, type ShownInput } from './typed-form.ts'

/** Returns what an input holds as one text: what a form begins with, or what was typed. */
function textOf({ kind, text, chosen, rows }: ShownInput): string {
  if (kind === 'several') return chosen.toSorted().join('\n')
  if (kind !== 'table') return text
  const cells = rows.map((row) => [
    row.name + (row.isDeleted ? '-' : ''),
    ...row.cells.filter(({ fixed }) => !fixed).map(textOf),
  ])
  return JSON.stringify(cells.filter((row) => row.some((cell) => cell !== '')))
}

function marksIn(fields: readonly TypedField[], state: FormState): string[] {
  const open = fields.filter(({ fixed }) => !fixed)
  return shownForm(open, state).inputs.map(markOf)
}

const markOf = (input: ShownInput): string => sha256(textOf(input)).slice(0, 10)

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

/** A form by which it is seen later what somebody has changed in it. */
interface MarkedForm extends ShownForm {
  readonly began: string
  /** The inputs, each with what is stored in words. */
  readonly inputs: readonly (ShownInput & { readonly shown: string })[]
}

/**
 * Returns a form with marks of what it begins with. Where others have changed meanwhile what it is about (`isStale`), what they
 * changed is taken over, or stands beside what was typed, as `said` words it.
 */
export function markedForm(
  fields: readonly TypedField[],
  state: FormState,
  { isStale, said }: { readonly isStale: boolean; readonly said: (name: string) => string },
): MarkedForm {
  const { form, values = {}, reader } = state
  const { inputs, ...typed } = shownForm(fields, state)
  const now = form && isStale ? meanwhile(fields, inputs, { ...state, form, said }) : inputs
  const began = form && !isStale ? (form.get('began') ?? '') : marksOf(fields, values, reader)
  return { ...typed, began, inputs: now.map((input) => ({ ...input, shown: said(input.name) })) }
}

function meanwhile(
  fields: readonly TypedField[],
  typed: readonly ShownInput[],
  state: FormState & { readonly form: Params; readonly said: (name: string) => string },
): ShownInput[] {
  const { form, values = {}, reader, said } = state
  const stored = shownForm(fields, { values, reader }).inputs
  const touched = new Set(touchedIn(form, fields, reader))
  const began = (form.get('began') ?? '').split(' ')
  const open = fields.filter(({ fixed }) => !fixed)
  return typed.map((input, index): ShownInput => {
    const [field, now] = [fields[index]!, stored[index]!]
    if (input.fixed) return input
    if (!touched.has(field)) return { ...now, problem: input.problem }
    const isOurs = markOf(now) === began[open.indexOf(field)] || textOf(input) === textOf(now)
    return input.kind === 'table' || isOurs ? input : { ...input, now: said(input.name) }
  })
}
