import { effectNames, effects } from '../../core/effects.ts'
import type { Powers } from '../../core/powers.ts'
import { hasRole, type Principal } from '../../core/principal.ts'
import { accessTo } from '../../documents/permission.ts'
import type { Action, Platform } from '../../documents/platform/platform.ts'
import type { Catalogue, OfferedTool } from './catalogue.ts'

/** The actions of each tool on documents of the doctype it is given. A writing tool that is not here is one of the site's. */
const actionsOf: ReadonlyMap<string, readonly Action[]> = new Map([
  ['create_document', ['create']],
  ['update_document', ['write']],
  ['bulk_update', ['write']],
  ['attach_file', ['write']],
  ['remove_attachment', ['write']],
  ['submit_document', ['submit']],
  ['cancel_document', ['cancel']],
  ['amend_document', ['amend']],
  ['delete_document', ['delete']],
  ['add_comment', ['comment']],
  ['assign', ['assign']],
])

/** The one doctype of tools that make documents without being given a doctype. */
const doctypeOf: ReadonlyMap<string, string> = new Map([
  ['create_dashboard', 'Dashboard'],
  ['create_dashboard_chart', 'Dashboard Chart'],
])

/** The tools that read and yet show no document. */
const blind = new Set([
  'list_skills',
  'read_skill',
  'list_doctypes',
  'get_doctype_info',
  'search_doctype',
  'search_audit',
])

const program = 'run_python_code'

/** Returns those of the actions on a doctype that some offered tool can do. */
export function doable(
  lacks: ReadonlySet<string>,
  doctype: string,
  actions: readonly string[],
): readonly string[] {
  const offers = (tool: string): boolean => !lacks.has(tool)
  const tools = [...actionsOf].filter(([tool]) => offers(tool))
  const done = new Set<string>(tools.flatMap(([, of]) => of))
  if ([...doctypeOf].some(([tool, of]) => of === doctype && offers(tool))) done.add('create')
  if (offers('run_workflow')) for (const action of ['submit', 'cancel']) done.add(action)
  return actions.filter((action) => action === 'read' || action === 'report' || done.has(action))
}

/** Returns what a program may do as this principal, by the evaluator that decides each call. */
export function powersOf(
  principal: Principal,
  catalogue: Pick<Catalogue, 'offered' | 'effect'>,
  platform: Platform,
  now: number,
): Powers {
  const offered = catalogue.offered(principal)
  const names = new Set(offered.map(({ tool }) => tool.name))
  const writing = offered.filter(({ annotations }) => !annotations.readOnlyHint).map(({ tool }) => tool)
  const actions = new Set(writing.flatMap(({ name }) => actionsOf.get(name) ?? []))
  if (offered.some(({ tool, annotations }) => reads(tool.name, annotations))) actions.add('read')

  const open = (wanted: readonly Action[]): string[] =>
    [...platform.doctypes.values()]
      .filter((doctype) => !doctype.child)
      .filter((doctype) => {
        const access = accessTo(principal, doctype, now)
        const may = (action: Action): boolean => access.may(action)
        return (
          wanted.some((action) => actions.has(action) && may(action)) ||
          (wanted.includes('create') && made.has(doctype.name) && may('create')) ||
          (wanted.includes('write') && movable.has(doctype.name) && may('read'))
        )
      })
      .map(({ name }) => name)
      .sort()
  const made = new Set([...doctypeOf].filter(([tool]) => names.has(tool)).map(([, doctype]) => doctype))
  const movable = new Set(
    [...platform.workflows]
      .filter(
        ([, { transitions }]) =>
          names.has('run_workflow') &&
          transitions.some(({ roles }) => roles.some((role) => hasRole(principal, role))),
      )
      .map(([doctype]) => doctype),
  )
  const change = open(['write', 'submit', 'cancel', 'amend'])
  return {
    read: open(['read']),
    create: open(['create']),
    change,
    remark: open(['comment', 'assign']).filter((name) => !change.includes(name)),
    delete: open(['delete']),
    programs: names.has(program),
    others: writing
      .filter(({ name }) => !actionsOf.has(name) && !doctypeOf.has(name))
      .filter(({ name }) => name !== program && name !== 'run_workflow')
      .map(({ title }) => title),
    effects: effectNames.filter(
      (name) => effects[name].by !== 'browser' && catalogue.effect(principal, name).refusal === undefined,
    ),
    tools: offered.map(({ tool }) => tool.title),
  }
}

function reads(tool: string, { readOnlyHint }: OfferedTool['annotations']): boolean {
  return tool === program || (readOnlyHint && !blind.has(tool))
}
