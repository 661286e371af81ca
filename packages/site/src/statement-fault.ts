import type { Fault, SourceDocument } from './site-files.ts'

/** Matches a message that begins with a place in a statement. */
export const placeInStatement = /^line (\d+), column (\d+): ([\s\S]*)$/

/** Makes a fault at the line and column of a statement that its message begins with. */
export function statementFault(document: SourceDocument, message: string): Fault {
  const fault = document.fault(['sql'], message)
  const [, line, column, rest] = placeInStatement.exec(message) ?? []
  if (line === undefined) return fault
  const lines = Buffer.from(document.bytes).toString('utf8').split('\n')
  const first = lines[fault.line - 1] ?? ''
  const { sql } = document.data as { readonly sql: string }
  // The statement stands in one line, without quotes.
  if (line === '1' && first.startsWith(sql, fault.column - 1))
    return { ...fault, column: fault.column - 1 + Number(column), message: rest! }
  // Only a block keeps the lines of the statement; its text begins below `sql: |`.
  if (!/\|[-+]?\d?\s*(#.*)?$/.test(first)) return fault
  const at = fault.line + Number(line)
  const indent = /^ */.exec(lines[fault.line] ?? '')![0].length
  return { ...fault, line: at, column: indent + Number(column), message: rest! }
}
