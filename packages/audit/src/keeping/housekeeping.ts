/** Tidies the log at intervals: compresses closed files, and removes what the retention in force lets go. */
import type { Log } from '#leaf/log.ts'
import { Keeping } from './keeping.ts'
import type { Retention } from './removal.ts'
import type { AuditSettings } from '../settings.ts'
import type { LogParts } from '../writing.ts'

const roundMilliseconds = 3_600_000

/** A log that can be tidied; returns whether what has to stay is still too much. */
interface Tidied {
  tidy(retention: Retention): Promise<boolean>
}

export class Housekeeping {
  readonly #kept: Tidied
  readonly #keeping: Keeping
  readonly #log: Log
  readonly #settings: () => AuditSettings
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isCrowded = false
  #closed = false

  constructor(kept: Tidied, { store, memory, log, settings, told }: LogParts) {
    this.#kept = kept
    this.#keeping = new Keeping(store, memory.name, log, told)
    this.#log = log
    this.#settings = settings
  }

  /** Warnings for somebody to look at. */
  get warnings(): readonly string[] {
    const { coming } = this.#keeping
    const crowded =
      'the log is larger than audit.max_total_bytes, and what is left of it is too young to be removed; make room for it'
    return [...(coming === undefined ? [] : [coming]), ...(this.#isCrowded ? [crowded] : [])]
  }

  /** Starts the rounds. */
  begin(): void {
    this.#timer = setInterval(() => this.look(), roundMilliseconds).unref()
    this.look()
  }

  /** Starts a round unless one is running. */
  look(): void {
    if (this.#closed) return
    const settings = this.#settings()
    this.#running ??= this.#round(settings)
      .catch((error: unknown) => this.#log.warn('old audit files could not be put in order', { error }))
      .finally(() => {
        this.#running = undefined
        // The settings may have changed meanwhile.
        if (this.#settings() !== settings) this.look()
      })
  }

  /** Runs a round and settles when it is done; two never work on one file. */
  async tidy(): Promise<void> {
    await this.#running
    this.look()
    await this.#running
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    await this.#running
  }

  async #round(settings: AuditSettings): Promise<void> {
    this.#isCrowded = await this.#kept.tidy(await this.#keeping.obey(settings))
  }
}
