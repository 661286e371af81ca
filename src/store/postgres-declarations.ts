import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { covers } from './postgres-known.ts'
import type { TableSpec } from './table.ts'

/** How the collections of this process become known to the database: together at a start, and once each. */
export class Declarations {
  readonly #declare: (specs: readonly TableSpec[]) => Promise<void>
  readonly #log: Log
  readonly #wanted = new Map<string, TableSpec>()
  readonly #done = new Set<string>()
  readonly #underWay = new Map<string, Promise<void>>()
  #closed = false

  constructor(declare: (specs: readonly TableSpec[]) => Promise<void>, log: Log) {
    this.#declare = declare
    this.#log = log
  }

  /** Collections are declared one after the other at a start; they are made ready together. */
  soon(spec: TableSpec): void {
    this.#wanted.set(spec.name, spec)
    if (this.#wanted.size > 1) return
    setImmediate(() => {
      const specs = [...this.#wanted.values()].filter(({ name }) => !this.#done.has(name))
      this.#wanted.clear()
      if (this.#closed || specs.length === 0) return
      // Until then reads look at every document, and a write tries again and tells.
      this.now(specs).catch((error: unknown) => {
        if (!this.#closed) this.#log.warn('collections could not be made ready', { reason: messageOf(error) })
      })
    })
  }

  /**
   * Whether a write must declare its collection first. Once is enough: what a daemon of another version declared
   * since is written by, and read without indexes, or the two would make the same entries anew in turns.
   */
  isMissing(spec: TableSpec, stored: TableSpec | undefined): boolean {
    return stored === undefined || (!covers(stored, spec) && !this.#done.has(spec.name))
  }

  /** What is being declared already is waited for: a second time could come after another daemon's, and undo it. */
  async now(specs: readonly TableSpec[]): Promise<void> {
    const missing = specs.filter(({ name }) => !this.#underWay.has(name))
    if (missing.length > 0) {
      const work = this.#run(missing)
      for (const { name } of missing) this.#underWay.set(name, work)
    }
    await Promise.all(specs.flatMap(({ name }) => this.#underWay.get(name) ?? []))
  }

  close(): void {
    this.#closed = true
  }

  async #run(specs: readonly TableSpec[]): Promise<void> {
    try {
      await this.#declare(specs)
      for (const { name } of specs) this.#done.add(name)
    } finally {
      for (const { name } of specs) this.#underWay.delete(name)
    }
  }
}
