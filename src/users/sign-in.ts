/** Signing in with a password: one answer for every reason to refuse, and growing delays after failures. */
import type { Audit } from '../audit/audit.ts'
import { networkKey } from '../core/address.ts'
import type { Clock } from '../core/clock.ts'
import type { Passwords } from './passwords.ts'
import type { People, User } from './people.ts'

/** What came of an attempt. */
export type SignInOutcome =
  | { readonly kind: 'signed_in'; readonly user: User }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number }

interface Failures {
  readonly count: number
  readonly blockedUntil: number
}

interface Rule {
  /** Failures that cost nothing. */
  readonly free: number
  readonly longest: number
}

// One person at one place may err five times. Everybody's attempts on one user together, and everything from one
// address, are slowed as well, later and less: an attacker with many addresses must not lock the user out.
const rules = {
  pair: { free: 5, longest: 900_000 },
  user: { free: 30, longest: 60_000 },
  address: { free: 50, longest: 300_000 },
} as const satisfies Record<string, Rule>

const forgottenAfter = 3_600_000
const mostKeys = 20_000

/** The door that passwords go through. */
export class SignIn {
  readonly #clock: Clock
  readonly #people: () => People
  readonly #passwords: Passwords
  readonly #audit: Audit
  readonly #failures = new Map<string, Failures>()

  constructor(deps: { clock: Clock; people: () => People; passwords: Passwords; audit: Audit }) {
    this.#clock = deps.clock
    this.#people = deps.people
    this.#passwords = deps.passwords
    this.#audit = deps.audit
  }

  /** Tries a password. Whoever must wait is not tried at all, right or wrong. */
  async attempt(
    attempt: { readonly username: string; readonly password: string },
    origin: { readonly request_id: string; readonly address: string },
  ): Promise<SignInOutcome> {
    const username = attempt.username.trim().toLowerCase().slice(0, 254)
    const keys = keysOf(username, origin.address)
    const wait = this.#wait(keys)
    if (wait > 0) {
      await this.#tell('sign_in.wait', 'denied', username, origin)
      return { kind: 'wait', seconds: Math.ceil(wait / 1000) }
    }
    // Counted before the password is looked at: simultaneous guesses count one by one.
    this.#count(keys)
    const right = await this.#passwords.matches(username, attempt.password)
    const user = this.#people().find(username)
    if (!right || !user?.enabled) {
      await this.#tell('sign_in.fail', 'denied', username, origin)
      return { kind: 'refused' }
    }
    this.#failures.delete(keys.pair)
    this.#failures.delete(keys.user)
    this.#uncount(keys.address)
    await this.#tell('sign_in.ok', 'ok', user.id, origin)
    return { kind: 'signed_in', user }
  }

  #wait(keys: Record<keyof typeof rules, string>): number {
    const now = this.#clock.now()
    return Math.max(...Object.values(keys).map((key) => (this.#failures.get(key)?.blockedUntil ?? 0) - now))
  }

  #count(keys: Record<keyof typeof rules, string>): void {
    const now = this.#clock.now()
    for (const kind of ['pair', 'user', 'address'] as const) {
      const known = this.#failures.get(keys[kind])
      const stale = known === undefined || now - known.blockedUntil > forgottenAfter
      const count = stale ? 1 : known.count + 1
      const { free, longest } = rules[kind]
      const delay = count < free ? 0 : Math.min(longest, 1000 * 2 ** Math.min(count - free, 20))
      // Set anew, so that the map stays in order of use and the oldest goes first.
      this.#failures.delete(keys[kind])
      this.#failures.set(keys[kind], { count, blockedUntil: now + delay })
    }
    while (this.#failures.size > mostKeys) this.#failures.delete(this.#failures.keys().next().value!)
  }

  #uncount(key: string): void {
    const known = this.#failures.get(key)
    if (known) this.#failures.set(key, { count: known.count - 1, blockedUntil: this.#clock.now() })
  }

  async #tell(
    type: string,
    status: 'ok' | 'denied',
    user: string,
    origin: { readonly request_id: string; readonly address: string },
  ): Promise<void> {
    await this.#audit.record({ type, status, user, ...origin, data: { method: 'password' } })
  }
}

function keysOf(username: string, from: string): Record<keyof typeof rules, string> {
  const address = networkKey(from)
  return { pair: `pair ${username} ${address}`, user: `user ${username}`, address: `address ${address}` }
}
