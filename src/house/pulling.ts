/** Keeps the site equal to the remote git repository that `site.git` names. */
import { join } from 'node:path'
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import { type Folders, type SecretPath, secretsIn } from '#leaf/secret-files.ts'
import type { Settings } from '../core/settings.ts'
import type { Audit } from '#audit/audit.ts'
import {
  cloneSite,
  finishCheckout,
  isEmptySite,
  type Pulled,
  type PullParts,
  pullSite,
  type PullSource,
} from '#site/git.ts'
import { exists } from '#site/reading.ts'
import { settingsFile } from '../settings/read-settings.ts'
import { readSettingsAlone } from './open-state.ts'
import { readWholeSite } from './snapshot.ts'

/** The state of pulling, for `status`, `/readyz` and `doctor`. */
export interface PullState extends Pulled {
  readonly url: string
  readonly ref: string
  /** The time of the last try, in milliseconds since the epoch. */
  readonly at: number
}

interface PullingParts {
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly audit: Audit
  /** Returns the current setting `site.git`. */
  readonly settings: () => Settings['site']['git']
  readonly secretPath: SecretPath
  readonly check: PullParts['check']
  /** Reads the site again. */
  readonly reload: (reason: string) => Promise<unknown>
}

const lookMilliseconds = 1000
const mostSeconds = 900

/** Pulls the site at intervals, and whenever somebody asks. */
export class Pulling {
  readonly #parts: PullingParts
  readonly #leaving = new AbortController()
  #state: PullState | undefined
  #running: Promise<PullState | undefined> | undefined
  #due = 0
  /** The number of fetches in a row that failed. */
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(parts: PullingParts) {
    this.#parts = parts
  }

  /** The state of the last pull; undefined while the site is not pulled, and before the first time. */
  get state(): PullState | undefined {
    return this.#parts.settings().url === null ? undefined : this.#state
  }

  /** Starts to pull at intervals and to read what came. */
  start(): void {
    this.#timer = setInterval(() => void this.#look(), lookMilliseconds).unref()
  }

  /** Pulls now, whatever the time; callers meanwhile share the answer. The site is not read. */
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
    const { folder, clock, settings, secretPath, check } = this.#parts
    const source = sourceOf(settings(), secretPath)
    if (source === undefined) return (this.#state = undefined)
    const { url, ref } = source
    const { interval } = settings()
    const { signal } = this.#leaving
    const before = this.#state
    const done = await pullSite(folder, source, { check, signal, before })
    if (signal.aborted) return before
    this.#failures = done.outcome === 'refused' && done.seen === undefined ? this.#failures + 1 : 0
    const seconds = Math.min(interval * 2 ** this.#failures, Math.max(interval, mostSeconds))
    this.#due = clock.now() + seconds * 1000
    this.#state = { ...done, url, ref, at: clock.now() }
    await this.#tell(before, this.#state)
    return this.#state
  }

  /** Reports what is new: the same problem again is not reported. */
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
 * Prepares a site before anything reads it: finishes a checkout that was cut off, and clones the site into a folder
 * that holds nothing but the settings that name the source. AppError `unavailable`, `invalid`.
 */
export async function prepareSite(folders: Folders, log: Log): Promise<void> {
  const { site } = folders
  const finished = await finishCheckout(site)
  if (finished !== undefined)
    log.warn('a checkout of the site that was cut off is finished', { commit: finished })
  const source = await comingSite(folders)
  if (source === undefined) return
  const commit = await cloneSite(site, source, async (files) =>
    (await readWholeSite(site, files)).faults.filter(({ isTest }) => !isTest),
  )
  log.info('the site is cloned', { ref: source.ref, commit })
}

/** Returns the source to clone the site from at the start, for a folder that holds the settings and nothing else. */
export async function comingSite(folders: Folders): Promise<PullSource | undefined> {
  const { site } = folders
  if (!(await exists(join(site, settingsFile))) || !(await isEmptySite(site))) return undefined
  const settings = await readSettingsAlone(site)
  return sourceOf(settings.site.git, secretsIn(settings, folders))
}

function sourceOf(
  { url, ref, credentials_file: name }: Settings['site']['git'],
  secretPath: SecretPath,
): PullSource | undefined {
  return url === null ? undefined : { url, ref, credentials_file: name === null ? null : secretPath(name) }
}
