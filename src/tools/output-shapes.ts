/** The common shapes of tool answers, as JSON Schemas for clients that read answers with a program. */

type Shape = Readonly<Record<string, unknown>>

export const textShape: Shape = { type: 'string' }
export const wholeNumberShape: Shape = { type: 'integer' }
export const yesNoShape: Shape = { type: 'boolean' }
/** A document or a part of one: its doctype decides its fields. */
export const documentShape: Shape = { type: 'object' }

/** Returns the schema of an object with these required properties, and perhaps the optional ones. */
export function objectShape(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } }
}

/** Returns the schema of a list of these. */
export function listShape(items: Shape): Shape {
  return { type: 'array', items }
}

/** Returns the schema of an answer about one document. */
export function aboutDocument(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  return objectShape({ doctype: textShape, name: textShape, ...required }, optional)
}

/** Rows: a list of objects or, of more than a handful, their columns and a list of lists (gate/tabled.ts). */
export const rowsOf: Shape = { description: 'Objects; above five, {columns, rows}.' }

/** Returns the schema of rows that were cut to the budget (`fit-rows.ts`), with the way to the next ones where there are more. */
export function rowsShape(key: string, required: Readonly<Record<string, Shape>> = {}): Shape {
  return objectShape(
    {
      ...required,
      [key]: rowsOf,
    },
    {
      count: wholeNumberShape,
      total_count: wholeNumberShape,
      has_more: yesNoShape,
      more_than_total: yesNoShape,
      next_offset: wholeNumberShape,
      next_cursor: textShape,
      note: textShape,
    },
  )
}

/** The schema of how many of the documents counted are drafts, submitted and cancelled. */
export const statesShape = objectShape({
  draft: wholeNumberShape,
  submitted: wholeNumberShape,
  cancelled: wholeNumberShape,
})
