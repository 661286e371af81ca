/** Reads `config/workflows/*.yaml` and adds a `workflow_state` field to the doctypes that they move. */
import { unknownName } from '#leaf/names.ts'
import { references } from '#leaf/references.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { checkDocument, checkReferences } from '#site/checking.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '#site/site-files.ts'
import type { People } from '../../users/people.ts'
import type { Doctype, Transition, Workflow, WorkflowState } from './platform.ts'
import { standardFields } from './standard-fields.ts'
import { merged, readTranslations, translationsSchema } from './translations.ts'
import { expressionAt, ownField, sourceOf } from './doctype-reading.ts'
import { objectWith } from '#leaf/object-schema.ts'

const text = { type: 'string', minLength: 1, maxLength: 60 } as const
const roles = { type: 'array', items: references('role', text), uniqueItems: true } as const
const state = references('state', text)

/** The schema of one workflow. */
export const workflowSchema = objectWith(
  {
    workflow: text,
    doctype: references('doctype', text),
    states: {
      type: 'array',
      minItems: 1,
      items: objectWith(
        { state: text },
        { docstatus: { type: 'integer', minimum: 0, maximum: 2 }, edit_roles: roles },
      ),
    },
    transitions: {
      type: 'array',
      items: objectWith(
        { from: state, action: text, to: state, roles: { ...roles, minItems: 1 } },
        { when: { type: 'string', minLength: 1 }, allow_self: { type: 'boolean' } },
      ),
    },
  },
  { translations: translationsSchema },
) satisfies JSONSchema

type WorkflowSource = FromSchema<typeof workflowSchema>
const checkWorkflow = fileSchema(workflowSchema)

/** Reads the workflows, by doctype; adds the field that holds the state to each doctype. */
export function readWorkflows(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  doctypes: Map<string, Doctype>,
  warnings: Fault[],
): Map<string, Workflow> {
  const workflows = new Map<string, Workflow>()
  for (const document of documentsIn(files, 'config/workflows/')) {
    const source = checkDocument<WorkflowSource>(document, checkWorkflow, faults)
    if (!source) continue
    const states = new Set(source.states.map(({ state }) => state))
    checkReferences(
      document,
      workflowSchema,
      { doctype: doctypes, role: people.roles, state: states },
      faults,
    )
    const doctype = doctypes.get(source.doctype)
    if (!doctype) continue
    if (doctype.child || doctype.origin || workflows.has(source.doctype)) {
      const problem = doctype.origin
        ? 'lies in a source: its documents have no states here'
        : doctype.child
          ? 'is a child doctype'
          : 'has a workflow already'
      faults.push(document.fault(['doctype'], `${source.doctype} ${problem}`))
      continue
    }
    const workflow = readWorkflow(source, { doctype, document, faults })
    workflows.set(doctype.name, workflow)
    const texts = [...states, ...source.transitions.map(({ action }) => action), stateLabel]
    const own = readTranslations(source.translations, texts, { document, warnings })
    doctypes.set(doctype.name, {
      ...withState(doctype, workflow),
      translations: merged(doctype.translations, own),
    })
  }
  return workflows
}

/** The context for checking one workflow. */
interface Context {
  readonly doctype: Doctype
  readonly document: SourceDocument
  readonly faults: Fault[]
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
  { doctype, document, faults }: Context,
): Map<string, WorkflowState> {
  const read = new Map<string, WorkflowState>()
  for (const [index, { state, docstatus = 0, edit_roles: editRoles = [] }] of states.entries()) {
    const at = (key: string, message: string) => faults.push(document.fault(['states', index, key], message))
    if (read.has(state)) at('state', `"${state}" is there twice`)
    if (!doctype.submittable && docstatus !== 0) at('docstatus', `${doctype.name} is not submittable`)
    if (index === 0 && docstatus !== 0) at('docstatus', 'the first state is that of a new document: a draft')
    read.set(state, { name: state, docstatus: docstatus as 0 | 1 | 2, editRoles })
  }
  return read
}

function readTransition(
  source: WorkflowSource['transitions'][number],
  index: number,
  states: ReadonlyMap<string, WorkflowState>,
  { doctype, document, faults }: Context,
): Transition {
  const path = ['transitions', index]
  const at = (key: string, message: string) => faults.push(document.fault([...path, key], message))
  const [from = 0, to = 0] = [states.get(source.from)?.docstatus, states.get(source.to)?.docstatus]
  if (to < from || (from === 0 && to === 2))
    at('to', 'documents go from draft to submitted to cancelled, never back')
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

const stateLabel = 'Workflow State'

function withState(doctype: Doctype, workflow: Workflow): Doctype {
  const field = ownField({
    name: 'workflow_state',
    label: stateLabel,
    type: 'select',
    description: `The state in the workflow ${workflow.name}; run_workflow changes it.`,
    allowOnSubmit: true,
    options: [...workflow.states.keys()],
    source: workflow.source,
  })
  return { ...doctype, fields: new Map([...doctype.fields, [field.name, field]]) }
}
