/** One-time links, each made by an operator and opened by one person, who chooses a password that nobody else knows. */
import { AppError } from '#leaf/errors.ts'
import { randomSecret, sha256 } from '#leaf/secrets.ts'
import type { Collection, Stored } from '#state/store.ts'
import type { Holder, Parts } from './holders.ts'

/** A stored link; its id is the hash of its secret. */
export interface OneTimeLink extends Stored {
  readonly user: string
  readonly purpose: 'invite' | 'reset'
  /** True when using it also forgets the second factor, for somebody who lost it. */
  readonly secondFactor: boolean
  readonly expiresAt: number
}

/** All unused links. */
export class OneTimeLinks<H extends Holder> {
  readonly #deps: Parts<H>
  readonly #links: Collection<OneTimeLink>

  constructor(deps: Parts<H>) {
    this.#deps = deps
    this.#links = deps.store.collection({ name: 'users.link', indexes: ['user'], expires: 'expiresAt' })
  }

  /** Makes a link, whose secret is shown this once; the user's older ones end. AppError `not_found` for no such user. */
  async make(
    request: Pick<OneTimeLink, 'user' | 'purpose' | 'secondFactor'> & { readonly seconds: number },
  ): Promise<{ secret: string; link: OneTimeLink }> {
    const user = this.#deps.people().find(request.user)
    if (!user?.enabled) throw new AppError('not_found', `no user ${request.user} who may sign in`)
    const secret = randomSecret('ac_ln_')
    const { purpose, secondFactor, seconds } = request
    const expiresAt = this.#deps.clock.now() + seconds * 1000
    const link = { id: sha256(secret), user: user.id, purpose, secondFactor, expiresAt }
    await this.#deps.store.transaction(async (tx) => {
      const links = tx.in(this.#links)
      for (const { id } of await links.find({ where: { user: user.id } })) await links.delete(id)
      await links.insert(link)
    })
    return { secret, link }
  }

  /** Returns a link and its user, while it can be used. */
  async find(secret: string): Promise<{ link: OneTimeLink; user: H } | undefined> {
    const link = await this.#links.get(sha256(secret))
    const user = link && this.#deps.people().find(link.user)
    return link && link.expiresAt > this.#deps.clock.now() && user?.enabled ? { link, user } : undefined
  }

  /** Ends all links of a user; returns how many ended. */
  async end(user: string): Promise<number> {
    const links = await this.#links.find({ where: { user } })
    for (const { id } of links) await this.#links.delete(id)
    return links.length
  }

  /** Uses the link up; false when somebody else was faster. */
  async spend({ id }: OneTimeLink): Promise<boolean> {
    return this.#links.delete(id)
  }
}
