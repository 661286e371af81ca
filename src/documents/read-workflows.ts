/** Reads `config/workflows/*.yaml` and gives the doctypes that they move a `workflow_state` field. */
import { unknownName } from '../core/names.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '../core/schema.ts'
import { checkDocument, checkNames } from '../site/check-document.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import { type Expression, parseExpression } from './expression.ts'
import { type Doctype, type Field, standardFields, type Workflow, type WorkflowState } from './platform.ts'
import { sourceOf } from './doctype-reading.ts'
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
    const workflow = readWorkflow(source, doctype, document, faults, people)
    workflows.set(doctype.name, workflow)
    doctypes.set(doctype.name, withState(doctype, workflow))
  }
  return workflows
}

function readWorkflow(
  source: WorkflowSource,
  doctype: Doctype,
  document: SourceDocument,
  faults: Fault[],
  people: People,
): Workflow {
  const at = (path: readonly (string | number)[], message: string) =>
    faults.push(document.fault(path, message))
  const states = new Map<string, WorkflowState>()
  for (const [index, state] of source.states.entries()) {
    if (states.has(state.state)) at(['states', index, 'state'], `"${state.state}" is there twice`)
    if (!doctype.submittable && (state.docstatus ?? 0) !== 0)
      at(['states', index, 'docstatus'], `${doctype.name} is not submittable`)
    checkNames(document, ['states', index, 'edit_roles'], 'role', state.edit_roles, people.roles, faults)
    states.set(state.state, {
      name: state.state,
      docstatus: (state.docstatus ?? 0) as 0 | 1 | 2,
      editRoles: state.edit_roles ?? [],
    })
  }
  const initial = source.states[0]!
  if ((initial.docstatus ?? 0) !== 0)
    at(['states', 0, 'docstatus'], 'the first state is that of a new document: a draft')
  const transitions = source.transitions.map((transition, index) => {
    for (const key of ['from', 'to'] as const)
      if (!states.has(transition[key]))
        at(['transitions', index, key], unknownName('state', transition[key], states.keys()))
    const [from, to] = [
      states.get(transition.from)?.docstatus ?? 0,
      states.get(transition.to)?.docstatus ?? 0,
    ]
    if (to < from || (from === 0 && to === 2))
      at(['transitions', index, 'to'], 'documents go from draft to submitted to cancelled, never back')
    checkNames(document, ['transitions', index, 'roles'], 'role', transition.roles, people.roles, faults)
    const when =
      transition.when === undefined ? undefined : readWhen(transition.when, ['transitions', index, 'when'])
    return {
      from: transition.from,
      action: transition.action,
      to: transition.to,
      // A condition that cannot be read must not open the transition to anyone.
      roles: transition.when !== undefined && !when ? [] : transition.roles,
      ...(when && { when }),
      allowSelf: transition.allow_self ?? true,
      source: sourceOf(document, ['transitions', index]),
    }
  })
  return {
    name: source.workflow,
    doctype: doctype.name,
    states,
    initial: initial.state,
    transitions,
    source: sourceOf(document, ['workflow']),
  }

  function readWhen(condition: string, path: readonly (string | number)[]): Expression | undefined {
    try {
      const expression = parseExpression(condition)
      const wrong = expression.fields.find(
        (field) =>
          !doctype.fields.has(field.split('.')[0]!) &&
          !standardFields.has(field) &&
          field !== 'workflow_state',
      )
      if (wrong === undefined) return expression
      at(path, unknownName('field', wrong, doctype.fields.keys()))
    } catch (error) {
      at(path, (error as Error).message)
    }
    return undefined
  }
}

function withState(doctype: Doctype, workflow: Workflow): Doctype {
  const field: Field = {
    name: 'workflow_state',
    label: 'Workflow State',
    type: 'select',
    description: `The state in the workflow ${workflow.name}; run_workflow changes it.`,
    required: false,
    unique: false,
    readOnly: true,
    allowOnSubmit: true,
    indexed: true,
    options: [...workflow.states.keys()],
    level: 0,
    source: workflow.source,
  }
  return { ...doctype, fields: new Map([...doctype.fields, [field.name, field]]) }
}
