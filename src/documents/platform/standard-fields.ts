/** What documents have and may be done to them besides what their doctype declares, wherever they lie. */
import type { Action, Doctype, FieldType, Origin } from './platform.ts'

/** Fields that every document has besides those of its doctype, with the type that each is compared as. */
export const standardFields: ReadonlyMap<string, FieldType> = new Map<string, FieldType>([
  ['name', 'text'],
  ['owner', 'text'],
  ['creation', 'datetime'],
  ['modified', 'datetime'],
  ['modified_by', 'text'],
  ['docstatus', 'integer'],
])

/** Returns the fields that every document of the doctype has: of those that lie elsewhere, the ones that a column shows. */
export function standardOf({
  origin,
}: {
  readonly origin?: Pick<Origin, 'columns'>
}): ReadonlyMap<string, FieldType> {
  if (!origin) return standardFields
  return new Map(
    [...standardFields].filter(([name]) => name === 'name' || Object.hasOwn(origin.columns, name)),
  )
}

/** Returns the order of a list that asks for none: the newest first, or where nothing tells which these are, by name. */
export function defaultOrder(doctype: Pick<Doctype, 'origin'>): string {
  return standardOf(doctype).has('creation') ? 'creation desc' : 'name desc'
}

/** Returns what may be done to documents that lie elsewhere: what belongs to them here, and what their doctype says. */
export function originActions({ write }: Pick<Origin, 'write'>): readonly Action[] {
  return [
    ...(['read', 'report', 'comment', 'assign'] as const),
    ...(write.create ? (['create'] as const) : []),
    ...(write.change ? (['write'] as const) : []),
    ...(write.delete ? (['delete'] as const) : []),
  ]
}
