/** Reads `config/workflows/*.yaml` and gives the doctypes that they move a `workflow_state` field. */
import { unknownName } from '../core/names.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '../core/schema.ts'
import { checkDocument, checkNames } from '../site/check-document.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import {
  type Doctype,
  standardFields,
  type Transition,
  type Workflow,
  type WorkflowState,
} from './platform.ts'
import { expressionAt, ownField, sourceOf } from './doctype-reading.ts'
import { objectWith } from '../core/object-schema.ts'

const text = { type: 'string', minLength: 1, maxLength: 60 } as const
const names = { type: 'array', items: text, uniqueItems: true } as const

/** The shape of one workflow. */
export const workflowSchema = objectWith({
  workflow: text,
  doctype: text,
  states: {
    type: 'array',
    minItems: 1,
    items: objectWith(
      { state: text },
      { docstatus: { type: 'integer', minimum: 0, maximum: 2 }, edit_roles: names },
    ),
  },
  transitions: {
    type: 'array',
    items: objectWith(
      { from: text, action: text, to: text, roles: { ...names, minItems: 1 } },
      { when: { type: 'string', minLength: 1 }, allow_self: { type: 'boolean' } },
    ),
  },
}) satisfies JSONSchema

type WorkflowSource = FromSchema<typeof workflowSchema>
const checkWorkflow = compileSchema(workflowSchema)

/** The workflows by doctype; adds the field that holds the state to each doctype. */
export function readWorkflows(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  doctypes: Map<string, Doctype>,
): Map<string, Workflow> {
  const workflows = new Map<string, Workflow>()
  for (const document of documentsIn(files, 'config/workflows/')) {
    const source = checkDocument<WorkflowSource>(document, checkWorkflow, faults)
    if (!source) continue
    const doctype = doctypes.get(source.doctype)
    if (!doctype || doctype.child) {
      faults.push(document.fault(['doctype'], unknownName('doctype', source.doctype, doctypes.keys())))
      continue
    }
    if (workflows.has(source.doctype)) {
      faults.push(document.fault(['doctype'], `${source.doctype} has a workflow already`))
      continue
    }
    const workflow = readWorkflow(source, { doctype, document, faults, people })
    workflows.set(doctype.name, workflow)
    doctypes.set(doctype.name, withState(doctype, workflow))
  }
  return workflows
}

/** What the checks of one workflow need. */
interface Context {
  readonly doctype: Doctype
  readonly document: SourceDocument
  readonly faults: Fault[]
  readonly people: People
}

function readWorkflow(source: WorkflowSource, context: Context): Workflow {
  const { doctype, document } = context
  const states = readStates(source.states, context)
  return {
    name: source.workflow,
    doctype: doctype.name,
    states,
    initial: source.states[0]!.state,
    transitions: source.transitions.map((one, index) => readTransition(one, index, states, context)),
    source: sourceOf(document, ['workflow']),
  }
}

function readStates(
  states: WorkflowSource['states'],
  { doctype, document, faults, people }: Context,
): Map<string, WorkflowState> {
  const read = new Map<string, WorkflowState>()
  for (const [index, { state, docstatus = 0, edit_roles: editRoles = [] }] of states.entries()) {
    const at = (key: string, message: string) => faults.push(document.fault(['states', index, key], message))
    if (read.has(state)) at('state', `"${state}" is there twice`)
    if (!doctype.submittable && docstatus !== 0) at('docstatus', `${doctype.name} is not submittable`)
    if (index === 0 && docstatus !== 0) at('docstatus', 'the first state is that of a new document: a draft')
    checkNames(document, ['states', index, 'edit_roles'], 'role', editRoles, people.roles, faults)
    read.set(state, { name: state, docstatus: docstatus as 0 | 1 | 2, editRoles })
  }
  return read
}

function readTransition(
  source: WorkflowSource['transitions'][number],
  index: number,
  states: ReadonlyMap<string, WorkflowState>,
  { doctype, document, faults, people }: Context,
): Transition {
  const path = ['transitions', index]
  const at = (key: string, message: string) => faults.push(document.fault([...path, key], message))
  for (const key of ['from', 'to'] as const)
    if (!states.has(source[key])) at(key, unknownName('state', source[key], states.keys()))
  const [from = 0, to = 0] = [states.get(source.from)?.docstatus, states.get(source.to)?.docstatus]
  if (to < from || (from === 0 && to === 2))
    at('to', 'documents go from draft to submitted to cancelled, never back')
  checkNames(document, [...path, 'roles'], 'role', source.roles, people.roles, faults)
  const isKnown = (field: string): boolean =>
    doctype.fields.has(field.split('.')[0]!) || standardFields.has(field) || field === 'workflow_state'
  const when =
    source.when === undefined
      ? undefined
      : expressionAt(source.when, [...path, 'when'], { document, faults }, (field) =>
          isKnown(field) ? undefined : unknownName('field', field, doctype.fields.keys()),
        )
  return {
    from: source.from,
    action: source.action,
    to: source.to,
    // A condition that cannot be read must not open the transition to anyone.
    roles: source.when !== undefined && !when ? [] : source.roles,
    ...(when && { when }),
    allowSelf: source.allow_self ?? true,
    source: sourceOf(document, path),
  }
}

function withState(doctype: Doctype, workflow: Workflow): Doctype {
  const field = ownField({
    name: 'workflow_state',
    label: 'Workflow State',
    type: 'select',
    description: `The state in the workflow ${workflow.name}; run_workflow changes it.`,
    allowOnSubmit: true,
    options: [...workflow.states.keys()],
    source: workflow.source,
  })
  return { ...doctype, fields: new Map([...doctype.fields, [field.name, field]]) }
}
