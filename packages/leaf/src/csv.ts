import { Decimal } from './decimal.ts'

/** Formats one line of CSV (RFC 4180) without its line end. A text that a spreadsheet would take for a formula is escaped. */
export function csvLine(values: readonly unknown[]): string {
  return values.map(cell).join(',')
}

/** Writes 0.0000001 as people do, and not as 1e-7. */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value)
  return typeof value === 'number' && text.includes('e') ? String(Decimal.of(value)) : text
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' || value instanceof Decimal ? String(value) : jsonOf(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
