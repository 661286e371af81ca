import type { Clock } from '#leaf/clock.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import { isOffered } from './access.ts'
import type { PromptTemplate } from './words.ts'

/** A prompt whose owner asks that others be offered it. */
export interface AskedOffer extends Stored {
  readonly by: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** What owners ask of those who may offer prompts to others; it is kept in the state until it is done, declined or taken back. */
export class AskedOffers {
  readonly #asked: Collection<AskedOffer>
  readonly #clock: Clock

  constructor(store: Store, clock: Clock) {
    this.#asked = store.collection<AskedOffer>({ name: 'library.asked' })
    this.#clock = clock
  }

  /** Asks for a template; again changes nothing. */
  async ask({ id, owner }: PromptTemplate): Promise<void> {
    if ((await this.#asked.get(id))?.by === owner) return
    await this.#asked.put({ id, by: owner, at: this.#clock.now() })
  }

  /** Returns what its owner asks for a template, unless that is done. */
  async of(template: PromptTemplate): Promise<AskedOffer | undefined> {
    const asked = await this.#asked.get(template.id)
    return asked?.by === template.owner && !isOffered(template) ? asked : undefined
  }

  /** Returns the templates that are asked for, by what finds them, the oldest first; forgets those that are done or gone. */
  async waiting(
    find: (id: string) => PromptTemplate | undefined,
  ): Promise<readonly { readonly template: PromptTemplate; readonly at: number }[]> {
    const waiting: { template: PromptTemplate; at: number }[] = []
    for (const { id, by, at } of await this.#asked.find()) {
      const template = find(id)
      if (template?.owner === by && !isOffered(template)) waiting.push({ template, at })
      else await this.end(id)
    }
    return waiting.sort((one, other) => one.at - other.at)
  }

  /** Ends what is asked for a template. */
  async end(id: string): Promise<void> {
    await this.#asked.delete(id)
  }
}
