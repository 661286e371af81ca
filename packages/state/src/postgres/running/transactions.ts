/** Runs the transactions of one process on the database. */
import type { Clock } from '#leaf/clock.ts'
import type { Queryable, Statement } from '../servers/connection.ts'
import type { Database } from '../servers/database.ts'
import { Collision } from '../servers/errors.ts'
import type { IndexBuilder } from '../indexes.ts'
import { lockNumbers } from './keys.ts'
import type { PostgresLedger } from '../ledger/ledger.ts'
import type { Listener } from '../telling/listener.ts'
import type { Sizes } from '../picture.ts'
import { PgSession } from './session.ts'
import { type Begun, readCollections, type StateHead } from '../tables.ts'
import { PgUnit, runTogether } from './unit.ts'
import { type Attempt, Units } from './units.ts'

/** The collections that have a table on a server. */
export class MadeTables {
  names: ReadonlySet<string> = new Set()
  server = -1

  async learn(on: Queryable, { server }: Pick<StateHead, 'server'>): Promise<void> {
    this.names = await readCollections(on)
    this.server = server
  }
}

interface TransactionsOptions {
  readonly database: Database
  readonly listener: Listener
  readonly ledger: PostgresLedger
  readonly indexes: IndexBuilder
  readonly sizes: Sizes
  readonly made: MadeTables
  readonly clock: Clock
  /** Returns the time of this machine. */
  readonly asked: () => number
  /** Checks what a server says that was asked at a time; throws for one that must not be written to. */
  readonly checked: (asked: number, head: StateHead) => void
}

export class Transactions {
  readonly #given: TransactionsOptions
  readonly #units = new Units<PgUnit>(
    (units, attempt) => this.#commit(units, attempt),
    () => this.#given.database.writing,
  )

  constructor(options: TransactionsOptions) {
    this.#given = options
  }

  /** Runs work in a transaction, perhaps together with that of others, and resolves when its changes are committed. */
  async run(reads: PgUnit['reads'], work: PgUnit['work']): Promise<void> {
    const unit = new PgUnit(reads, work)
    await this.#units.run(unit)
    if (unit.failed) throw unit.failed.error
  }

  /** Settles when none runs or waits. */
  idle(): Promise<void> {
    return this.#units.idle()
  }

  async #commit(units: readonly PgUnit[], attempt: Attempt): Promise<void> {
    const { database, ledger, made, sizes, indexes } = this.#given
    if (made.server !== database.history.server) await database.read((on) => this.#learn(on))
    const asked = this.#given.asked()
    const session = await database.write(lockNumbers(attempt.keys), async (running) => {
      const begun = running.begun.then((head) => this.#checked(asked, head))
      begun.catch(() => undefined)
      const rows = async (statement: Statement): Promise<readonly unknown[][]> =>
        (await Promise.all([begun, running.on.rows(statement)]))[1]
      const isCareful = units.some((unit) => unit.isCareful)
      const claim = (key: string): boolean => attempt.claim(key)
      const session = new PgSession({
        ...this.#given,
        on: { rows },
        begun,
        collections: made.names,
        claim,
        isCareful,
      })
      try {
        await runTogether(units, session)
        const transactions = units.flatMap(({ transaction }) => transaction ?? [])
        const isPatient = units.some((unit) => unit.isPatient)
        await ledger.commit(transactions, session.out, { running, isPatient })
      } finally {
        attempt.met = session.out.keys
      }
      return session
    })
    sizes.grow(session.out.growth)
    if (session.made.size > 0) made.names = new Set([...made.names, ...session.made.keys()])
    for (const spec of session.made.values()) indexes.want(spec)
  }

  async #learn(on: Queryable): Promise<void> {
    const { made, database } = this.#given
    await made.learn(on, { server: database.history.server ?? -1 })
  }

  /** Checks what the database says when a transaction begins, before anything of it can be committed. */
  #checked(asked: number, head: Begun): Begun {
    this.#given.ledger.server = head.server
    this.#given.checked(asked, head)
    // Which tables there are is read anew.
    if (head.server !== this.#given.made.server) throw new Collision([])
    return head
  }
}
