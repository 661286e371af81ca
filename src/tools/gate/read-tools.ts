/** Reads `config/tools.yaml`: the site's settings for each tool, and the tools that its people are offered. */
import { references } from '#leaf/references.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import type { Fault, SiteFiles, SourceDocument } from '#site/site-files.ts'
import type { People } from '../../users/people.ts'
import { checkDocument, checkReferences, type NameSet } from '#site/checking.ts'
import type { Confirmation } from './catalogue.ts'
import { settableEffects } from '../../core/effects.ts'
import { optionalTools } from './optional-tools.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { host } from '#leaf/who-decides.ts'

const file = 'config/tools.yaml'
const text = { type: 'string', minLength: 1 } as const
const names = { type: 'array', items: text, uniqueItems: true } as const
const roles = { ...names, items: references('role', text) } as const
const positive = { type: 'integer', minimum: 1 } as const

/** The schema of `config/tools.yaml`. */
export const toolsSchema = objectWith(
  {},
  {
    profiles: {
      type: 'object',
      additionalProperties: objectWith({ tools: { ...names, items: references('tool', text) } }, { roles }),
    },
    tools: {
      type: 'object',
      propertyNames: references('tool', {}),
      additionalProperties: objectWith(
        {},
        {
          enabled: { type: 'boolean' },
          roles: { oneOf: [{ const: 'all' }, roles] },
          category: { type: 'string', enum: ['read_only', 'write', 'read_write', 'privileged'] },
          confirm: { type: 'string', enum: ['never', 'client', 'page'] },
          timeout_seconds: host(positive),
          max_concurrent: host(positive),
          max_result_bytes: host({ type: 'integer', minimum: 1000 }),
          // `redact` lists argument paths that the audit log does not keep.
          redact: host(names),
        },
      ),
    },
  },
) satisfies JSONSchema

const checkTools = fileSchema(toolsSchema)

/** The site's setting for one tool; where it is silent, the tool itself decides. */
export interface ToolSetting extends Omit<Entry, 'roles'> {
  readonly enabled: boolean
  /** The roles that may use it. Undefined: the tool's own roles. Empty: everyone. */
  readonly roles?: readonly string[] | undefined
  readonly confirm: Confirmation
  /** The place of the setting, as `file:line`. */
  readonly source: string
}

type ToolsFile = FromSchema<typeof toolsSchema>
type Entry = NonNullable<ToolsFile['tools']>[string]

/** A profile: tools for people who hold one of the roles, or for everyone. */
export interface Profile {
  readonly name: string
  readonly roles?: readonly string[]
  readonly tools: readonly string[]
  readonly source: string
}

/** An immutable reading of `config/tools.yaml`. */
export interface ToolSettings {
  readonly settings: ReadonlyMap<string, ToolSetting>
  /** The profiles. When there are none, everyone is offered every tool that their roles allow. */
  readonly profiles: readonly Profile[]
}

/** Returns the names that references to tools may use: optional tools as well, and patterns. */
export function toolNames(names: readonly string[]): NameSet {
  const known = [...names, ...optionalTools, ...settableEffects]
  return { has: (name) => isKnown(name, known), keys: () => known }
}

/** Warns of the site's tools that no profile names, except perhaps by naming all for some roles. */
export function warnOfUnoffered(
  places: ReadonlyMap<string, Fault>,
  { profiles, settings }: ToolSettings,
  warnings: Fault[],
): void {
  const ofAll = profiles.filter(({ roles, tools }) => roles && tools.includes('*')).map(({ name }) => name)
  const named = profiles.flatMap(({ roles, tools }) => (roles ? tools.filter((name) => name !== '*') : tools))
  const whom = ofAll.length > 0 ? `those of the profile ${ofAll.join(', ')} alone` : 'nobody'
  for (const [name, here] of places)
    if (profiles.length > 0 && settings.get(name)?.enabled !== false && !isKnown(name, named))
      warnings.push({ ...here, message: `no profile in ${file} names "${name}": it is offered to ${whom}` })
}

