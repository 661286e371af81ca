/** One person or service identity of `config/users.yaml`. */
export interface User {
  /** E-mail address, lower case. */
  readonly id: string
  readonly fullName: string
  /** false: no sign-in, and every token and key is refused at once. */
  readonly enabled: boolean
  /** Specification §2.4; off unless the file says 1. */
  readonly assistantEnabled: boolean
  readonly roles: ReadonlySet<string>
  /** `file:line` of the entry, for explanations. */
  readonly source: string
}

/** One role of `config/roles.yaml`. */
export interface Role {
  readonly name: string
  readonly description: string
  readonly source: string
}

/** One immutable reading of users and roles. */
export interface People {
  readonly users: ReadonlyMap<string, User>
  readonly roles: ReadonlyMap<string, Role>
  /** The user of that e-mail address, in whatever case it is written. */
  find(email: string): User | undefined
}
