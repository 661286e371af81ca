/** Browser sessions, kept on the server under the hash of a secret that only the browser's cookie has. */
import { randomSecret, sha256 } from '#leaf/secrets.ts'
import type { Collection, Stored } from '#state/store.ts'
import type { Accounts, Proofs } from './accounts.ts'
import type { Holder, Parts } from './holders.ts'

/** The method by which somebody proved who they are. */
export type SignInMethod = 'password' | 'oidc' | 'passkey'

/** The data of a browser that signs in. */
export interface NewSession extends Pick<Session, 'user' | 'method' | 'address' | 'agent' | 'pending'> {
  /** The time when the user proved who they are, if not just now. */
  readonly authTime?: number
}

/** Milliseconds that a pending session lasts: whoever has the password alone must be quick. */
const pendingMilliseconds = 600_000

/** A signed-in browser. */
export interface Session extends Stored {
  readonly user: string
  /** The time when the user proved who they are, in milliseconds. */
  readonly authTime: number
  readonly method: SignInMethod
  readonly address: string
  /** The browser's `User-Agent`. */
  readonly agent?: string
  /** The step that is missing before anybody is signed in: proving the second factor, or setting one up. */
  readonly pending?: 'prove' | 'enrol'
  readonly expiresAt: number
}

/** A session together with its user as of now. */
export interface SignedIn<H extends Holder, P extends Proofs> {
  readonly session: Session
  readonly user: H
  readonly account: P
  /** The cookie's value, to which forms of this browser are bound. */
  readonly secret: string
}

export interface SessionParts<H extends Holder, P extends Proofs> extends Parts<H> {
  readonly accounts: Accounts<P>
  /** The hours that a session lasts which begins now. */
  readonly sessionHours: () => number
}

/** All sessions. */
export class Sessions<H extends Holder, P extends Proofs> {
  readonly #deps: SessionParts<H, P>
  readonly #sessions: Collection<Session>

  constructor(deps: SessionParts<H, P>) {
    this.#deps = deps
    this.#sessions = deps.store.collection<Session>({
      name: 'users.session',
      indexes: ['user'],
      expires: 'expiresAt',
    })
  }

  /** Opens a session and returns its secret. Every sign-in gets a new one, so none can be planted beforehand. */
  async open(session: NewSession): Promise<string> {
    const { user, method, address, agent, pending, authTime = this.#deps.clock.now() } = session
    const secret = randomSecret('ac_ss_')
    const lasts = pending ? pendingMilliseconds : this.#deps.sessionHours() * 3_600_000
    await this.#sessions.insert({
      id: sha256(secret),
      user,
      authTime,
      method,
      address,
      ...(agent && { agent: agent.slice(0, 300) }),
      ...(pending && { pending }),
      expiresAt: authTime + lasts,
    })
    return secret
  }

  /** Returns the session of that secret, while it lasts and its user may sign in. */
  async find(secret: string | undefined): Promise<SignedIn<H, P> | undefined> {
    const found = await this.#find(secret)
    return found?.session.pending ? undefined : found
  }

  /** Returns the session of that secret that still lacks a step. */
  async findPending(secret: string | undefined): Promise<SignedIn<H, P> | undefined> {
    const found = await this.#find(secret)
    return found?.session.pending ? found : undefined
  }

  /** Returns a user's sessions, newest first. */
  async list(user: string): Promise<readonly Session[]> {
    const now = this.#deps.clock.now()
    const sessions = await this.#sessions.find({ where: { user } })
    return sessions
      .filter(({ pending, expiresAt }) => !pending && expiresAt > now)
      .sort((a, b) => b.authTime - a.authTime)
  }

  async #find(secret: string | undefined): Promise<SignedIn<H, P> | undefined> {
    if (secret === undefined || secret === '') return undefined
    const session = await this.#sessions.get(sha256(secret))
    if (!session || session.expiresAt <= this.#deps.clock.now()) return undefined
    const user = this.#deps.people().find(session.user)
    return user?.enabled
      ? { session, user, account: await this.#deps.accounts.of(user.id), secret }
      : undefined
  }

  /** Ends the session of that secret. */
  async close(secret: string): Promise<void> {
    await this.#sessions.delete(sha256(secret))
  }

  /** Ends a session by its id. */
  async end(id: string): Promise<void> {
    await this.#sessions.delete(id)
  }

  /** Ends all sessions of a user except one that is kept; returns how many ended. */
  async closeAll(user: string, kept?: string): Promise<number> {
    const sessions = (await this.#sessions.find({ where: { user } })).filter(({ id }) => id !== kept)
    for (const session of sessions) await this.#sessions.delete(session.id)
    return sessions.length
  }
}
