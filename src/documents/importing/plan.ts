/** The plan of an import: which column gives which field, how its values are written, and the batches that come of it. */
import { fileDigest } from '#site/reading.ts'
import { AppError } from '#leaf/errors.ts'
import { canonical } from '#leaf/strict-json.ts'
import { isMissing, show } from '../../core/values.ts'
import { cellValue, type Dialect, DialectEvidence } from '#rows/dialect.ts'
import { valueTypeOf } from '../values.ts'
import type { ImportRow } from './import-row.ts'
import type { ImportBatch } from './import-rows.ts'
import type { ImportTarget } from './import-target.ts'
import { type MappedColumn, mapColumns, type TargetField } from './mapping.ts'
import type { Place } from '#leaf/places.ts'
import { CellFault, type ImportSource, type SourceRow } from '#rows/source.ts'

/** What a caller says about an import; what is not said is guessed, and shown. */
export interface PlanOptions {
  readonly map: Readonly<Record<string, string>>
  readonly key?: string | undefined
  readonly user?: string | undefined
  readonly dates?: Dialect['dates']
  readonly decimalComma?: boolean | undefined
  readonly dryRun: boolean
}

/** A column as it is shown before anything is done. */
export interface PlannedColumn extends MappedColumn {
  readonly samples: readonly string[]
}

/** A plan. */
export interface Plan {
  readonly run: string
  readonly columns: readonly PlannedColumn[]
  readonly dialect: Dialect
  /** The fields that must have a value, and get none. */
  readonly lacking: readonly string[]
}

/** A row with faults, as the file of faults keeps it. */
export interface FaultyRow extends Place {
  readonly faults: readonly (Place & { readonly message: string })[]
  readonly original: unknown
}

/** A batch, and what is known of its rows here. */
export interface PlannedBatch {
  readonly batch: ImportBatch
  readonly refused: ReadonlyMap<number, FaultyRow>
  /** Returns the faults of a row that was sent, at their places. */
  readonly faulty: (index: number, problems: readonly string[]) => FaultyRow
}

const mostSamples = 3
/** The most rows and characters of one batch: a transaction holds it, and its rows travel in one message. */
const rowsOfBatch = 250
const charactersOfBatch = 1 << 20

/** Plans an import. AppError `invalid` for columns, keys and dates that nobody can be sure of. */
export async function planImport(
  source: ImportSource,
  target: ImportTarget,
  options: PlanOptions,
): Promise<Plan> {
  const mapped = mapColumns(source.columns, target.fields, options.map)
  const fields = mapped.map(({ field }) => target.fields.find(({ name }) => name === field))
  const samples = mapped.map((): Set<string> => new Set())
  const evidence = new DialectEvidence()
  for await (const { cells } of source.rows())
    for (const [index, seen] of samples.entries()) {
      const cell = cells[index]
      if (fields[index]) evidence.see(kindOf(fields[index]), cell)
      if (seen.size < mostSamples && !isMissing(cell) && !(cell instanceof CellFault)) seen.add(show(cell))
    }
  const found = evidence.dialect()
  const dialect = {
    decimalComma: options.decimalComma ?? found.decimalComma,
    dates: options.dates ?? found.dates,
  }
  if (found.unclear !== undefined && dialect.dates === undefined)
    throw new AppError('invalid', `${found.unclear} can be read in two ways: say --dates dmy or --dates mdy`)
  const filled = new Set(mapped.map(({ field }) => field))
  if (options.key !== undefined && !filled.has(options.key))
    throw new AppError('invalid', `--key: no column gives ${options.key}; say --map COLUMN=${options.key}`)
  const { user, key, map } = options
  const described = [source.digest, target.doctype, source.form, mapped, dialect, user, key, map, rowsOfBatch]
  return {
    run: fileDigest(canonical(described)).slice(0, 32),
    columns: mapped.map((one, index) => ({ ...one, samples: [...samples[index]!] })),
    dialect,
    lacking: target.fields
      .filter(({ required, name }) => required && !mapped.some(({ field }) => fieldOf(field) === name))
      .map(({ name }) => name),
  }
}

/** Yields the batches of a plan, always the same ones; those before `from` are passed over. */
export async function* batchesOf(
  source: ImportSource,
  target: ImportTarget,
  plan: Plan,
  options: PlanOptions,
  from: number,
): AsyncGenerator<PlannedBatch> {
  const reader = new RowReader(target, plan, options)
  let open = emptyBatch(0)
  let index = 0
  for await (const row of source.rows()) {
    const read = reader.read(row, index)
    const size = 'data' in read ? JSON.stringify(read).length : 0
    if (index - open.from >= rowsOfBatch || open.characters + size > charactersOfBatch) {
      if (index > from) yield closed(open, index, plan, false)
      open = emptyBatch(index)
    }
    open.characters += size
    if ('data' in read) {
      open.rows.push(read)
      open.sources.set(index, row)
    } else open.refused.set(index, read)
    index++
  }
  if (index > from) yield closed(open, index, plan, true)
}

