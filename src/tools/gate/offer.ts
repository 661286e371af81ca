/** The one evaluator (D5): decides whether a principal may call a tool or have another effect, and by which rule. */
import { type EffectName, effects } from '../../core/effects.ts'
import { hasRole, type Principal } from '../../core/principal.ts'
import type { Offer } from './catalogue.ts'
import { matchesName, settingOf, type ToolSetting, type ToolSettings } from './read-tools.ts'
import type { Tool } from '../tool.ts'

/** Decides whether the principal may call the tool. */
export function offerOf(
  principal: Pick<Principal, 'roles' | 'toolLimit' | 'readOnly' | 'narrowing'>,
  tool: Pick<Tool, 'name' | 'roles' | 'category' | 'withheld'>,
  settings: ToolSettings,
): Offer {
  const setting = settingOf(settings, tool.name)
  const { refusal, reason, source } = permitted(principal, tool, setting)
  if (refusal) return { refusal, reason, source }
  const profile = settings.profiles.find(
    ({ roles, tools }) =>
      (roles === undefined || roles.some((role) => principal.roles.has(role))) &&
      tools.some((pattern) => matchesName(pattern, tool.name)),
  )
  if (!profile && settings.profiles.length > 0)
    return {
      refusal: 'forbidden',
      reason: 'no profile of the user has the tool',
      source: 'config/tools.yaml',
    }
  if (tool.withheld !== undefined) return { refusal: 'withheld', reason: tool.withheld, source: 'its state' }
  return profile
    ? { reason: `in the profile ${profile.name}`, source: profile.source }
    : { reason: 'no profiles: every tool that the roles allow', source }
}

/** Decides whether the principal may do what is no tool. Settings and limits mean it by its name. */
export function offerOfEffect(
  principal: Principal,
  name: EffectName,
  { settings }: Pick<ToolSettings, 'settings'>,
): Offer {
  const { by, category, roles } = effects[name]
  if (by === 'browser' && principal.client)
    return { refusal: 'forbidden', reason: 'only a person at a browser may', source: 'built in' }
  const who = by === 'settable' ? principal : { roles: principal.roles }
  return permitted(who, { name, category, roles }, by === 'settable' ? settings.get(name) : undefined)
}

/** Decides by what holds for tools and other effects alike: the switch, roles, and the limits of client, grant and request. */
function permitted(
  principal: Pick<Principal, 'roles' | 'toolLimit' | 'readOnly' | 'narrowing'>,
  { name, roles: own = [], category }: Pick<Tool, 'name' | 'roles' | 'category'>,
  setting: ToolSetting | undefined,
): Offer {
  const source = setting?.source ?? 'built in'
  if (setting && !setting.enabled) return { refusal: 'disabled', reason: 'it is switched off', source }
  // Rules go from the most general to the most special: the reason given is the first that refuses.
  const roles = setting?.roles ?? own
  if (roles.length > 0 && !roles.some((role) => hasRole(principal, role)))
    return { refusal: 'forbidden', reason: `needs one of the roles ${roles.join(', ')}`, source }
  if (principal.toolLimit && !principal.toolLimit.some((pattern) => matchesName(pattern, name)))
    return { refusal: 'forbidden', reason: 'the client may not use it', source: 'config/clients.yaml' }
  const onlyReads = category === 'read_only' && (setting?.category ?? 'read_only') === 'read_only'
  if (principal.readOnly && !onlyReads)
    return {
      refusal: 'forbidden',
      reason: 'the user allowed this client to read only',
      source: 'connected apps',
    }
  const { only = [], without = [], readOnly = false } = principal.narrowing ?? {}
  const isIn = (list: readonly string[]): boolean => list.some((pattern) => matchesName(pattern, name))
  if (!only.every(isIn) || isIn(without) || (readOnly && !onlyReads))
    return {
      refusal: 'forbidden',
      reason: 'the request asked to do without it',
      source: 'its address or headers',
    }
  return { reason: 'the roles allow it', source }
}
