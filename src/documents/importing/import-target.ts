/** What an import may fill: the fields of a doctype as the principal may set them. */
import { knownFields } from '../permission.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { accessFor, type Documents, requireAction, type Reach, reachOf } from '../documents.ts'
import type { Naming } from '../platform/naming.ts'
import type { Field, FieldType } from '../platform/platform.ts'
import type { TargetField } from './mapping.ts'

/** The doctype of an import, as the one who imports may fill it. */
export interface ImportTarget {
  readonly doctype: string
  readonly naming: Naming['rule']
  /** The field whose value is the name of a new document; null where the program makes it. */
  readonly named: string | null
  readonly fields: readonly TargetField[]
}

const notKept = 'documents.import_keeps_origin is off, or the import is in the name of a user'

/** Returns what an import may fill. AppError `not_found` and `forbidden` as for `createDocument`. */
export function importTarget(
  documents: Documents,
  principal: Principal,
  doctype: string,
  keepsOrigin: boolean,
): ImportTarget {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'create')
  if (access.doctype.origin)
    throw new AppError(
      'forbidden',
      `${doctype} documents lie in the source "${access.doctype.origin.source}": load the file there`,
    )
  const { naming } = access.doctype
  const known = [...knownFields(access, access.doctype).values()]
  const isAsked = naming.rule === 'prompt'
  return {
    doctype,
    naming: naming.rule,
    named: naming.rule === 'field' ? naming.field : isAsked || keepsOrigin ? 'name' : null,
    fields: [
      ...known.map((field) => targetOf(access, field)),
      ...known.flatMap((field) => linkTargets(documents, principal, access, field)),
      {
        ...standard('name', 'text', isAsked || keepsOrigin),
        required: isAsked,
        unique: true,
        findable: true,
      },
      standard('owner', 'text', keepsOrigin),
      standard('creation', 'datetime', keepsOrigin),
    ].filter((field, index, all) => all.findIndex(({ name }) => name === field.name) === index),
  }
}

function targetOf(access: Reach, field: Field): TargetField {
  const { name, label, type, required, unique } = field
  const closed = closedBy(access, field)
  const hasDefault = field.default !== undefined || field.defaultExpression !== undefined
  return {
    name,
    label,
    type,
    unique,
    findable: isFindable(field),
    required: required && !hasDefault && closed === undefined,
    to_itself: field.doctype === access.doctype.name && type === 'link',
    ...(closed !== undefined && { closed }),
  }
}

/** Returns the unique fields of the linked doctype: a file may name a document by one of them, as `customer.erp_id`. */
function linkTargets(
  documents: Documents,
  principal: Principal,
  access: Reach,
  field: Field,
): readonly TargetField[] {
  const linked = field.type === 'link' ? documents.platform.doctypes.get(field.doctype!) : undefined
  if (!linked || closedBy(access, field) !== undefined) return []
  const reach = reachOf(documents, principal, linked)
  return [...linked.fields.values()]
    .filter((other) => other.unique && reach.queryable(other))
    .map((other) => plainTarget(`${field.name}.${other.name}`, other.type))
}

function closedBy(access: Reach, field: Field): string | undefined {
  if (field.computed) return 'it is calculated'
  if (field.readOnly) return 'it is read-only'
  if (field.type === 'attachment') return 'files are attached to documents that are there'
  const isOpen = access.rules('create').some((rule) => rule.levels.has(field.level)) && !access.masks(field)
  return isOpen ? undefined : 'these roles do not set it'
}

function standard(name: string, type: 'text' | 'datetime', isOpen: boolean): TargetField {
  return { ...plainTarget(name, type), ...(!isOpen && { closed: notKept }) }
}

function plainTarget(name: string, type: FieldType): TargetField {
  return { name, label: name, type, required: false, unique: false, findable: false, to_itself: false }
}

function isFindable({ indexed, type }: Field): boolean {
  return indexed && type !== 'table' && type !== 'json'
}

/** Refuses a key by which documents are not found without reading all. */
export function requireKey(access: Reach, key: string): void {
  if (key === 'name') return
  const { name, fields } = access.doctype
  const field = fields.get(key)
  if (!field || !access.queryable(field))
    throw new AppError('invalid', `the key: ${name} has no field "${key}"`)
  if (!isFindable(field))
    throw new AppError(
      'invalid',
      `the key: ${name}.${key} needs "unique: true" or "index: true" in its doctype`,
    )
}