interface OpenBatch {
  readonly from: number
  readonly rows: ImportRow[]
  readonly sources: Map<number, SourceRow>
  readonly refused: Map<number, FaultyRow>
  characters: number
}

function emptyBatch(from: number): OpenBatch {
  return { from, rows: [], sources: new Map(), refused: new Map(), characters: 0 }
}

function closed(open: OpenBatch, next: number, { run, columns }: Plan, last: boolean): PlannedBatch {
  const { from, rows, refused, sources } = open
  return {
    batch: { run, from, next, rows, refused: refused.size, last },
    refused,
    faulty: (index, problems) => {
      const row = sources.get(index)!
      return faultyRow(
        row,
        problems.map((message) => ({ ...placeOfProblem(row, columns, message), message })),
      )
    },
  }
}

function faultyRow(row: SourceRow, faults: FaultyRow['faults']): FaultyRow {
  return { ...faults[0]!, faults, original: row.original() }
}

/** Returns the place of what a problem names: it begins with a field, or with several. */
function placeOfProblem(row: SourceRow, columns: readonly MappedColumn[], problem: string): Place {
  const named = /^[\w.]+/.exec(problem)?.[0]
  const column = columns.findIndex(({ field }) => field === named || fieldOf(field) === named)
  return row.placeOf(Math.max(0, column))
}

function keyText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the field of a link that is found by a field of its target: `customer` of `customer.erp_id`. */
function fieldOf(name: string | null): string | undefined {
  return name?.split('.')[0]
}

/** Returns the kind of a field's cells: tables are told from other JSON, as an empty one is no rows. */
function kindOf({ type }: TargetField): string {
  return type === 'table' ? type : valueTypeOf(type)
}

/** Turns rows of a file into rows to import. */
class RowReader {
  readonly #columns: readonly (readonly [index: number, field: TargetField])[]
  readonly #dialect: Dialect
  readonly #options: PlanOptions
  readonly #named: string | null
  /** The lines in which a value stood first, by field. */
  readonly #seen = new Map<string, Map<string, number>>()

  constructor(target: ImportTarget, { columns, dialect }: Plan, options: PlanOptions) {
    const fields = new Map(target.fields.map((field) => [field.name, field]))
    this.#columns = columns.flatMap(({ field }, index) =>
      field === null ? [] : [[index, fields.get(field)!]],
    )
    this.#dialect = dialect
    this.#options = options
    this.#named = target.named
    for (const [, { name, unique }] of this.#columns)
      if (name === options.key || (options.dryRun && unique)) this.#seen.set(name, new Map())
    if (options.dryRun && this.#named !== null) this.#seen.set(this.#named, new Map())
  }

  read(row: SourceRow, index: number): ImportRow | FaultyRow {
    if (row.fault) return faultyRow(row, [row.fault])
    const faults: (Place & { readonly message: string })[] = []
    const data: Record<string, unknown> = {}
    for (const [column, field] of this.#columns) {
      const cell = row.cells[column]
      const value = cellValue(kindOf(field), cell, this.#dialect)
      const message = cell instanceof CellFault ? cell.fault : this.#repeated(field, value, row.line)
      if (message !== undefined) faults.push({ ...row.placeOf(column), message: `${field.name}: ${message}` })
      else if (cell !== undefined && !this.#isToCome(field, value)) data[field.name] = value
    }
    if (faults.length > 0) return faultyRow(row, faults)
    const { name, owner, creation, ...own } = data
    const origin = {
      ...(!isMissing(name) && { name }),
      ...(!isMissing(owner) && { owner }),
      ...(!isMissing(creation) && { creation }),
    }
    return { index, line: row.line, data: own, ...(Object.keys(origin).length > 0 && { origin }) }
  }

  #repeated({ name }: TargetField, value: unknown, line: number): string | undefined {
    const seen = this.#seen.get(name)
    if (!seen || isMissing(value)) return undefined
    const text = keyText(value)
    const first = seen.get(text)
    if (first === undefined) seen.set(text, line)
    else return `${show(value)} stands in line ${first} already`
    return undefined
  }

  /** True for a link to a document that this file would have made: a dry run keeps none. */
  #isToCome({ to_itself }: TargetField, value: unknown): boolean {
    if (!to_itself || !this.#options.dryRun || this.#named === null) return false
    return this.#seen.get(this.#named)?.has(keyText(value)) ?? false
  }
}
