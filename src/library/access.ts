/** Who may see which template and skill: the one rule that every list, lookup, search and method asks. */
import { assistantUser, systemManager, type Principal } from '../core/principal.ts'
import type { PromptStatus, Visibility } from './words.ts'

/** What decides who may see a thing of the library. */
export interface Guarded {
  readonly status: PromptStatus
  readonly visibility: Visibility
  readonly sharedWithRoles: readonly string[]
  readonly isSystem: boolean
  readonly owner: string
}

/**
 * Whether lists show the thing to this principal. Owners see their own in every status; everybody else
 * only what is Published (specification §3.3) and reaches their roles (§5.6).
 */
export function maySee(principal: Pick<Principal, 'user' | 'roles'>, thing: Guarded): boolean {
  return isOwner(principal, thing) || reaches(principal.roles, thing)
}

/** Whether the thing exists for this principal who asks for it: for System Managers everything does (§5.6). */
export function mayGet(principal: Pick<Principal, 'user' | 'roles'>, thing: Guarded): boolean {
  return maySee(principal, thing) || principal.roles.has(systemManager)
}

/** Whether anybody with these roles sees the thing, whoever they are. */
export function reaches(roles: ReadonlySet<string>, thing: Guarded): boolean {
  if (thing.status !== 'Published') return false
  if (roles.has(systemManager) || thing.isSystem) return true
  if (thing.visibility === 'Public') return roles.has(assistantUser)
  return thing.visibility === 'Shared' && thing.sharedWithRoles.some((role) => roles.has(role))
}

/** Whether the principal may change a thing that is not built in: its owner or a System Manager (§9.9). */
export function mayChange(principal: Pick<Principal, 'user' | 'roles'>, thing: Guarded): boolean {
  return isOwner(principal, thing) || principal.roles.has(systemManager)
}

/** Whether a thing is offered to others than one that was there before, whatever its status. */
export function isWider(now: Guarded, before: Guarded | undefined): boolean {
  if (now.visibility === 'Private' || before?.visibility === 'Public') return false
  if (now.visibility === 'Public' || before?.visibility !== 'Shared') return true
  return now.sharedWithRoles.some((role) => !before.sharedWithRoles.includes(role))
}

function isOwner(principal: Pick<Principal, 'user'>, thing: Guarded): boolean {
  return thing.owner !== '' && thing.owner === principal.user
}
