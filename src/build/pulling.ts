/** Keeps the site as it is in the git repository elsewhere that `site.git` names. */
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Settings } from '../core/settings.ts'
import type { Audit } from '../audit/audit.ts'
import type { PullSource } from '../site/fetch-site.ts'
import { exists } from '../site/list-site.ts'
import {
  cloneSite,
  finishCheckout,
  isEmptySite,
  type Pulled,
  pullSite,
  type PullParts,
} from '../site/pull-site.ts'
import { settingsFile } from '../site/read-settings.ts'
import { readSettingsAlone } from './open-state.ts'
import { readWholeSite } from './snapshot.ts'

/** How pulling stands, for `status`, `/readyz` and `doctor`. */
export interface PullState extends Pulled {
  readonly url: string
  readonly ref: string
  /** When it was tried last, in milliseconds since the epoch. */
  readonly at: number
}

interface PullingParts {
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly audit: Audit
  /** The setting `site.git` of the moment. */
  readonly settings: () => Settings['site']['git']
  readonly check: PullParts['check']
  /** Reads the site again. */
  readonly reload: (reason: string) => Promise<unknown>
}

const lookMilliseconds = 1000
const mostSeconds = 900

/** Pulls the site now and then, and whenever somebody asks. */
export class Pulling {
  readonly #parts: PullingParts
  readonly #leaving = new AbortController()
  #state: PullState | undefined
  #running: Promise<PullState | undefined> | undefined
  #due = 0
  /** How often in a row nothing could be fetched. */
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(parts: PullingParts) {
    this.#parts = parts
  }

  /** Undefined while the site is not pulled, and before the first time. */
  get state(): PullState | undefined {
    return this.#parts.settings().url === null ? undefined : this.#state
  }

  /** Pulls from now on, and reads what came. */
  start(): void {
    this.#timer = setInterval(() => void this.#look(), lookMilliseconds).unref()
  }

  /** Pulls now, whatever the time; who asks meanwhile is given the same answer. The site is not read. */
  pull(): Promise<PullState | undefined> {
    this.#running ??= this.#pullNow().finally(() => (this.#running = undefined))
    return this.#running
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#leaving.abort()
    await this.#running
  }

  async #look(): Promise<void> {
    const { clock, settings, reload, log } = this.#parts
    if (this.#running || settings().interval === 0 || clock.now() < this.#due) return
    try {
      const done = await this.pull()
      if (done?.outcome === 'pulled') await reload(`pulled ${done.seen!.slice(0, 12)}`)
    } catch (error) {
      log.error('pulling the site failed', { error })
    }
  }

  async #pullNow(): Promise<PullState | undefined> {
    const { folder, clock, settings, check } = this.#parts
    const { url, ref, credentials_file, interval } = settings()
    if (url === null) return (this.#state = undefined)
    const { signal } = this.#leaving
    const before = this.#state
    const done = await pullSite(folder, { url, ref, credentials_file }, { check, signal, before })
    if (signal.aborted) return before
    this.#failures = done.outcome === 'refused' && done.seen === undefined ? this.#failures + 1 : 0
    const seconds = Math.min(interval * 2 ** this.#failures, Math.max(interval, mostSeconds))
    this.#due = clock.now() + seconds * 1000
    this.#state = { ...done, url, ref, at: clock.now() }
    await this.#tell(before, this.#state)
    return this.#state
  }

  /** Tells what is new: the same again and again is no news. */
  async #tell(before: Pulled | undefined, { outcome, seen, ref, problem, faults }: PullState): Promise<void> {
    const { log, audit } = this.#parts
    if (outcome === 'pulled') log.info('site pulled', { ref, commit: seen })
    if (problem === (before?.problem ?? '')) return
    if (problem === '') return log.info('the site is pulled again', { ref, commit: seen })
    log.error('the site is not pulled; what is checked out stays in use', { problem, faults })
    if (faults.length === 0) return
    const data = { reason: `pull of ${seen!.slice(0, 12)}`, faults }
    await audit.record({ type: 'site.reload', user: 'system', status: 'error', data })
  }
}

/**
 * Before anything reads the site: finishes a checkout that was cut off, and clones the site into a folder that holds
 * nothing but the settings that say from where. AppError `unavailable`, `invalid`.
 */
export async function prepareSite(site: string, log: Log): Promise<void> {
  const finished = await finishCheckout(site)
  if (finished !== undefined)
    log.warn('a checkout of the site that was cut off is finished', { commit: finished })
  const source = await comingSite(site)
  if (source === undefined) return
  const commit = await cloneSite(site, source, async (files) => (await readWholeSite(site, files)).faults)
  log.info('the site is cloned', { ref: source.ref, commit })
}

/** Where the site is cloned from when the service starts, in a folder that holds the settings and nothing else. */
export async function comingSite(site: string): Promise<PullSource | undefined> {
  if (!(await exists(join(site, settingsFile))) || !(await isEmptySite(site))) return undefined
  const { url, ref, credentials_file } = (await readSettingsAlone(site)).site.git
  return url === null ? undefined : { url, ref, credentials_file }
}
