/** The one evaluator of tools (D5): whether a principal is offered a tool, and which rule decides. */
import { hasRole, type Principal } from '../core/principal.ts'
import type { Refusal } from './catalogue.ts'
import { matchesName, settingOf, type ToolSettings } from './read-tools.ts'
import type { Tool } from './tool.ts'

/** The answer and its reason, with `file:line` of the deciding rule where there is one. */
export interface Offer {
  readonly refusal?: Exclude<Refusal, 'unknown'>
  readonly reason: string
  readonly source: string
}

/** Decides whether the principal may call the tool. */
export function offerOf(
  principal: Pick<Principal, 'roles' | 'toolLimit' | 'readOnly'>,
  tool: Pick<Tool, 'name' | 'roles' | 'category'>,
  settings: ToolSettings,
): Offer {
  const setting = settingOf(settings, tool.name)
  const source = setting?.source ?? 'built in'
  if (setting && !setting.enabled) return { refusal: 'disabled', reason: 'the tool is disabled', source }
  // From the most general rule to the most special: the reason that is told is the first that refuses.
  const roles = setting?.roles ?? tool.roles ?? []
  if (roles.length > 0 && !roles.some((role) => hasRole(principal, role)))
    return { refusal: 'forbidden', reason: `needs one of the roles ${roles.join(', ')}`, source }
  if (principal.toolLimit && !principal.toolLimit.some((pattern) => matchesName(pattern, tool.name)))
    return { refusal: 'forbidden', reason: 'the client may not use this tool', source: 'config/clients.yaml' }
  if (
    principal.readOnly &&
    (tool.category !== 'read_only' || (setting?.category ?? 'read_only') !== 'read_only')
  )
    return {
      refusal: 'forbidden',
      reason: 'the user allowed this client to read only',
      source: 'connected apps',
    }
  if (settings.profiles.length === 0)
    return { reason: 'no profiles: every tool that the roles allow', source }
  const profile = settings.profiles.find(
    ({ roles, tools }) =>
      (roles === undefined || roles.some((role) => principal.roles.has(role))) &&
      tools.some((pattern) => matchesName(pattern, tool.name)),
  )
  if (!profile)
    return {
      refusal: 'forbidden',
      reason: 'no profile of the user has the tool',
      source: 'config/tools.yaml',
    }
  return { reason: `in the profile ${profile.name}`, source: profile.source }
}
