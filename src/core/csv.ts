import { Decimal } from './decimal.ts'

/** One line of CSV (RFC 4180) without its end. What a spreadsheet would calculate is made a text. */
export function csvLine(values: readonly unknown[]): string {
  return values.map(cell).join(',')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' || value instanceof Decimal ? String(value) : JSON.stringify(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
