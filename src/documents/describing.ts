/** What the principal may know of doctypes. */
import type { Principal } from '../core/principal.ts'
import { accessFor, type Documents } from './documents.ts'
import { type Access, accessTo } from './permission.ts'
import { actions, type Field } from './platform.ts'

/** A doctype in the answer of `list_doctypes`. */
export interface DoctypeSummary {
  readonly doctype: string
  readonly module: string
  readonly description: string
  /** What the principal may do, at least to some documents. */
  readonly allowed: readonly string[]
}

/** The doctypes that the principal may read or create. */
export function listDoctypes(documents: Documents, principal: Principal): readonly DoctypeSummary[] {
  return [...documents.platform.doctypes.values()]
    .filter((doctype) => !doctype.child)
    .map((doctype) => accessTo(principal, doctype, documents.clock.now()))
    .filter((access) => access.may('read') || access.may('create'))
    .map((access) => ({
      doctype: access.doctype.name,
      module: access.doctype.module,
      description: access.doctype.description,
      allowed: allowed(access),
    }))
}

/** Everything that a caller needs to know to work with documents of a doctype. */
export function describeDoctype(
  documents: Documents,
  principal: Principal,
  name: string,
): Readonly<Record<string, unknown>> {
  const access = accessFor(documents, principal, name)
  const { doctype } = access
  const workflow = documents.platform.workflows.get(name)
  const fields = known(access, doctype.fields.values())
  const naming = doctype.naming.rule === 'field' ? `field:${doctype.naming.field}` : doctype.naming.rule
  return {
    doctype: name,
    module: doctype.module,
    description: doctype.description,
    is_submittable: doctype.submittable,
    is_tree: doctype.parentField !== undefined,
    naming_rule: doctype.naming.rule === 'prompt' ? 'prompt: give "name" in data' : naming,
    ...(doctype.titleField !== undefined &&
      fields.some((field) => field.name === doctype.titleField) && { title_field: doctype.titleField }),
    permissions: allowed(access),
    fields: fields.map((field) => describeField(access, field)),
    child_tables: fields
      .filter((field) => field.type === 'table')
      .map((field) => ({
        fieldname: field.name,
        doctype: field.doctype,
        fields: known(access, documents.platform.doctypes.get(field.doctype!)!.fields.values()).map(
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
    // A rule about a field that the caller does not know would tell of it.
    rules: doctype.validations
      .filter(({ rule }) => rule.fields.every((path) => knowsPath(documents, access, path)))
      .map(({ message }) => message),
  }
}

function knowsPath(documents: Documents, access: Access, path: string): boolean {
  const [name, column] = path.split('.') as [string, string | undefined]
  const field = access.doctype.fields.get(name)
  if (!field) return true
  const part =
    column === undefined
      ? undefined
      : documents.platform.doctypes.get(field.doctype ?? '')?.fields.get(column)
  return access.knows(field) && (part === undefined || access.knows(part))
}

function known(access: Access, fields: Iterable<Field>): Field[] {
  return [...fields].filter((field) => access.knows(field))
}

function allowed(access: Access): string[] {
  return actions.filter((action) => access.may(action))
}

/** Only what is set: a flag that is not there is false. */
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
    ...(field.allowOnSubmit && { allow_on_submit: true }),
    ...(field.computed && { computed: true }),
    ...(field.default !== undefined && { default: field.default }),
    ...(field.defaultExpression && { default: `=${field.defaultExpression.text}` }),
    ...(access.masks(field) && { masked: true }),
    ...(field.description !== '' && { description: field.description }),
  }
}
