/** The hosts of an address of the database. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Client, ClientBase, Pool, PoolClient } from 'pg'
import { isLocal } from '#leaf/address.ts'
import { AppError } from '#leaf/errors.ts'
import { codeOf, noConnectionLeft, olderHistory, outage, readOnly } from './errors.ts'
import type { KnownHistory } from './history.ts'

/** Milliseconds to wait for a connection. */
export const connectMilliseconds = 8_000
/** Milliseconds between two tries to get one of the connections that others of the server may give back. */
const againMilliseconds = 100

/** The hosts of one address, tried in turn until one takes writes and lacks nothing. */
export class Hosts {
  readonly #urls: readonly string[]
  readonly #mustWrite: boolean
  readonly #history: KnownHistory
  /** The server of each connection: one that was left behind may go on answering for long. */
  readonly #servers = new WeakMap<ClientBase, number | undefined>()
  #at = 0

  constructor(urls: readonly string[], mustWrite: boolean, history: KnownHistory) {
    this.#urls = urls
    this.#mustWrite = mustWrite
    this.#history = history
  }

  async reach<R>(open: (url: string) => Promise<R>): Promise<R> {
    let older: unknown
    let { waived } = this.#history
    for (let left = this.#urls.length; ; left--) {
      const at = this.#at
      try {
        return await open(this.#urls[at]!)
      } catch (error) {
        if (outage(error) === undefined) throw error
        if (codeOf(error) === olderHistory) older = error
        // Another caller may have moved on to the next host meanwhile.
        if (this.#at === at) this.#at = (at + 1) % this.#urls.length
        if (left > 1) continue
        if (older === undefined || !this.#history.yields(waived)) throw older ?? error
        ;({ waived } = this.#history)
        left = this.#urls.length + 1
      }
    }
  }

  /** Throws for a host that is read-only, as a standby is, and for one that was left behind. */
  async verify(client: Client): Promise<void> {
    const ask = async (text: string, values?: readonly unknown[]): Promise<readonly unknown[]> =>
      (await client.query<unknown[]>({ text, values: [...(values ?? [])], rowMode: 'array' })).rows[0] ?? []
    try {
      const [isReadOnly, server] = await ask(
        "SELECT current_setting('transaction_read_only') = 'on', extract(epoch FROM pg_postmaster_start_time())",
      )
      if (this.#mustWrite && isReadOnly === true)
        throw Object.assign(new Error('no host of the address takes writes'), { code: readOnly })
      await this.#history.require(Number(server), ask)
      this.#servers.set(client, this.#history.server)
    } catch (error) {
      client.end(() => undefined)
      throw error
    }
  }

  /** Takes a connection of a pool to the current host; connections to a server that was left behind since are dropped. */
  take(pool: Pool): Promise<PoolClient> {
    const end = performance.now() + connectMilliseconds
    return this.reach(async (url) => {
      pool.options.connectionString = url
      for (;;) {
        try {
          const client = await pool.connect()
          if (this.#servers.get(client) === this.#history.server) return client
          client.release(true)
        } catch (error) {
          // Another connection of this pool may be free, or one of another daemon.
          if (codeOf(error) !== noConnectionLeft || performance.now() > end) throw error
          await wait(againMilliseconds)
        }
      }
    })
  }
}

/** Splits an address into one for each host, with our settings added. Its text is never part of a message. */
export function hostsOf(text: string, history: KnownHistory): Hosts {
  const wrong = (what: string): AppError => new AppError('invalid', `store.url_file: ${what}`)
  const [, before = '', hosts = '', after = ''] =
    /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? []
  const urls = hosts.split(',').map((host) => before + host + after)
  if (!urls.every((url) => URL.canParse(url)))
    throw wrong('the file must hold one address such as postgresql://user:password@host/database')
  let wanted: string | null = null
  const checked = urls.map((one) => {
    const url = new URL(one)
    if (url.protocol !== 'postgresql:' && url.protocol !== 'postgres:')
      throw wrong('the address must begin with postgresql://')
    wanted = url.searchParams.get('target_session_attrs')
    url.searchParams.delete('target_session_attrs')
    const host = url.searchParams.get('host') ?? url.hostname
    // Without a name, or with the path of a socket, it is a server on this machine.
    const isHere = host === '' || host.startsWith('/') || isLocal(host)
    if (!isHere && !url.searchParams.has('sslmode') && !url.searchParams.has('ssl'))
      url.searchParams.set('sslmode', 'verify-full')
    return url.href
  })
  if (wanted !== null && wanted !== 'read-write')
    throw wrong('target_session_attrs must be read-write: the service writes')
  return new Hosts(checked, checked.length > 1 || wanted !== null, history)
}
