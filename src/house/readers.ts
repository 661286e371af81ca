/** Readers of the site's texts for models, and what they have: authors are warned of texts that name what readers lack. */
import { assistantUser, principalFor } from '../core/principal.ts'
import { accessTo } from '../documents/permission.ts'
import type { Platform } from '../documents/platform/platform.ts'
import { namesIn } from '../library/check-library.ts'
import type { Readers } from '../library/prompts/lint.ts'
import { doctypeOfDoctypes } from '../library/words.ts'
import { settingsFile } from '../settings/read-settings.ts'
import { documentsIn, type Fault, type SiteFiles } from '#site/site-files.ts'
import { offerOf } from '../tools/gate/offer.ts'
import { optionalRoles, optionalTools } from '../tools/gate/optional-tools.ts'
import type { OwnDefinitions } from '../tools/own/read-own-tools.ts'
import type { ToolSettings } from '../tools/gate/read-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { People } from '../users/people.ts'

interface ReadSoFar {
  readonly people: People
  readonly platform: Platform
  readonly own: OwnDefinitions
  readonly toolSettings: ToolSettings
  readonly tools: readonly Tool[]
}

/** Returns everybody who may use the service, by roles; as if this machine could offer every tool. */
export function readersOf({ people, platform, own, toolSettings, tools }: ReadSoFar): Readers[] {
  const optional = optionalTools.map((name) => ({
    name,
    category: 'read_only' as const,
    roles: optionalRoles[name] ?? [],
  }))
  const defined = [...own.http, ...own.sql].map(({ tool, roles }) => ({
    name: tool,
    category: 'read_only' as const,
    roles: roles ?? [],
  }))
  const all = [...tools, ...optional, ...defined, ...own.modules.flatMap(({ tools }) => tools)]
  const groups = new Map<string, Readers & { readonly users: string[] }>()
  for (const user of people.users.values()) {
    if (!user.enabled || !user.assistantEnabled || !user.roles.has(assistantUser)) continue
    const principal = principalFor(user, 'check')
    const known = groups.get(principal.roleKey)
    if (known) {
      known.users.push(user.id)
      continue
    }
    const isOpen = (action: 'read' | 'create') => (name: string) =>
      accessTo(principal, platform.doctypes.get(name)!, 0).may(action)
    const doctypes = [...platform.doctypes.values()]
      .filter(({ child, name }) => child || isOpen('read')(name) || isOpen('create')(name))
      .map(({ name }) => name)
    groups.set(principal.roleKey, {
      users: [user.id],
      roles: user.roles,
      tools: new Set(
        all
          .filter((tool) => offerOf(principal, tool, toolSettings).refusal === undefined)
          .map(({ name }) => name),
      ),
      doctypes: new Set([...doctypes, doctypeOfDoctypes]),
    })
  }
  return [...groups.values()]
}

/** Warns of names in the instructions and in own tools' descriptions that some of their readers do not have. */
export function checkGuidance(
  files: SiteFiles,
  warnings: Fault[],
  names: { readonly toolNames: ReadonlySet<string>; readonly doctypeNames: ReadonlySet<string> },
  readers: readonly Readers[],
): void {
  const settings = files.documents.get(settingsFile)
  for (const document of [...(settings ? [settings] : []), ...documentsIn(files, 'config/tools/')]) {
    const data = (document.data ?? {}) as {
      mcp?: { instructions?: unknown }
      tool?: unknown
      description?: unknown
    }
    const isTool = document !== settings
    const text = isTool ? data.description : data.mcp?.instructions
    const path = isTool ? ['description'] : ['mcp', 'instructions']
    const whom = isTool ? readers.filter(({ tools }) => tools.has(String(data.tool))) : readers
    if (typeof text === 'string') warnings.push(...namesIn(document, text, names, new Set(), whom, path))
  }
}