/** True when the name is a tool's, or a pattern that means one, or one that fits a pattern whose names are not known yet. */
function isKnown(name: string, known: readonly string[]): boolean {
  return known.some((tool) => matchesName(name, tool) || matchesName(tool, name))
}

/** Reads the settings; `names` are those of the existing tools (`every_*` for names that are not known yet). */
export function readToolSettings(
  files: SiteFiles,
  faults: Fault[],
  { names, people, warnings }: { names: readonly string[]; people: People; warnings?: Fault[] },
): ToolSettings {
  const document = files.documents.get(file)
  const data = document && checkDocument<FromSchema<typeof toolsSchema>>(document, checkTools, faults)
  if (!document || !data) return { settings: new Map(), profiles: [] }
  checkReferences(document, toolsSchema, { tool: toolNames(names), role: people.roles }, faults)
  checkEffects(document, data, faults)
  const lineOf = (path: readonly string[]): string => `${file}:${document.fault(path, '', 'key').line}`
  const settings = new Map<string, ToolSetting>()
  for (const [name, entry] of Object.entries(data.tools ?? {})) {
    const roles = entry.roles === 'all' ? [] : (entry.roles as readonly string[] | undefined)
    if (entry.roles?.length === 0)
      warnings?.push(
        document.fault(
          ['tools', name, 'roles'],
          'is empty, so that everyone may; say all, or enabled: false',
        ),
      )
    settings.set(name, {
      ...entry,
      enabled: entry.enabled ?? true,
      roles,
      confirm: entry.confirm ?? 'never',
      source: lineOf(['tools', name]),
    })
  }
  const profiles = Object.entries(data.profiles ?? {}).map(([name, profile]): Profile => ({
    ...profile,
    name,
    source: lineOf(['profiles', name]),
  }))
  return { settings, profiles }
}

/** The settings that mean something for what is no tool. */
const effectKeys = new Set(['enabled', 'roles'])

/** Tells of settings that would do nothing: what is no tool is listed to no model, nor called. */
function checkEffects(document: SourceDocument, data: ToolsFile, faults: Fault[]): void {
  for (const name of settableEffects)
    for (const key of Object.keys(data.tools?.[name] ?? {}))
      if (!effectKeys.has(key))
        faults.push(
          document.fault(['tools', name, key], `${name} is no tool: only enabled and roles count`, 'key'),
        )
  for (const [profile, { tools }] of Object.entries(data.profiles ?? {}))
    for (const [at, name] of tools.entries())
      if (settableEffects.some((effect) => effect === name))
        faults.push(
          document.fault(
            ['profiles', profile, 'tools', at],
            `"${name}" is no tool: profiles do not decide about it`,
          ),
        )
}

/** True when a name, or the beginning of names with `*` behind it, means the tool. */
export function matchesName(pattern: string, tool: string): boolean {
  return pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool
}

/** Returns the setting that applies to a tool: its own, else that of the longest pattern. */
export function settingOf({ settings }: ToolSettings, tool: string): ToolSetting | undefined {
  const exact = settings.get(tool)
  if (exact) return exact
  const patterns = [...settings.keys()].filter((name) => name.endsWith('*') && matchesName(name, tool))
  return settings.get(patterns.sort((a, b) => b.length - a.length)[0] ?? '')
}

/** The tools that write what another one writes: whoever wants that one confirmed means these too. */
const writesAlso: Readonly<Record<string, readonly string[]>> = {
  bulk_update: ['update_document'],
  amend_document: ['create_document'],
  create_dashboard: ['create_document'],
  create_dashboard_chart: ['create_document'],
  create_document: ['submit_document'],
  run_workflow: ['update_document', 'submit_document', 'cancel_document'],
}
const strictest: readonly Confirmation[] = ['page', 'client', 'never']

/** Returns who must confirm a tool: as the site says for it, or for another tool that writes the same, whichever is stricter. */
export function confirmationOf(settings: ToolSettings, tool: string): Confirmation {
  const said = [tool, ...(writesAlso[tool] ?? [])].map(
    (name) => settingOf(settings, name)?.confirm ?? 'never',
  )
  return strictest.find((confirmation) => said.includes(confirmation))!
}
