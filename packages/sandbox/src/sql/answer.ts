/** Reads the messages of the SQL process, which the author of a statement may control. */
import { compileSchema, type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { objectWith } from '#leaf/object-schema.ts'

const resultSchema = objectWith({
  columns: {
    type: 'array',
    // The type by DuckDB's name.
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

/** The outcome of a statement; `parts` messages with rows follow. */
type SqlAnswer =
  | FromSchema<typeof resultSchema>
  | { readonly refused: string }
  | { readonly late: true }
  | { readonly error: string }

/** A column of a result. */
export type SqlColumn = FromSchema<typeof resultSchema>['columns'][number]

/** Reads an answer; undefined when the message is none. */
export function readAnswer(message: unknown): SqlAnswer | undefined {
  if (check(message).length > 0) return undefined
  const answer = message as SqlAnswer | { failed: string }
  return 'failed' in answer ? { error: answer.failed } : answer
}

/** Reads some rows of a result; undefined unless all have so many columns. */
export function readPart(message: unknown, columns: number): readonly (readonly unknown[])[] | undefined {
  const { rows } = (message ?? {}) as { rows?: unknown }
  const fits = (row: unknown): row is unknown[] => Array.isArray(row) && row.length === columns
  return Array.isArray(rows) && rows.every(fits) ? rows : undefined
}
