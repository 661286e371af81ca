import type { Client } from 'pg'
import { AppError, messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { randomId } from '../core/secrets.ts'

const againMilliseconds = 1_000
const othersMilliseconds = 5_000
const greeting = 'listening '

/** The channel on which daemons tell each other what is kept. */
export const channel = 'assistant_core'

/** Hears what other daemons announce, on a connection of its own that is opened again whenever it is lost. */
export class Listener {
  readonly #connect: () => Promise<Client>
  readonly #log: Log
  readonly #listeners: ((message: string | undefined) => void)[] = []
  #client: Client | undefined
  #again: NodeJS.Timeout | undefined
  #closed = false

  constructor(connect: () => Promise<Client>, log: Log) {
    this.#connect = connect
    this.#log = log
  }

  /** Tells what another daemon told; undefined when some of it may have been missed. */
  hear(listener: (message: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** Settles when what is told from now on is heard. */
  async open(): Promise<void> {
    const client = await this.#connect()
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
    client.on('notification', ({ payload }) => {
      if (!payload?.startsWith(greeting)) this.#tell(payload)
    })
    client.on('error', lost)
    client.on('end', () => lost())
    try {
      await client.query(`LISTEN ${channel}`)
      await this.#hearsOthers(client)
    } catch (error) {
      client.end(() => undefined)
      throw error
    }
    this.#client = client
  }

  /** Notices a server that went without a word. */
  async look(): Promise<void> {
    const client = this.#client
    await client?.query('SELECT 1').catch((error: Error) => void client.emit('error', error))
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#again)
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => undefined)
  }

  #tell(message: string | undefined): void {
    for (const listener of this.#listeners) listener(message)
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

  /** A pooler that gives each transaction another session lets nobody hear anything, and says nothing of it. */
  async #hearsOthers(client: Client): Promise<void> {
    const said = greeting + randomId()
    const other = await this.#connect()
    let late: NodeJS.Timeout | undefined
    const heard = new Promise<boolean>((resolve) => {
      client.on('notification', ({ payload }) => {
        if (payload === said) resolve(true)
      })
      late = setTimeout(resolve, othersMilliseconds, false)
    })
    try {
      await other.query('SELECT pg_notify($1, $2)', [channel, said])
      if (await heard) return
    } finally {
      clearTimeout(late)
      await other.end()
    }
    throw new AppError(
      'unavailable',
      "what daemons tell each other does not arrive: behind a pooler that keeps no sessions, the file of store.url_file needs the database's own address as its second line",
    )
  }
}
