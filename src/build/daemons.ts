/** Which daemons share the state, and which site each of them serves. */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { isoTime } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import { sha256 } from '../core/secrets.ts'
import { version } from '../core/version.ts'
import { openRepository } from '../site/git.ts'
import type { SiteState } from '../site/kept-site.ts'
import type { Collection, Stored } from '../store/store.ts'
import type { Foundation } from './foundation.ts'

/** What a daemon says of itself now and then. */
interface Heartbeat extends Stored {
  readonly host: string
  /** Its state folder, which tells apart those of one machine. */
  readonly folder: string
  readonly version: string
  readonly startedAt: number
  readonly seenAt: number
  readonly expiresAt: number
  /** Of the site that it serves. */
  readonly digest: string
  /** What was checked out when it read that site. */
  readonly commit?: string
}

const beatMilliseconds = 20_000
/** Who has said nothing for so long is gone. */
const silence = 60_000

/** The daemons on one database. One with a state of its own has no others, and keeps nothing of itself. */
export class Daemons {
  readonly #beats: Collection<Heartbeat> | undefined
  readonly #deps: Pick<Foundation, 'clock' | 'log' | 'folders' | 'startedAt'>
  readonly #site: () => SiteState
  readonly #id: string
  readonly #folder: string
  #timer: NodeJS.Timeout | undefined
  #served: { readonly digest: string; readonly read: number; readonly commit: string | undefined } | undefined

  constructor(foundation: Foundation, site: () => SiteState) {
    const { store, folders } = foundation
    this.#deps = foundation
    this.#site = site
    this.#folder = resolve(folders.state)
    this.#id = sha256(`${hostname()} ${this.#folder}`)
    if (store.stats().kind === 'postgres')
      this.#beats = store.collection<Heartbeat>({ name: 'daemon.heartbeat', expires: 'expiresAt' })
  }

  /** Says that this daemon is there, from now on. */
  async start(): Promise<void> {
    if (!this.#beats) return
    await this.beat()
    this.#timer = setInterval(() => void this.beat(), beatMilliseconds).unref()
  }

  /** Says which site is served now. */
  async beat(): Promise<void> {
    if (!this.#beats) return
    const { clock, log, startedAt } = this.#deps
    try {
      const { digest, commit } = await this.#serves()
      const now = clock.now()
      await this.#beats.put({
        id: this.#id,
        host: hostname(),
        folder: this.#folder,
        version,
        startedAt,
        seenAt: now,
        expiresAt: now + silence,
        digest,
        ...(commit !== undefined && { commit }),
      })
    } catch (error) {
      log.warn('other daemons could not be told which site is served here', { reason: messageOf(error) })
    }
  }

  /** All that are there, by machine and folder. */
  async list() {
    const all = (await this.#beats?.find()) ?? []
    return all
      .map(({ id, host, folder, version, startedAt, seenAt, digest, commit }) => ({
        host,
        folder,
        this: id === this.#id,
        version,
        started: isoTime(startedAt),
        seen: isoTime(seenAt),
        // Enough to compare two by eye.
        digest: digest.slice(0, 12),
        commit: commit ?? null,
      }))
      .sort((a, b) => (`${a.host} ${a.folder}` < `${b.host} ${b.folder}` ? -1 : 1))
  }

  async close(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    await this.#beats?.delete(this.#id).catch(() => undefined)
  }

  async #serves(): Promise<{ digest: string; commit: string | undefined }> {
    const { digest, faults, loadedAt, lastReload } = this.#site()
    // A commit that changes nothing of the site is served as well; one with faults is not.
    const read = faults.length === 0 ? (lastReload?.at ?? loadedAt) : loadedAt
    if (this.#served?.digest !== digest || this.#served.read < read) {
      const repository = await openRepository(this.#deps.folders.site)
      this.#served = { digest, read, commit: await repository?.head() }
    }
    return this.#served
  }
}
