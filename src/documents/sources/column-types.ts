/** Which types of columns a field can show, and how each is compared. */
import type { Kind } from '#state/postgres.ts'
import type { FieldType, OriginColumn } from '../platform/platform.ts'
import { placesOf, valueTypeOf } from '../values.ts'
import type { CatalogueColumn } from '#sources/catalogue.ts'

const texts: Readonly<Record<string, Extract<Kind, { is: 'text' }>['type']>> = {
  text: 'text',
  varchar: 'text',
  bpchar: 'bpchar',
  uuid: 'uuid',
  int2: 'int8',
  int4: 'int8',
  int8: 'int8',
  name: 'other',
  citext: 'other',
  numeric: 'other',
  time: 'other',
  inet: 'other',
  cidr: 'other',
  macaddr: 'other',
}

/** The digits of a decimal that a double holds whatever they are. */
const exactDigits = 15

/** Returns how a column's values show in a field; a text is the reason why they cannot. */
export function kindOf(
  column: CatalogueColumn,
  field: Pick<OriginColumn, 'type' | 'precision'>,
  zone: string,
): Kind | string {
  const { type, kind, written } = column
  const cannot = (wanted: string): string => `is a ${written}, which no ${field.type} shows: ${wanted}`
  if (!column.deterministic) return `has a collation that takes different texts for the same (${written})`
  switch (valueTypeOf(field.type)) {
    case 'text':
    case 'select':
    case 'link': {
      const how = kind === 'e' ? 'other' : texts[type]
      return how ? { is: 'text', type: how } : cannot(wantedBy(column))
    }
    case 'integer':
      if (type === 'int2' || type === 'int4') return { is: 'number', type: 'int4' }
      if (type === 'int8') return { is: 'number', type: 'int8' }
      return type === 'numeric' && column.scale === 0 ? decimal(column) : cannot(wantedBy(column))
    case 'number':
    case 'decimal': {
      const places = placesOf(field)
      if (places !== undefined && (column.scale ?? 0) > places)
        return `is a ${written}, with more digits after the point than the field has: give it precision: ${column.scale}`
      if (type === 'int2' || type === 'int4') return { is: 'number', type: 'int4' }
      if (type === 'int8') return { is: 'number', type: 'int8' }
      if (type === 'numeric') return decimal(column)
      return type === 'float4' || type === 'float8'
        ? { is: 'float', type: 'float8' }
        : cannot(wantedBy(column))
    }
    case 'boolean':
      if (type === 'bool') return { is: 'check', type: 'bool' }
      return /^int[248]$/.test(type) ? { is: 'check', type: 'int' } : cannot(wantedBy(column))
    case 'date':
      return type === 'date' ? { is: 'date' } : cannot(wantedBy(column))
    case 'datetime':
      if (type === 'timestamptz') return { is: 'moment' }
      return type === 'timestamp' ? { is: 'moment', zone } : cannot(wantedBy(column))
    case 'json':
      if (type === '_text' || type === '_varchar') return { is: 'texts' }
      return type === 'json' || type === 'jsonb' || /^_(?:int[248]|bool|float[48])$/.test(type)
        ? { is: 'json' }
        : cannot(wantedBy(column))
    default:
      return cannot(wantedBy(column))
  }
}

function decimal({ precision, scale }: CatalogueColumn): Kind {
  const isExact =
    precision !== null && precision <= exactDigits && (scale ?? 0) >= 0 && (scale ?? 0) <= precision
  return isExact ? { is: 'number', type: 'numeric' } : { is: 'float', type: 'numeric' }
}

/** Returns the field type that a column is best shown as; undefined for what no field shows. */
export function fieldTypeOf({
  type,
  kind,
  precision,
  scale,
  written,
}: CatalogueColumn): FieldType | undefined {
  if (kind === 'e') return 'select'
  if (written === 'tinyint(1)') return 'check'
  switch (type) {
    case 'int2':
    case 'int4':
    case 'int8':
      return 'integer'
    case 'numeric':
      if (precision === null) return 'number'
      if (precision > exactDigits) return 'text'
      if (scale === 0) return 'integer'
      return (scale ?? 0) <= 9 ? 'currency' : 'number'
    case 'float4':
    case 'float8':
      return 'number'
    case 'bool':
      return 'check'
    case 'date':
      return 'date'
    case 'timestamp':
    case 'timestamptz':
      return 'datetime'
    case 'json':
    case 'jsonb':
      return 'json'
    default:
      if (type in texts) return 'text'
      return /^_(?:text|varchar|int[248]|bool|float[48])$/.test(type) ? 'json' : undefined
  }
}

function wantedBy(column: CatalogueColumn): string {
  const type = fieldTypeOf(column)
  return type === undefined ? 'leave it out, or make a view that shows it as text' : `make it a ${type}`
}
