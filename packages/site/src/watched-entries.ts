import { setTimeout as wait } from 'node:timers/promises'
import { SiteFault } from './site-fault.ts'
import type { Fault } from './site-files.ts'
import { type Dependency, type WatchedBy, type Trouble, Watched } from './watched.ts'

/** Takes reports on a dependency, from the calls that use it. */
export interface Tell {
  /** Reports that it is not there, and why. */
  readonly failed: (error: unknown) => void
  /** Reports that it may not be there. */
  readonly doubted: () => void
  readonly well: () => void
}

/** A dependency under its key, which says all that it is made of. */
export interface Entry<Of extends Dependency> {
  readonly key: string
  readonly of: Of
  readonly watched: Watched
  /** Settles after the first attempt. */
  readonly tried: Promise<void>
}

interface Parts<Of extends Dependency> extends WatchedBy {
  /** True if calls are served: what worked when taken into use and fails now must not keep the site from use. */
  readonly serves?: boolean | undefined
  /** Returns what needs a dependency. */
  readonly neededBy: (of: Of) => readonly string[]
}

/** Milliseconds that a serving daemon waits for slow dependencies; later results are reported when they come. */
const patience = 1500

/** Waits for a look at a dependency, but not for one that takes long. */
export async function briefly(look: Promise<unknown>): Promise<void> {
  await Promise.race([look, wait(patience, undefined, { ref: false })])
}

/** Dependencies that are kept across readings of the site that do not change them, tried, and watched. */
export class WatchedEntries<Of extends Dependency> {
  readonly #parts: Parts<Of>
  readonly #entries = new Map<string, Entry<Of>>()
  /** The keys of the reading in use; undefined before the first. */
  #inUse: ReadonlySet<string> | undefined

  constructor(parts: Parts<Of>) {
    this.#parts = parts
  }

  /** Returns the entry of a key, made and tried when it is new. */
  entry(key: string, make: (tell: Tell) => Of): Entry<Of> {
    const known = this.#entries.get(key)
    if (known) return known
    const of = make({
      failed: (error) => watched.failed(error),
      doubted: () => void watched.look(),
      well: () => watched.well(),
    })
    const watched: Watched = new Watched(of, this.#parts, () => this.#parts.neededBy(of))
    const entry = { key, of, watched, tried: watched.look() }
    this.#entries.set(key, entry)
    return entry
  }

  get(key: string): Entry<Of> | undefined {
    return this.#entries.get(key)
  }

  get all(): readonly Entry<Of>[] {
    return [...this.#entries.values()]
  }

  /** True for an entry that is in use, or that a starting service finds: a failure of it withholds only what needs it. */
  forgives(key: string): boolean {
    return (this.#parts.serves ?? false) && (this.#inUse?.has(key) ?? true)
  }

  /** Waits for looks, where calls are served not for those that take long. */
  async soon(looks: readonly Promise<void>[]): Promise<void> {
    const all = Promise.all(looks)
    await (this.#parts.serves && this.#inUse ? briefly(all) : all)
  }

  /** Tells why an entry does not work: as a fault, or as a warning where it is forgiven. */
  async judge(
    { key, watched, tried }: Entry<Of>,
    faults: Fault[],
    warnings: Fault[],
    told = (fault: Fault, _error: unknown): readonly Fault[] => [fault],
  ): Promise<void> {
    await this.soon([tried])
    const { trouble, error } = watched
    if (!trouble) return
    const isFault = error instanceof SiteFault && !this.forgives(key)
    ;(isFault ? faults : warnings).push(...told(trouble.fault, error))
  }

  /** Takes entries into use, and closes all others. */
  use(keys: Iterable<string>): void {
    this.#inUse = new Set(keys)
    this.discard()
  }

  /** Closes everything that is not in use, also from a reading that was rejected. */
  discard(): void {
    for (const key of this.#entries.keys()) if (!this.#inUse?.has(key)) this.drop(key)
  }

  drop(key: string, now = false): void {
    const entry = this.#entries.get(key)
    this.#entries.delete(key)
    entry?.watched.close()
    entry?.of.close?.(now)
  }

  /** Everything that does not work now. */
  get troubles(): readonly Trouble[] {
    return this.all.flatMap(({ watched }) => watched.trouble ?? [])
  }

  /** Tries everything now. */
  async retry(): Promise<void> {
    await this.soon(this.all.map(({ watched }) => watched.retry()))
  }

  close(): void {
    for (const key of this.#entries.keys()) this.drop(key, true)
  }
}
