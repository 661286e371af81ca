/** Reading what the SQL process says, which may be under the control of whoever wrote the statement. */
import { compileSchema } from '../../core/schema.ts'
import { objectWith } from '../../core/object-schema.ts'

/** A column of a result. */
export interface SqlColumn {
  readonly name: string
  /** The type in DuckDB's words. */
  readonly type: string
}

/** What a statement came to; so many messages with rows follow. */
export type SqlAnswer =
  | { readonly columns: readonly SqlColumn[]; readonly parts: number; readonly more: boolean }
  | { readonly refused: string }
  | { readonly late: true }
  | { readonly error: string }

const check = compileSchema({
  oneOf: [
    objectWith({
      columns: {
        type: 'array',
        items: objectWith({ name: { type: 'string' }, type: { type: 'string' } }),
      },
      parts: { type: 'integer', minimum: 0 },
      more: { type: 'boolean' },
    }),
    ...['refused', 'error', 'failed'].map((key) => ({
      type: 'object',
      additionalProperties: false,
      required: [key],
      properties: { [key]: { type: 'string' } },
    })),
    objectWith({ late: { const: true } }),
  ],
})

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
