/** Access to templates and skills: the one rule that every list, lookup, search and method asks. */
import { AppError } from '#leaf/errors.ts'
import { type EffectName, effects, type RefusalOf } from '../core/effects.ts'
import { assistantUser, systemManager, type Principal } from '../core/principal.ts'
import type { Fault, SourceDocument } from '#site/site-files.ts'
import type { Guarded } from './words.ts'

/**
 * True when lists show the thing to this principal. Owners see their own in every status; everybody else
 * sees only what is Published (specification §3.3) and reaches their roles (§5.6).
 */
export function maySee(principal: Pick<Principal, 'user' | 'roles'>, thing: Guarded): boolean {
  return isOwner(principal, thing) || reaches(principal.roles, thing)
}

/** True when a principal who asks for the thing may get it: System Managers may get everything (§5.6). */
export function mayGet(principal: Pick<Principal, 'user' | 'roles'>, thing: Guarded): boolean {
  return maySee(principal, thing) || principal.roles.has(systemManager)
}

/** True when everybody with these roles sees the thing, whoever they are. */
export function reaches(roles: ReadonlySet<string>, thing: Guarded): boolean {
  if (thing.status !== 'Published') return false
  if (roles.has(systemManager) || thing.isSystem) return true
  if (thing.visibility === 'Public') return roles.has(assistantUser)
  return thing.visibility === 'Shared' && thing.sharedWithRoles.some((role) => roles.has(role))
}

/** True when the principal may change a thing that is not built in: its owner or a System Manager may (§9.9). */
export function mayChange(principal: Pick<Principal, 'user' | 'roles'>, thing: Guarded): boolean {
  return isOwner(principal, thing) || principal.roles.has(systemManager)
}

/** True when others than the owner and System Managers may see the thing. */
export function isOffered({ status, visibility, isSystem }: Guarded): boolean {
  return status === 'Published' && (visibility !== 'Private' || isSystem)
}

/** True when the thing is offered to more people than the one that it replaces, whatever their status. */
export function isWider(now: Guarded, before: Guarded | undefined): boolean {
  if (now.visibility === 'Private' || before?.visibility === 'Public') return false
  if (now.visibility === 'Public' || before?.visibility !== 'Shared') return true
  return now.sharedWithRoles.some((role) => !before.sharedWithRoles.includes(role))
}

/** Returns the faults in the settings of a thing's file that say who may see it. */
export function visibilityFaults(
  document: SourceDocument,
  noun: string,
  { visibility, sharedWithRoles, isSystem, owner }: Omit<Guarded, 'status'>,
): Fault[] {
  const isShared = sharedWithRoles.length > 0
  const at = (key: string, message: string): Fault[] => [document.fault([key], message)]
  if (visibility === 'Shared')
    return isShared ? [] : at('visibility', `a Shared ${noun} needs shared_with_roles`)
  const given = Object.hasOwn(document.data as object, 'visibility') ? '' : ' (the default)'
  const isNobodys = visibility === 'Private' && owner === '' && !isSystem
  return [
    ...(isShared ? at('shared_with_roles', `counts only for visibility Shared, not ${visibility}`) : []),
    ...(isNobodys ? at('visibility', `a Private ${noun}${given} needs an owner`) : []),
  ]
}

function isOwner(principal: Pick<Principal, 'user'>, thing: Guarded): boolean {
  return thing.owner !== '' && thing.owner === principal.user
}

/** Requires that the principal may do what is no tool. AppError `forbidden` with the reason. */
export function requireEffect(refusalOf: RefusalOf, principal: Principal, name: EffectName): void {
  const why = refusalOf(principal, name)
  if (why !== undefined) throw new AppError('forbidden', `${effects[name].title}: not allowed, ${why}`)
}
