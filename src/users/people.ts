import type { Holder, Holders } from '#credentials/holders.ts'
import { linesOf, type Settings } from '../core/settings.ts'

/** A person or service identity of `config/users.yaml`. */
export interface User extends Holder {
  readonly fullName: string
  /** True when the user may use the assistant (specification §2.4); off unless the file says 1. */
  readonly assistantEnabled: boolean
  readonly roles: ReadonlySet<string>
  /** `file:line` of the entry, for explanations. */
  readonly source: string
}

/** A role of `config/roles.yaml`. */
export interface Role {
  readonly name: string
  readonly description: string
  readonly source: string
}

/** An immutable reading of users and roles. */
export interface People extends Holders<User> {
  readonly users: ReadonlyMap<string, User>
  readonly roles: ReadonlyMap<string, Role>
}

/** Makes the people of one reading, with a look-up. */
export function peopleOf({ users, roles }: Pick<People, 'users' | 'roles'>): People {
  return { users, roles, find: (email) => users.get(email.toLowerCase()) }
}

/** True when a role of the user needs more than a password to sign in. */
export function needsSecondFactor(user: Pick<User, 'roles'>, { login }: Pick<Settings, 'login'>): boolean {
  return linesOf(login.second_factor_roles).some((role) => user.roles.has(role))
}
