/** A file of rows, whatever its format: its columns, and its rows with their places. */
import type { Place } from '#leaf/places.ts'

/** A cell whose value cannot be relied on, such as an error of a spreadsheet. */
export class CellFault {
  readonly fault: string

  constructor(fault: string) {
    this.fault = fault
  }
}

/** One row of a file. */
export interface SourceRow {
  readonly line: number
  /** The cells in the order of the columns of `ImportSource`; undefined where the row has none. */
  readonly cells: readonly unknown[]
  /** The fault of the row as a whole; it has no cells then. */
  readonly fault?: Place & { readonly message: string }
  /** Returns the place of a cell. */
  placeOf(column: number): Place
  /** The row as it stands, for the file of faults: cells, or an object of a file of JSON lines. */
  original(): unknown
}

/** The forms of files. */
export const sourceFormats = ['csv', 'jsonl', 'xlsx'] as const
/** The form of a file. */
export type SourceFormat = (typeof sourceFormats)[number]

/** What a caller says about a file; what is not said is found out. */
export interface SourceOptions {
  readonly format?: SourceFormat
  readonly encoding?: string
  readonly delimiter?: string
  readonly sheet?: string
}

/** A file that was looked at once from beginning to end. */
export interface ImportSource {
  readonly format: SourceFormat
  readonly columns: readonly string[]
  /** The number of its rows. */
  readonly count: number
  /** The SHA-256 of its bytes. */
  readonly digest: string
  /** What was found out about the form: delimiter, encoding, sheet. */
  readonly form: Readonly<Record<string, string>>
  /** Returns the rows, from the first. */
  rows(): AsyncIterable<SourceRow>
}
