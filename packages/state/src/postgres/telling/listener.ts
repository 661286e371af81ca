import type { Client } from 'pg'
import { AppError, messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { Seal } from './announcement-seal.ts'
import { type Announcements, type AnnouncementWay, hearAnnouncements } from './announcements.ts'
import type { Statement } from '../servers/connection.ts'
import type { Database } from '../servers/database.ts'
import { follow } from '#leaf/turns.ts'

const againMilliseconds = 1_000
/** Milliseconds within which an announcement must arrive; a later one counts as a replay. */
const lateMilliseconds = 5_000
/** The most announcements remembered, so that a replay is recognized. */
const mostHeard = 20_000
/** The least milliseconds between two looks at the tables, and two warnings, because of unproven announcements. */
const doubtMilliseconds = 5_000
const warnMilliseconds = 60_000

/** The query for the seal's key, the server's start time, and the transaction id before which all have ended. */
const sealQuery = `SELECT key, extract(epoch FROM pg_postmaster_start_time()), txid_snapshot_xmin(txid_current_snapshot())
  FROM assistant_core.seal`

/**
 * Hears the announcements of other daemons, on a connection of its own that is reopened whenever it is lost. A message not
 * sealed by one of them, or heard before, only says that there may be something to look for in the tables.
 */
export class Listener {
  readonly #database: Pick<Database, 'single' | 'history'>
  readonly #log: Log
  readonly #listeners: ((message: string | undefined) => void)[] = []
  readonly #wanted: AnnouncementWay | undefined
  #way: Announcements | undefined
  #client: Client | undefined
  #seal: Seal | undefined
  /** The announcements heard, with their transactions. Those of transactions before the floor are no longer accepted. */
  readonly #heard = new Map<string, bigint>()
  #floor = 0n
  #nextFloor = 0n
  #raised = 0
  /** The number of announcements heard without proof. */
  unproven = 0
  #doubting: NodeJS.Timeout | undefined
  #doubted = -Infinity
  #warned = -Infinity
  #again: NodeJS.Timeout | undefined
  #closed = false

  constructor(database: Pick<Database, 'single' | 'history'>, log: Log, wanted?: AnnouncementWay) {
    this.#database = database
    this.#wanted = wanted
    this.#log = log
  }

  /** Subscribes to announcements; the listener gets undefined when some may have been missed, or forged. */
  hear(listener: (message: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** Returns the statement by which a transaction of a server announces a text, sealed. */
  announcing(text: string, transaction: string, server: number): Statement {
    if (!this.#seal || !this.#way) throw new AppError('unavailable', 'the state is not open')
    return this.#way.announcing(this.#seal.close(text, transaction, server))
  }

  /** Connects; settles when every announcement from now on is heard. */
  async open(): Promise<void> {
    const client = await this.#database.single(' listener')
    if (this.#closed) {
      await client.end()
      return
    }
    const lost = (error?: unknown): void => {
      if (this.#client !== client) return
      this.#client = undefined
      client.end(() => undefined)
      if (this.#closed) return
      this.#log.warn('other daemons are not heard just now', { reason: messageOf(error) })
      this.#tryAgain()
    }
    client.on('error', lost)
    client.on('end', () => lost())
    try {
      // The floor is read before listening: whatever is heard then is of a transaction that had not ended.
      const [key, server, floor] = await firstRow(client, sealQuery)
      this.#seal = new Seal(String(key), Number(server))
      this.#floor = this.#nextFloor = BigInt(String(floor))
      this.#raised = performance.now()
      const other = (): Promise<Client> => this.#database.single()
      this.#way = await hearAnnouncements(this.#wanted, client, other, (text) => this.#hear(text))
    } catch (error) {
      client.end(() => undefined)
      throw error
    }
    this.#client = client
  }

  /** Detects a server that vanished silently or that the others left; forgets announcements that are too old to be replayed. */
  async look(): Promise<void> {
    const client = this.#client
    if (!client) return
    try {
      const [, at, floor] = await firstRow(client, sealQuery)
      if (Number(at) !== this.#database.history.server) throw new Error('the server was left behind')
      const now = performance.now()
      if (now - this.#raised < lateMilliseconds) return
      ;[this.#floor, this.#nextFloor, this.#raised] = [this.#nextFloor, BigInt(String(floor)), now]
      for (const [id, transaction] of this.#heard) if (transaction < this.#floor) this.#heard.delete(id)
    } catch (error) {
      client.emit('error', error instanceof Error ? error : new Error(String(error)))
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#again)
    clearTimeout(this.#doubting)
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => undefined)
  }

  #hear(message: string): void {
    const announced = this.#seal?.open(message)
    if (!announced || announced.transaction < this.#floor || this.#heard.has(announced.nonce))
      return this.#doubt()
    this.#heard.set(announced.nonce, announced.transaction)
    for (const [oldest, transaction] of this.#heard) {
      if (this.#heard.size <= mostHeard) break
      this.#heard.delete(oldest)
      if (transaction >= this.#floor) this.#floor = transaction + 1n
    }
    this.#tell(announced.text)
  }

  /** Makes listeners look at the tables, rate-limited so that nobody can keep a daemon busy this way. */
  #doubt(): void {
    this.unproven++
    this.#doubting ??= setTimeout(
      () => {
        this.#doubting = undefined
        this.#doubted = performance.now()
        if (this.#doubted - this.#warned > warnMilliseconds) {
          this.#warned = this.#doubted
          this.#log.warn(
            'what was announced without proof is not believed; a daemon of an older version, or another role of the database, announced it',
            { announcements: this.unproven },
          )
        }
        this.#tell(undefined)
      },
      Math.max(0, this.#doubted + doubtMilliseconds - performance.now()),
    ).unref()
  }

  #tell(message: string | undefined): void {
    follow(
      this.#listeners.map((listener) => () => listener(message)),
      this.#log,
    )
  }

  #tryAgain(): void {
    this.#again = setTimeout(() => {
      this.open().then(
        () => this.#tell(undefined),
        () => {
          if (!this.#closed) this.#tryAgain()
        },
      )
    }, againMilliseconds).unref()
  }
}

async function firstRow(client: Client, text: string): Promise<readonly unknown[]> {
  const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' })
  if (!rows[0]) throw new Error('the key of the announcements is missing')
  return rows[0]
}
