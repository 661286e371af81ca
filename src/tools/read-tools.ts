/** Reads `config/tools.yaml`: what the site says about each tool, and which tools its people are offered. */
import { unknownName } from '../core/names.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '../core/schema.ts'
import type { Fault, SiteFiles } from '../site/site-files.ts'
import type { ClientLimit } from '../documents/platform.ts'
import type { People } from '../users/people.ts'
import { checkDocument, checkNames } from '../site/check-document.ts'
import type { Confirmation } from './catalogue.ts'
import { optionalTools } from './optional-tools.ts'
import { objectWith } from '../core/object-schema.ts'

const file = 'config/tools.yaml'
const names = { type: 'array', items: { type: 'string', minLength: 1 }, uniqueItems: true } as const
const positive = { type: 'integer', minimum: 1 } as const

/** The shape of `config/tools.yaml`. */
export const toolsSchema = objectWith(
  {},
  {
    profiles: {
      type: 'object',
      additionalProperties: objectWith({ tools: names }, { roles: names }),
    },
    tools: {
      type: 'object',
      additionalProperties: objectWith(
        {},
        {
          enabled: { type: 'boolean' },
          roles: { oneOf: [{ const: 'all' }, names] },
          category: { type: 'string', enum: ['read_only', 'write', 'read_write', 'privileged'] },
          confirm: { type: 'string', enum: ['never', 'client', 'page'] },
          timeout_seconds: positive,
          max_concurrent: positive,
          max_result_bytes: { type: 'integer', minimum: 1000 },
          // Argument paths that the audit log does not keep.
          redact: names,
        },
      ),
    },
  },
) satisfies JSONSchema

const checkTools = compileSchema(toolsSchema)

/** What the site says about one tool; what it does not say, the tool itself decides. */
export interface ToolSetting extends Omit<Entry, 'roles'> {
  readonly enabled: boolean
  /** Undefined: as the tool says. Empty: everyone. */
  readonly roles?: readonly string[] | undefined
  readonly confirm: Confirmation
  /** `file:line`. */
  readonly source: string
}

type Entry = NonNullable<FromSchema<typeof toolsSchema>['tools']>[string]

/** Tools for people who hold one of the roles, or for everyone. */
export interface Profile {
  readonly name: string
  readonly roles?: readonly string[]
  readonly tools: readonly string[]
  readonly source: string
}

/** One immutable reading of `config/tools.yaml`. */
export interface ToolSettings {
  readonly settings: ReadonlyMap<string, ToolSetting>
  /** None: everyone is offered every tool that their roles allow. */
  readonly profiles: readonly Profile[]
}

/** Tells the tools of `config/clients.yaml` that there are not: a limit with a typo takes a tool away unseen. */
export function checkClientTools(
  files: SiteFiles,
  faults: Fault[],
  limits: readonly ClientLimit[],
  names: readonly string[],
): void {
  const document = files.documents.get('config/clients.yaml')
  const known = [...names, ...optionalTools]
  for (const [index, limit] of limits.entries())
    for (const [i, name] of (limit.tools ?? []).entries())
      if (!isKnown(name, known))
        faults.push(document!.fault(['limits', index, 'tools', i], unknownName('tool', name, known)))
}

/** Whether there is a tool of this name, or one that a pattern means, or a pattern whose names are not known yet. */
function isKnown(name: string, known: readonly string[]): boolean {
  return known.some((tool) => matchesName(name, tool) || matchesName(tool, name))
}

/** Reads the settings; `names` are those of the tools there are (`every_*` for names that are not known yet). */
export function readToolSettings(
  files: SiteFiles,
  faults: Fault[],
  { names, people }: { readonly names: readonly string[]; readonly people: People },
): ToolSettings {
  const document = files.documents.get(file)
  const data = document && checkDocument<FromSchema<typeof toolsSchema>>(document, checkTools, faults)
  if (!document || !data) return { settings: new Map(), profiles: [] }
  const known = [...names, ...optionalTools]
  const lineOf = (path: readonly string[]): string => `${file}:${document.fault(path, '', 'key').line}`
  const checkRoles = (path: readonly string[], roles: readonly string[] | undefined): void =>
    checkNames(document, path, 'role', roles, people.roles, faults)
  const settings = new Map<string, ToolSetting>()
  for (const [name, entry] of Object.entries(data.tools ?? {})) {
    if (!isKnown(name, known))
      faults.push(document.fault(['tools', name], unknownName('tool', name, known), 'key'))
    const roles = entry.roles === 'all' ? [] : (entry.roles as readonly string[] | undefined)
    checkRoles(['tools', name, 'roles'], roles)
    settings.set(name, {
      ...entry,
      enabled: entry.enabled ?? true,
      roles,
      confirm: entry.confirm ?? 'never',
      source: lineOf(['tools', name]),
    })
  }
  const profiles = Object.entries(data.profiles ?? {}).map(([name, profile]): Profile => {
    checkRoles(['profiles', name, 'roles'], profile.roles)
    for (const [index, tool] of profile.tools.entries())
      if (!isKnown(tool, known))
        faults.push(document.fault(['profiles', name, 'tools', index], unknownName('tool', tool, known)))
    return {
      name,
      ...(profile.roles && { roles: profile.roles }),
      tools: profile.tools,
      source: lineOf(['profiles', name]),
    }
  })
  return { settings, profiles }
}

/** Whether a name, or the beginning of names with `*` behind it, means the tool. */
export function matchesName(pattern: string, tool: string): boolean {
  return pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool
}

/** The setting that counts for a tool: its own, else that of the longest pattern. */
export function settingOf({ settings }: ToolSettings, tool: string): ToolSetting | undefined {
  const exact = settings.get(tool)
  if (exact) return exact
  const patterns = [...settings.keys()].filter((name) => name.endsWith('*') && matchesName(name, tool))
  return settings.get(patterns.sort((a, b) => b.length - a.length)[0] ?? '')
}

/** Tools that write what another one writes: whoever wants that one confirmed means these too. */
const writesAlso: Readonly<Record<string, readonly string[]>> = {
  bulk_update: ['update_document'],
  amend_document: ['create_document'],
  create_dashboard: ['create_document'],
  create_dashboard_chart: ['create_document'],
  create_document: ['submit_document'],
  run_workflow: ['update_document', 'submit_document', 'cancel_document'],
}
const strictest: readonly Confirmation[] = ['page', 'client', 'never']

/** Who must confirm a tool: as the site says for it, or for another tool that writes the same, whichever is stricter. */
export function confirmationOf(settings: ToolSettings, tool: string): Confirmation {
  const said = [tool, ...(writesAlso[tool] ?? [])].map(
    (name) => settingOf(settings, name)?.confirm ?? 'never',
  )
  return strictest.find((confirmation) => said.includes(confirmation))!
}
