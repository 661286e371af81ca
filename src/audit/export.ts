/** Events for other programs. */
import type { AuditLine } from './event.ts'
import { jsonText } from './line.ts'
import { pictured } from './render.ts'

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

/** Events as JSON lines, byte for byte as they stand in the log, so that their hashes still hold. */
export async function* exportJsonl(lines: AsyncIterable<AuditLine>): AsyncGenerator<string> {
  for await (const line of lines) yield `${jsonText(line)}\n`
}

/** Events as CSV (RFC 4180) with a header. A cell that a spreadsheet would calculate is made a text. */
export async function* exportCsv(lines: AsyncIterable<AuditLine>): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`
  for await (const line of lines) yield `${columns.map((column) => cell(line[column])).join(',')}\r\n`
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = pictured(typeof value === 'string' ? value : JSON.stringify(value))
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
