/**
 * Numbers of series that may have gaps. A daemon takes a block of them in a transaction of its own, and until it is used up
 * waits for no other; what is left when it ends is a gap. The counter stays the only truth: whoever asks it goes on behind the block.
 */
import type { Store } from '#state/store.ts'
import type { Reach } from '../documents.ts'
import { lastOfSeries, numbered } from './naming.ts'

const blockSize = 50

/** What this process has taken and not used, by store and series. */
const blocks = new WeakMap<Store, Map<string, Block>>()

/** A name that nobody else gets. */
export interface LeasedName {
  readonly name: string
  /** Gives it to the next who asks: it was not used. */
  giveBack(): void
}

/** Returns a name for a new document where its series may have gaps; undefined elsewhere. Not for use within a transaction. */
export async function leaseName({ documents: { store }, doctype }: Reach): Promise<LeasedName | undefined> {
  const { naming } = doctype
  if (naming.rule !== 'series' || !naming.gaps) return undefined
  const ofStore = blocks.get(store) ?? new Map<string, Block>()
  blocks.set(store, ofStore)
  const block = ofStore.get(naming.series) ?? new Block(store, naming.series)
  ofStore.set(naming.series, block)
  const number = await block.take()
  return { name: numbered(naming.series, number), giveBack: () => block.giveBack(number) }
}

class Block {
  readonly #store: Store
  readonly #series: string
  #free: number[] = []
  #taking: Promise<void> | undefined

  constructor(store: Store, series: string) {
    this.#store = store
    this.#series = series
  }

  async take(): Promise<number> {
    for (;;) {
      const number = this.#free.shift()
      if (number !== undefined) return number
      this.#taking ??= this.#takeMore().finally(() => (this.#taking = undefined))
      await this.#taking
    }
  }

  giveBack(number: number): void {
    this.#free = [...this.#free, number].sort((one, other) => one - other)
  }

  async #takeMore(): Promise<void> {
    const [counters, id] = lastOfSeries(this.#store, this.#series)
    let last = 0
    const work: Parameters<Store['transaction']>[0] = async (tx) => {
      last = (await tx.in(counters).get(id))?.last ?? 0
      await tx.in(counters).put({ id, last: last + blockSize })
    }
    await this.#store.transaction(work, { reads: [[counters, id]] })
    this.#free.push(...Array.from({ length: blockSize }, (_, n) => last + n + 1))
  }
}
