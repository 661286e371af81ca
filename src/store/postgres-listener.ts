import type { Client } from 'pg'

const againMilliseconds = 1_000

export interface ListenerOptions {
  readonly connect: () => Promise<Client>
  /** What another daemon told; undefined when some of it may have been missed. */
  readonly heard: (message: string | undefined) => void
  readonly failed: (error: unknown) => void
}

/** The channel on which daemons tell each other what is kept. */
export const channel = 'assistant_core'

/** Hears what other daemons announce, on a connection of its own that is opened again whenever it is lost. */
export class Listener {
  readonly #options: ListenerOptions
  #client: Client | undefined
  #again: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Settles when what is told from now on is heard. */
  async open(): Promise<void> {
    const client = await this.#options.connect()
    if (this.#closed) {
      await client.end()
      return
    }
    const lost = (error?: unknown): void => {
      if (this.#client !== client) return
      this.#client = undefined
      client.end(() => undefined)
      if (this.#closed) return
      this.#options.failed(error)
      this.#tryAgain()
    }
    client.on('notification', ({ payload }) => this.#options.heard(payload))
    client.on('error', lost)
    client.on('end', () => lost())
    try {
      await client.query(`LISTEN ${channel}`)
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

  #tryAgain(): void {
    this.#again = setTimeout(() => {
      this.open().then(
        () => this.#options.heard(undefined),
        () => {
          if (!this.#closed) this.#tryAgain()
        },
      )
    }, againMilliseconds).unref()
  }
}
