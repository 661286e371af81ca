/** Writes an answer for a model, in few tokens: programs and pages get what the tool returned. */
import type { Tool } from '../tool.ts'

type Row = Readonly<Record<string, unknown>>

/** Up to so many rows stay objects, which are easier to read: the names of a hundred are a third of their text. */
const handful = 5

/** Returns an output without what a model knows, and many rows, all alike, as `{columns, rows}`. */
export function tabled(output: unknown, { rows: key, known = [] }: Pick<Tool, 'rows' | 'known'>): unknown {
  if ((key === undefined && known.length === 0) || typeof output !== 'object' || output === null)
    return output
  const answer: Record<string, unknown> = { ...output }
  for (const name of known) Reflect.deleteProperty(answer, name)
  const rows = key === undefined ? undefined : answer[key]
  if (key === undefined || !Array.isArray(rows)) return answer
  // Without these, all rows are there.
  if (answer['has_more'] === false) {
    delete answer['has_more']
    for (const [count, total] of [
      ['count', 'total_count'],
      ['rows_returned', 'total_rows'],
    ] as const)
      if (answer[count] === answer[total]) Reflect.deleteProperty(answer, count)
  }
  answer[key] = inColumns(rows)
  return answer
}

function inColumns(rows: readonly Row[]): unknown {
  if (rows.length <= handful) return rows
  const columns = Object.keys(rows[0] ?? {})
  const alike = rows.every((row) => {
    const names = Object.keys(row)
    return names.length === columns.length && names.every((name, index) => name === columns[index])
  })
  if (!alike || columns.length === 0) return rows
  return { columns, rows: rows.map((row) => columns.map((name) => row[name])) }
}
