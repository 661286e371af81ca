import { assistantAdmin, auditor, hasRole, type Principal, systemManager } from './principal.ts'

/** What can be done otherwise than by calling a tool. */
interface Effect {
  /** The name that people read. */
  readonly title: string
  readonly category: 'read_only' | 'write' | 'privileged'
  /** The roles of which one is needed; empty: everyone who may use the service. */
  readonly roles: readonly string[]
  /**
   * `settable`: programs may have it, as far as the site's settings of tools and clients, and the grant, allow;
   * `always`: programs have it, as the visibility of each thing decides (specification §5.6); `browser`: only people have it, on pages, which take no token.
   */
  readonly by: 'settable' | 'always' | 'browser'
}

/** Everything that has an effect and is no tool, by its name: consent, explanations, settings and pages read it. */
export const effects = {
  use_library: { title: 'Use prompts and skills', category: 'read_only', roles: [], by: 'always' },
  preview_prompts: { title: 'Preview prompts', category: 'read_only', roles: [], by: 'settable' },
  write_prompts: { title: 'Write prompts', category: 'write', roles: [], by: 'settable' },
  manage_access: { title: 'Manage own access', category: 'privileged', roles: [], by: 'browser' },
  read_log: { title: 'Read the audit log', category: 'read_only', roles: [auditor], by: 'browser' },
  administer: { title: 'Administer', category: 'privileged', roles: [assistantAdmin], by: 'browser' },
  manage_people: { title: 'Manage people', category: 'privileged', roles: [systemManager], by: 'browser' },
  edit_site: { title: 'Edit the site', category: 'privileged', roles: [systemManager], by: 'browser' },
} as const satisfies Readonly<Record<string, Effect>>

/** The name of an effect. */
export type EffectName = keyof typeof effects

/** All names, in the order of the table. */
export const effectNames = Object.keys(effects) as readonly EffectName[]

/** Those that `config/tools.yaml` and `config/clients.yaml` may name beside tools. */
export const settableEffects: readonly EffectName[] = effectNames.filter(
  (name) => effects[name].by === 'settable',
)

/** True when the roles allow it to a person at a browser. */
export function mayAtBrowser(user: Pick<Principal, 'roles'>, name: EffectName): boolean {
  const roles: readonly string[] = effects[name].roles
  return roles.length === 0 || roles.some((role) => hasRole(user, role))
}

/** True when somebody may shut another out at a browser: only who has there every power that the other has. */
export function mayShutOut(user: Pick<Principal, 'roles'>, other: Pick<Principal, 'roles'>): boolean {
  return effectNames.every((name) => !mayAtBrowser(other, name) || mayAtBrowser(user, name))
}

/** Tells whether a principal may do something that is no tool: the reason why not, or undefined. */
export type RefusalOf = (principal: Principal, name: EffectName) => string | undefined
