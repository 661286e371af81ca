/** Signing in with a password: one answer for every reason to refuse, and growing delays after failures. */
import type { Audit } from '#audit/audit.ts'
import { networkKey } from '#leaf/address.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import type { Transaction } from '#state/store.ts'
import type { Holder, Parts } from './holders.ts'
import type { Passwords } from './passwords.ts'

/** The outcome of an attempt. */
export type SignInOutcome<H extends Holder> =
  | { readonly kind: 'signed_in'; readonly user: H }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number }

interface Origin {
  readonly request_id: string
  readonly address: string
}

interface Attempt {
  readonly username: string
  readonly origin: Origin
  readonly keys: Keys
  readonly method: 'password' | 'code' | 'passkey'
}

type Keys = Readonly<Record<'pair' | 'user' | 'address', string>>

// One person at one place may err five times. Everybody's attempts on one user together, and everything from one
// address, are slowed as well, later and less: an attacker with many addresses must not lock the user out. `free` is
// how many failures have no delay, `longest` the longest delay in milliseconds.
const rules = {
  pair: { free: 5, longest: 900_000 },
  user: { free: 30, longest: 60_000 },
  address: { free: 50, longest: 300_000 },
}

const forgottenAfter = 3_600_000
const mostKeys = 20_000

export interface SignInParts<H extends Holder> extends Parts<H> {
  readonly passwords: Pick<Passwords, 'matches'>
  readonly audit: Pick<Audit, 'record'>
  /** What processes of one state tell each other of attempts. */
  readonly attempts: {
    announce(transaction: Transaction, text: string): void
    hear(heard: (text: string) => void): void
  }
}

/** The one place that checks passwords at sign-in. */
export class SignIn<H extends Holder> {
  readonly #deps: SignInParts<H>
  readonly #failures = new Map<string, { readonly count: number; readonly blockedUntil: number }>()
  /** The id by which this process recognizes its own messages. */
  readonly #self = randomId()

  constructor(deps: SignInParts<H>) {
    this.#deps = deps
    deps.attempts.hear((text) => this.#hear(text))
  }

  /** Tries a password. A person who must wait is not tried at all, right or wrong. */
  async attempt(
    attempt: { readonly username: string; readonly password: string },
    origin: Origin,
  ): Promise<SignInOutcome<H>> {
    const username = attempt.username.trim().toLowerCase().slice(0, 254)
    const keys = keysOf(username, origin.address)
    return this.#try({ username, origin, keys, method: 'password' }, () =>
      this.#deps.passwords.matches(username, attempt.password),
    )
  }

  /** Tries the second step. It is counted apart, or each right password would pardon guesses at the second step. */
  async attemptSecond(
    username: string,
    origin: Origin,
    method: 'code' | 'passkey',
    isRight: () => Promise<boolean>,
  ): Promise<SignInOutcome<H>> {
    const keys = keysOf(`second factor of ${username}`, origin.address)
    return this.#try({ username, origin, keys, method }, isRight)
  }

  async #try(
    { username, origin, keys, method }: Attempt,
    isRight: () => Promise<boolean>,
  ): Promise<SignInOutcome<H>> {
    const tell = (type: string, status: 'ok' | 'denied', user: string): Promise<void> =>
      this.#deps.audit.record({ type, status, user, ...origin, data: { method } })
    const wait = this.#wait(keys)
    if (wait > 0) {
      await tell('sign_in.wait', 'denied', username)
      return { kind: 'wait', seconds: Math.ceil(wait / 1000) }
    }
    // The attempt is counted before the proof is checked, so simultaneous guesses count one by one.
    this.#count(keys)
    await this.#tellOthers('tried', keys)
    const right = await isRight()
    const user = this.#deps.people().find(username)
    if (!right || !user?.enabled) {
      await tell('sign_in.fail', 'denied', username)
      return { kind: 'refused' }
    }
    this.#forget(keys)
    await this.#tellOthers('right', keys)
    await tell('sign_in.ok', 'ok', user.id)
    return { kind: 'signed_in', user }
  }

  #wait(keys: Keys): number {
    const now = this.#deps.clock.now()
    return Math.max(...Object.values(keys).map((key) => (this.#failures.get(key)?.blockedUntil ?? 0) - now))
  }

  #count(keys: Keys): void {
    const now = this.#deps.clock.now()
    for (const kind of ['pair', 'user', 'address'] as const) {
      const known = this.#failures.get(keys[kind])
      const stale = known === undefined || now - known.blockedUntil > forgottenAfter
      const count = stale ? 1 : known.count + 1
      const { free, longest } = rules[kind]
      const delay = count < free ? 0 : Math.min(longest, 1000 * 2 ** Math.min(count - free, 20))
      // The entry is set anew, so that the map stays in order of use and the oldest goes first.
      this.#failures.delete(keys[kind])
      this.#failures.set(keys[kind], { count, blockedUntil: now + delay })
    }
    while (this.#failures.size > mostKeys) this.#failures.delete(this.#failures.keys().next().value!)
  }

  #forget({ pair, user, address }: Keys): void {
    this.#failures.delete(pair)
    this.#failures.delete(user)
    const known = this.#failures.get(address)
    if (known) this.#failures.set(address, { count: known.count - 1, blockedUntil: this.#deps.clock.now() })
  }

  /** Tells the other daemons, so that each counts every attempt: an attacker who goes from one to the next waits as long. */
  async #tellOthers(what: 'tried' | 'right', { pair, user, address }: Keys): Promise<void> {
    const text = [this.#self, what, pair, user, address].join(' ')
    const { store, attempts } = this.#deps
    await store.transaction(async (transaction) => attempts.announce(transaction, text))
  }

  #hear(text: string): void {
    const [from, what, pair, user, address] = text.split(' ')
    if (from === this.#self || !pair || !user || !address) return
    if (what === 'tried') this.#count({ pair, user, address })
    else if (what === 'right') this.#forget({ pair, user, address })
  }
}

// The keys are digests: of one length and without blanks, whatever somebody types as a name.
function keysOf(username: string, from: string): Keys {
  const address = networkKey(from)
  return {
    pair: sha256(`pair ${username} ${address}`),
    user: sha256(`user ${username}`),
    address: sha256(`address ${address}`),
  }
}
