/** The daemons that share the state, and the site that each of them serves. */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { isoTime } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import { sha256 } from '#leaf/secrets.ts'
import { version } from '../core/version.ts'
import { openRepository } from '#site/git.ts'
import type { SiteState } from '#site/site.ts'
import type { Collection, Stored } from '#state/store.ts'
import type { Foundation, Undo } from './foundation.ts'
import type { House } from './house.ts'

/** The record that a daemon writes of itself at intervals. */
interface Heartbeat extends Stored {
  readonly host: string
  /** The daemon's state folder, which tells daemons on one machine apart. */
  readonly folder: string
  readonly version: string
  readonly startedAt: number
  readonly seenAt: number
  readonly expiresAt: number
  /** The digest of the site that it serves. */
  readonly digest: string
  /** The commit that was checked out when it read that site. */
  readonly commit?: string
}

const beatMilliseconds = 20_000
/** A daemon that is silent for this long is gone. */
const silence = 60_000

/** The daemons on one database. One with a state of its own has no others, and records nothing of itself. */
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

  /** Announces this daemon, now and from now on. */
  async start(): Promise<void> {
    if (!this.#beats) return
    await this.beat()
    this.#timer = setInterval(() => void this.beat(), beatMilliseconds).unref()
  }

  /** Records the site that is served now. */
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

  /** Returns all present daemons, by machine and folder; none while the database does not answer, and `status` says why. */
  async list() {
    const all = (await this.#beats?.find().catch(() => undefined)) ?? []
    return all
      .map(({ id, host, folder, version, startedAt, seenAt, digest, commit }) => ({
        host,
        folder,
        this: id === this.#id,
        version,
        started: isoTime(startedAt),
        seen: isoTime(seenAt),
        // Twelve digits are enough to compare two by eye.
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
    const { digest, loadedAt, lastReload } = this.#site()
    // A commit that changes nothing of the site is served as well; one with faults is not.
    const read = lastReload === undefined || lastReload.outcome === 'rejected' ? loadedAt : lastReload.at
    if (this.#served?.digest !== digest || this.#served.read < read) {
      const repository = await openRepository(this.#deps.folders.site)
      this.#served = { digest, read, commit: await repository?.head() }
    }
    return this.#served
  }
}

/** Opens the list of daemons; a daemon adds itself. */
export async function openDaemons(taken: Foundation & House, undo: Undo): Promise<{ daemons: Daemons }> {
  const daemons = new Daemons(taken, () => taken.site.state())
  undo.push(() => daemons.close())
  if (taken.daemon) {
    await daemons.start()
    taken.onChange(() => void daemons.beat())
  }
  return { daemons }
}
