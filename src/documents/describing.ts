/** Describes doctypes, as far as the principal may know them. */
import { Remembered } from '#leaf/remembered.ts'
import type { Principal } from '../core/principal.ts'
import { accessFor, type Documents, type Reach, reachOf } from './documents.ts'
import { type Access, knownFields } from './permission.ts'
import { actions, type Field, type Platform } from './platform/platform.ts'
import { standardOf } from './platform/standard-fields.ts'

/** A doctype in the answer of `list_doctypes`. */
export interface DoctypeSummary {
  readonly doctype: string
  readonly module: string
  readonly description: string
  /** The database of others in which its documents lie. */
  readonly source?: string
  /** The actions that the principal may do, at least to some documents. */
  readonly allowed: readonly string[]
}

/** Returns the doctypes that the principal may read or create. */
export function listDoctypes(documents: Documents, principal: Principal): readonly DoctypeSummary[] {
  return [...documents.platform.doctypes.values()]
    .filter((doctype) => !doctype.child)
    .map((doctype) => reachOf(documents, principal, doctype))
    .filter((access) => access.may('read') || access.may('create'))
    .map((access) => ({
      doctype: access.doctype.name,
      module: access.doctype.module,
      description: access.doctype.description,
      ...sourceOf(access),
      allowed: allowed(access),
    }))
}

/** What a caller may know of a doctype. */
export type Description = Readonly<Record<string, unknown>> & { readonly permissions: readonly string[] }

const descriptions = new Remembered<Platform, Description>()

/** Returns everything that a caller needs to know to work with documents of a doctype; the same object for the same roles. */
export function describeDoctype(documents: Documents, principal: Principal, name: string): Description {
  const access = accessFor(documents, principal, name)
  return descriptions.of(documents.platform, `${principal.roleKey}\n\n${name}`, () => description(access))
}

function description(access: Reach): Description {
  const { doctype, documents } = access
  const { name } = doctype
  const workflow = documents.platform.workflows.get(name)
  const fields = [...knownFields(access, access.doctype).values()]
  const naming = doctype.naming.rule === 'field' ? `field:${doctype.naming.field}` : doctype.naming.rule
  return {
    doctype: name,
    module: doctype.module,
    description: doctype.description,
    ...sourceOf(access),
    is_submittable: doctype.submittable,
    is_tree: doctype.parentField !== undefined,
    naming_rule: doctype.origin
      ? `key: ${doctype.origin.key.join('/')}${doctype.naming.rule === 'prompt' ? ', given as "name" in data' : ''}`
      : doctype.naming.rule === 'prompt'
        ? 'prompt: give "name" in data'
        : naming,
    ...(doctype.titleField !== undefined &&
      fields.some((field) => field.name === doctype.titleField) && { title_field: doctype.titleField }),
    permissions: allowed(access),
    fields: fields.map((field) => describeField(access, field)),
    fields_of_every_document: [...standardOf(doctype).keys()],
    ...(doctype.submittable && {
      docstatus:
        '0 draft, 1 submitted, 2 cancelled; filters take the words too, such as {"docstatus": "submitted"}',
    }),
    child_tables: fields
      .filter((field) => field.type === 'table')
      .map((field) => ({
        fieldname: field.name,
        doctype: field.doctype,
        fields: [...knownFields(access, documents.platform.doctypes.get(field.doctype!)!).values()].map(
          (column) => describeField(access, column),
        ),
      })),
    link_fields: fields
      .filter((field) => field.type === 'link')
      .map((field) => ({ fieldname: field.name, doctype: field.doctype })),
    ...(workflow && {
      workflow: {
        name: workflow.name,
        states: [...workflow.states.keys()],
        transitions: workflow.transitions.map(({ from, action, to, roles }) => ({ from, action, to, roles })),
      },
    }),
    // A rule about a field that the caller does not know would reveal it.
    rules: doctype.validations
      .filter(({ rule }) => rule.fields.every((path) => knowsPath(access, path)))
      .map(({ message }) => message),
  }
}

function knowsPath(access: Reach, path: string): boolean {
  const [name, column] = path.split('.') as [string, string | undefined]
  const field = access.doctype.fields.get(name)
  if (!field) return true
  const part =
    column === undefined
      ? undefined
      : access.documents.platform.doctypes.get(field.doctype ?? '')?.fields.get(column)
  return access.knows(field) && (part === undefined || access.knows(part))
}

function sourceOf({ doctype: { origin } }: Access): { readonly source?: string } {
  if (!origin) return {}
  const isRead = Object.keys(origin.write).length === 0
  return { source: isRead ? `${origin.source} (only read)` : origin.source }
}

function allowed(access: Access): string[] {
  return actions.filter((action) => access.may(action))
}

/** Describes a field by what is set: a flag that is absent is false. */
function describeField(access: Access, field: Field): Readonly<Record<string, unknown>> {
  return {
    fieldname: field.name,
    label: field.label,
    fieldtype: field.type,
    ...(field.options.length > 0 && { options: field.options }),
    ...(field.doctype !== undefined && { options: field.doctype }),
    ...(field.doctypeField !== undefined && { options: field.doctypeField }),
    ...(field.required && { reqd: true }),
    ...(field.unique && { unique: true }),
    ...(field.readOnly && { read_only: true }),
    ...(field.only && { set: field.only === 'create' ? 'only at creation' : 'only by a change' }),
    ...(field.allowOnSubmit && { allow_on_submit: true }),
    ...(field.computed && { computed: true }),
    ...(field.default !== undefined && { default: field.default }),
    ...(field.defaultExpression && { default: `=${field.defaultExpression.text}` }),
    ...(access.masks(field) && { masked: true }),
    ...(field.description !== '' && { description: field.description }),
  }
}
