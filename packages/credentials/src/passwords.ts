/** Users' passwords: argon2id, and the same time for users that do not exist. */
import { hash, verify } from '@node-rs/argon2'
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Collection, Stored } from '#state/store.ts'
import { isCommon } from './common-passwords.ts'
import { type Holder, knownUser, type Parts } from './holders.ts'

interface PasswordRecord extends Stored {
  readonly hash: string
  readonly changedAt: number
}

// OWASP's floor: 19 MiB, two passes; 7 ms on one core.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const leastLength = 12
const mostLength = 1024

/** The passwords of all users. */
export class Passwords {
  readonly #deps: Parts
  readonly #passwords: Collection<PasswordRecord>
  /** The hash compared with when there is no password, so that an attempt takes as long. */
  #decoy: Promise<string> | undefined

  constructor(deps: Parts) {
    this.#deps = deps
    this.#passwords = deps.store.collection<PasswordRecord>({ name: 'users.password' })
  }

  /** Sets a user's password. AppError `invalid` with every rule that it breaks, `not_found` for no such user. */
  async set(email: string, password: string): Promise<void> {
    const user = this.check(email, password)
    await this.#passwords.put({
      id: user.id,
      hash: await hash(normal(password), cost),
      changedAt: this.#deps.clock.now(),
    })
  }

  /** Checks a password: throws what `set` would, and sets nothing. */
  check(email: string, password: string): Holder {
    const user = knownUser(this.#deps.people(), email)
    const faults = passwordFaults(password, user.id)
    if (faults.length > 0) throw new AppError('invalid', faults.join('; '))
    return user
  }

  /** True when this is the user's password; false, as slowly, for a user without one. */
  async matches(email: string, password: string): Promise<boolean> {
    const user = this.#deps.people().find(email)
    const record = user && (await this.#passwords.get(user.id))
    this.#decoy ??= hash(randomId(), cost)
    const right = await verify(record?.hash ?? (await this.#decoy), normal(password.slice(0, mostLength + 1)))
    return right && record !== undefined
  }

  /** Forgets a user's password: nobody signs in with one until another is chosen. */
  async remove(user: string): Promise<void> {
    await this.#passwords.delete(user)
  }

  /** True when a user has a password. */
  async has(email: string): Promise<boolean> {
    const user = this.#deps.people().find(email)
    return user !== undefined && (await this.#passwords.get(user.id)) !== undefined
  }

  /**
   * Makes a password for that user on the first start of all, when no user has one, and returns it, to be shown this
   * once. Undefined when there is nothing to do.
   */
  async makeFirst(email: string): Promise<string | undefined> {
    const user = this.#deps.people().find(email)
    if ((await this.#passwords.count()) > 0 || !user?.enabled) return undefined
    const password = randomId()
    const record = { id: user.id, hash: await hash(password, cost), changedAt: this.#deps.clock.now() }
    // Of several daemons that start together, one makes it.
    return await this.#deps.store.transaction(async (tx) => {
      const passwords = tx.in(this.#passwords)
      if ((await passwords.count()) > 0) return undefined
      await passwords.insert(record)
      return password
    })
  }
}

function passwordFaults(password: string, user: string): string[] {
  const length = Array.from(password).length
  const plain = normal(password).toLowerCase()
  return [
    ...(length < leastLength ? [`the password must have at least ${leastLength} characters`] : []),
    ...(length > mostLength ? [`the password must have at most ${mostLength} characters`] : []),
    ...(plain.trim() === '' || isCommon(plain) ? ['the password is one of those tried first'] : []),
    ...(plain === user.toLowerCase() ? ['the password is the user name'] : []),
  ]
}

/** Normalizes a password to the same characters, however a keyboard composes them (NIST SP 800-63B §5.1.1.2). */
function normal(password: string): string {
  return password.normalize('NFKC')
}
