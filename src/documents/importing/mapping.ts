/** Which column of a file gives which field. */
import { unknownName } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import type { FieldType } from '../platform/platform.ts'

/** The columns that a file of faults has before those of its rows; an import passes over them. */
export const faultColumns = ['fault_line', 'fault_column', 'fault'] as const

/** A field that an import may fill, or one that it may not and why. */
export interface TargetField {
  readonly name: string
  readonly label: string
  readonly type: FieldType
  readonly required: boolean
  readonly unique: boolean
  /** True when a document is found by it without reading all. */
  readonly findable: boolean
  /** True for a link to documents of the same doctype. */
  readonly to_itself: boolean
  /** The reason why it cannot be filled. */
  readonly closed?: string
}

/** A column, its field if it has one, and why. */
export interface MappedColumn {
  readonly column: string
  readonly field: string | null
  /** How the field was found; without a field, why there is none. */
  readonly because: string
}

/** Maps columns to fields: as `given`, else by name or label, whatever case, blanks and accents. */
export function mapColumns(
  columns: readonly string[],
  fields: readonly TargetField[],
  given: Readonly<Record<string, string>>,
): readonly MappedColumn[] {
  for (const column of Object.keys(given))
    if (!columns.includes(column))
      throw new AppError('invalid', `--map: ${unknownName('column', column, columns)}`)
  const taken = new Map<string, string>()
  const take = (column: string, field: TargetField): void => {
    const other = taken.get(field.name)
    if (other !== undefined)
      throw new AppError('invalid', `--map: both "${other}" and "${column}" would give ${field.name}`)
    taken.set(field.name, column)
  }
  for (const [column, name] of Object.entries(given)) {
    const field = fields.find((one) => one.name === name)
    if (name === '') continue
    if (!field)
      throw new AppError(
        'invalid',
        `--map: ${unknownName(
          'field',
          name,
          fields.map((one) => one.name),
        )}`,
      )
    if (field.closed !== undefined) throw new AppError('invalid', `--map: ${name}: ${field.closed}`)
    take(column, field)
  }
  return columns.map((column) => {
    if (given[column] !== undefined)
      return given[column] === ''
        ? { column, field: null, because: 'left out' }
        : { column, field: given[column], because: 'as given' }
    if ((faultColumns as readonly string[]).includes(column))
      return { column, field: null, because: 'of a file of faults' }
    const field = likest(column, fields)
    if (!field) return { column, field: null, because: 'no field is named so' }
    if (field.closed !== undefined) return { column, field: null, because: `${field.name}: ${field.closed}` }
    if (taken.has(field.name))
      return { column, field: null, because: `"${taken.get(field.name)!}" gives ${field.name}` }
    taken.set(field.name, column)
    return { column, field: field.name, because: field.name === column ? 'its name' : 'alike' }
  })
}

function likest(column: string, fields: readonly TargetField[]): TargetField | undefined {
  const wanted = bare(column)
  return (
    fields.find(({ name }) => name === column) ??
    fields.find(({ name }) => bare(name) === wanted) ??
    fields.find(({ label }) => bare(label) === wanted)
  )
}

/** Returns a name without case, accents and what is no letter or digit. */
function bare(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}
