/** The shapes that answers of tools have in common, as JSON Schemas for clients that read answers with a program. */

type Shape = Readonly<Record<string, unknown>>

export const textShape: Shape = { type: 'string' }
export const wholeNumberShape: Shape = { type: 'integer' }
export const yesNoShape: Shape = { type: 'boolean' }
/** A document or a part of one: its doctype says what is in it. */
export const documentShape: Shape = { type: 'object' }

/** An object with these properties, and perhaps those. */
export function objectShape(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } }
}

/** A list of these. */
export function listShape(items: Shape): Shape {
  return { type: 'array', items }
}

/** An answer about one document. */
export function aboutDocument(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  return objectShape({ doctype: textShape, name: textShape, ...required }, optional)
}

/** Rows that were cut to what fits (`fit-rows.ts`), and how to go on. */
export function rowsShape(key: string, required: Readonly<Record<string, Shape>> = {}): Shape {
  return objectShape(
    {
      ...required,
      [key]: listShape(documentShape),
      count: wholeNumberShape,
      total_count: wholeNumberShape,
      has_more: yesNoShape,
    },
    {
      more_than_total: yesNoShape,
      next_offset: wholeNumberShape,
      next_cursor: textShape,
      note: textShape,
    },
  )
}
