/** Reads cells as PostgreSQL and Excel write them: into the forms that every caller of the service may give. */
import { jsonOr } from '#leaf/as-json.ts'

/** How numbers and dates are written in a file. */
export interface Dialect {
  /** True when a comma stands before the decimals: `1.234,50`. */
  readonly decimalComma: boolean
  /** The order of dates such as 03/04/2026; undefined when none is there, or when they can be read in two ways. */
  readonly dates: 'dmy' | 'mdy' | undefined
}

const booleans: Readonly<Record<string, boolean>> = { t: true, f: false, wahr: true, falsch: false }
const slashes = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?=$|[ T])/
const currency = /^[€$£¥\s\u00a0]+|[€$£¥%\s\u00a0]+$/g

/**
 * Returns a cell in the form that values of such a kind are given in: truths, numbers, dates, JSON, tables of rows. Other kinds
 * are texts; what it does not know it leaves to the checks.
 */
export function cellValue(kind: string, cell: unknown, dialect: Dialect): unknown {
  if (typeof cell !== 'string') return cell
  // PostgreSQL's text for no value; an empty cell is none either.
  if (cell === '' || cell === '\\N') return kind === 'table' ? [] : null
  // An export of ours puts an apostrophe before what a spreadsheet would take for a formula.
  const text = /^'[=+\-@\t\r\n]/.test(cell) ? cell.slice(1) : cell
  switch (kind) {
    case 'table':
    case 'json':
      return jsonOr(text, text)
    case 'boolean':
      return booleans[text.trim().toLowerCase()] ?? text
    case 'number':
    case 'integer':
    case 'decimal':
      return numberOf(text, dialect)
    case 'date':
      return dayFirst(text, dialect).replace(/^(\d{4}-\d\d-\d\d)[ T]00:00(:00(\.0+)?)?$/, '$1')
    case 'datetime':
      return dayFirst(text, dialect)
        .replace(/(:\d\d(?:\.\d+)?)([+-]\d\d)(\d\d)?$/, '$1$2:$3')
        .replace(/:$/, ':00')
    default:
      return text
  }
}

/** Returns the number of a text; the text itself when it is none, or when a number would lose digits of it. */
function numberOf(text: string, { decimalComma }: Dialect): unknown {
  const bare = text.replace(currency, '')
  const grouped = decimalComma ? /^[+-]?\d{1,3}(\.\d{3})+(,\d*)?$/ : /^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/
  const whole = grouped.test(bare) ? bare.replaceAll(decimalComma ? '.' : ',', '') : bare
  const plain = decimalComma ? whole.replace(/^([+-]?\d*),(\d+)$/, '$1.$2') : whole
  const number = Number(plain)
  const digits = plain.replace(/\D/g, '').replace(/^0+/, '')
  return /^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain) && digits.length <= 15 ? number : plain
}

/** Returns a date as ISO 8601 writes it, with whatever follows. */
function dayFirst(text: string, { dates }: Dialect): string {
  const two = (part: string | undefined): string => part!.padStart(2, '0')
  const dotted = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?=$|[ T])/.exec(text)
  const parts = dotted ?? slashes.exec(text)
  if (!parts || (!dotted && dates === undefined)) return text
  const [found, first, second, year] = parts
  const [day, month] = !dotted && dates === 'mdy' ? [second, first] : [first, second]
  const rest = text.slice(found.length).replace(/^[ T](\d):/, ' 0$1:')
  return `${year}-${two(month)}-${two(day)}${rest}`
}

/** What the cells of a file say of how numbers and dates are written. */
export class DialectEvidence {
  #commas = 0
  #points = 0
  #dayFirst = 0
  #monthFirst = 0
  #either: string | undefined

  /** Looks at one cell of a column of that kind. */
  see(kind: string, cell: unknown): void {
    if (typeof cell !== 'string') return
    if (kind === 'number' || kind === 'integer' || kind === 'decimal') {
      const bare = cell.replace(currency, '')
      if (/^[+-]?[\d.]*,\d+$/.test(bare) && !/^[+-]?\d{1,3}(,\d{3})+$/.test(bare)) this.#commas++
      else if (/^[+-]?[\d,]*\.\d+$/.test(bare) && !/^[+-]?\d{1,3}(\.\d{3})+$/.test(bare)) this.#points++
    } else if (kind === 'date' || kind === 'datetime') {
      const [, first, second] = slashes.exec(cell) ?? []
      if (Number(first) > 12) this.#dayFirst++
      else if (Number(second) > 12) this.#monthFirst++
      else if (first !== undefined && first !== second) this.#either ??= cell
    }
  }

  /** Returns the dialect, and a date that nobody can read for sure. */
  dialect(): Dialect & { readonly unclear?: string } {
    const decimalComma = this.#commas > 0 && this.#points === 0
    if (this.#dayFirst > 0 && this.#monthFirst === 0) return { decimalComma, dates: 'dmy' }
    if (this.#monthFirst > 0 && this.#dayFirst === 0) return { decimalComma, dates: 'mdy' }
    return { decimalComma, dates: undefined, ...(this.#either !== undefined && { unclear: this.#either }) }
  }
}
