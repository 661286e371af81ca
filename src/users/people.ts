import { AppError } from '#leaf/errors.ts'

/** A person or service identity of `config/users.yaml`. */
export interface User {
  /** E-mail address, lower case. */
  readonly id: string
  readonly fullName: string
  /** When false, the user cannot sign in, and every token and key is refused at once. */
  readonly enabled: boolean
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
export interface People {
  readonly users: ReadonlyMap<string, User>
  readonly roles: ReadonlyMap<string, Role>
  /** Finds the user of exactly that e-mail address, in any case; the places where people type remove blanks. */
  find(email: string): User | undefined
}

/** Makes the people of one reading, with a look-up. */
export function peopleOf({ users, roles }: Pick<People, 'users' | 'roles'>): People {
  return { users, roles, find: (email) => users.get(email.toLowerCase()) }
}

/** Finds the user of that address. AppError `not_found`. */
export function knownUser(people: Pick<People, 'find'>, email: string): User {
  const user = people.find(email)
  if (!user) throw new AppError('not_found', `no user ${email}`)
  return user
}
