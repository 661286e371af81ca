/** Reading what the SQL process says, which may be under the control of whoever wrote the statement. */
import { compileSchema } from '../../core/schema.ts'

/** A column of a result. */
export interface SqlColumn {
  readonly name: string
  /** The type in DuckDB's words. */
  readonly type: string
}

/** What a statement came to. */
export type SqlAnswer =
  | {
      readonly columns: readonly SqlColumn[]
      readonly rows: readonly (readonly unknown[])[]
      readonly more: boolean
    }
  | { readonly refused: string }
  | { readonly late: true }
  | { readonly error: string }

const check = compileSchema({
  oneOf: [
    {
      type: 'object',
      additionalProperties: false,
      required: ['columns', 'rows', 'more'],
      properties: {
        columns: {
          type: 'array',
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['name', 'type'],
            properties: { name: { type: 'string' }, type: { type: 'string' } },
          },
        },
        rows: { type: 'array', items: { type: 'array' } },
        more: { type: 'boolean' },
      },
    },
    ...['refused', 'error', 'failed'].map((key) => ({
      type: 'object',
      additionalProperties: false,
      required: [key],
      properties: { [key]: { type: 'string' } },
    })),
    {
      type: 'object',
      additionalProperties: false,
      required: ['late'],
      properties: { late: { const: true } },
    },
  ],
})

/** An answer, or undefined when it is not one. */
export function readAnswer(message: unknown): SqlAnswer | undefined {
  if (check(message).length > 0) return undefined
  const answer = message as SqlAnswer | { failed: string }
  if ('failed' in answer) return { error: answer.failed }
  if ('columns' in answer && answer.rows.some((row) => row.length !== answer.columns.length)) return undefined
  return answer
}
