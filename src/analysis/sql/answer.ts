/** Reading what the SQL process says, which may be under the control of whoever wrote the statement. */
import { compileSchema, type FromSchema, type JSONSchema } from '../../core/schema.ts'
import { objectWith } from '../../core/object-schema.ts'

const resultSchema = objectWith({
  columns: {
    type: 'array',
    // The type in DuckDB's words.
    items: objectWith({ name: { type: 'string' }, type: { type: 'string' } }),
  },
  parts: { type: 'integer', minimum: 0 },
  more: { type: 'boolean' },
}) satisfies JSONSchema

const check = compileSchema({
  oneOf: [
    resultSchema,
    ...['refused', 'error', 'failed'].map((key) => objectWith({ [key]: { type: 'string' } })),
    objectWith({ late: { const: true } }),
  ],
})

/** What a statement came to; so many messages with rows follow. */
type SqlAnswer =
  | FromSchema<typeof resultSchema>
  | { readonly refused: string }
  | { readonly late: true }
  | { readonly error: string }

/** A column of a result. */
export type SqlColumn = FromSchema<typeof resultSchema>['columns'][number]

/** An answer, or undefined when it is not one. */
export function readAnswer(message: unknown): SqlAnswer | undefined {
  if (check(message).length > 0) return undefined
  const answer = message as SqlAnswer | { failed: string }
  return 'failed' in answer ? { error: answer.failed } : answer
}

/** Some rows of a result, or undefined when they are none of so many columns. */
export function readPart(message: unknown, columns: number): readonly (readonly unknown[])[] | undefined {
  const { rows } = (message ?? {}) as { rows?: unknown }
  const fits = (row: unknown): row is unknown[] => Array.isArray(row) && row.length === columns
  return Array.isArray(rows) && rows.every(fits) ? rows : undefined
}
