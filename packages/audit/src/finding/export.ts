/** Exports events for other programs. */
import { csvLine } from '#leaf/csv.ts'
import type { AuditLine } from '../audit.ts'
import { jsonText } from '../line.ts'
import { pictured } from '#leaf/pictured.ts'

const columns = [
  'seq',
  'time',
  'type',
  'status',
  'user',
  'client',
  'session_id',
  'request_id',
  'address',
  'target',
  'execution_time',
  'error',
  'data',
  'id',
  'trace_id',
  'success',
  'result',
  'documents',
  'changes',
] as const

/** Yields events as JSON lines, byte for byte as they stand in the log, so that their hashes still hold. */
export async function* exportJsonl(lines: AsyncIterable<AuditLine>): AsyncGenerator<string> {
  for await (const line of lines) yield `${jsonText(line)}\n`
}

/** Yields events as CSV with a header. */
export async function* exportCsv(lines: AsyncIterable<AuditLine>): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`
  for await (const line of lines) yield `${csvLine(columns.map((column) => shown(line[column])))}\r\n`
}

/** Returns a cell's text with hidden characters made visible. */
function shown(value: unknown): unknown {
  if (typeof value === 'string') return pictured(value)
  return typeof value === 'object' && value !== null ? pictured(JSON.stringify(value)) : value
}
