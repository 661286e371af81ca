/**
 * The live site: the files that people write, read whole, checked whole, and swapped as one snapshot.
 *
 * `watch-site.ts` notices changes, `read-site.ts` reads the files that `list-site.ts` finds,
 * `parse-source.ts` turns each into data that knows its lines (`site-files.ts`). What the data mean is
 * for other folders, which get them through `build`; only settings are read here (`read-settings.ts`,
 * `check-settings.ts`; `migrate-settings.ts` for older layouts). `git.ts` asks the repository around it, `pull-site.ts` follows another.
 */
import { resolve } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { AppError, messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { placeOf } from './causes.ts'
import { debounced } from './debounced.ts'
import { openRepository } from './git.ts'
import { exists } from './list-site.ts'
import { emptyCache, readSite, restlessDigest } from './read-site.ts'
import { faultText, fileFault, type Fault, type SiteFiles } from './site-files.ts'
import { Noticed, watchSite, type SiteWatch } from './watch-site.ts'

/** What `build` makes of the files: a snapshot, or faults. Warnings keep nothing from being used. */
export interface Built<S> {
  readonly snapshot?: S
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

/** What one reload came to. */
export interface ReloadResult {
  /** `unchanged`: the files are, byte for byte, those of the current snapshot. */
  readonly outcome: 'swapped' | 'unchanged' | 'rejected'
  /** Who asked: `files changed`, `SIGHUP`, … */
  readonly reason: string
  /** Of the files that were read. */
  readonly digest: string
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
  /** When it was done, in milliseconds since the epoch, and how long it took. */
  readonly at: number
  readonly milliseconds: number
}

/** How the site stands, for `status` and `/healthz`. */
export interface SiteState {
  /** Of the snapshot in use. */
  readonly digest: string
  /** When the snapshot in use was loaded, in milliseconds since the epoch. */
  readonly loadedAt: number
  /** Why the files as they are now are not in use; empty when they are. */
  readonly faults: readonly Fault[]
  /** About the snapshot in use. */
  readonly warnings: readonly Fault[]
  readonly lastReload?: ReloadResult
}

/** What a live site is made of; what a snapshot is, only `build` knows. */
export interface SiteOptions<S> {
  readonly folder: string
  /** Makes one immutable snapshot of the files; a throw is a bug, and rejects them. Once it is in use, `current` tells the newest. */
  readonly build: (files: SiteFiles, current: () => S) => Built<S> | Promise<Built<S>>
  readonly clock: Clock
  readonly log: Log
  /** After the swap. */
  readonly onSwap?: (snapshot: S, result: ReloadResult, previous: S) => void | Promise<void>
  readonly onRejected?: (result: ReloadResult) => void | Promise<void>
  /** How long the folders must be quiet before a change is read; 150 unless told. */
  readonly debounceMs?: number
  /** false: only `reload` reads again. */
  readonly watch?: boolean
}

/** The live site: one immutable snapshot, replaced whole. */
export interface Site<S> {
  /** The snapshot in use. Take it once per request and keep it to the request's end. */
  current(): S
  /** Reads the files as they are from now on. Never fails: a bad site is `rejected`, and the snapshot stays. */
  reload(reason: string): Promise<ReloadResult>
  state(): SiteState
  /** Stops watching; a reload in progress ends first. */
  close(): Promise<void>
}

const quietMilliseconds = 150
// Somebody who saves without a pause still sees changes arrive.
const patienceMilliseconds = 1000
const loggedFaults = 50
/** The reason of reloads that nobody asked for. */
const watched = 'files changed'

interface Reading<S> {
  readonly digest: string
  readonly built: Built<S>
}

interface Loaded<S> {
  readonly snapshot: S
  readonly digest: string
  readonly loadedAt: number
  readonly warnings: readonly Fault[]
}

/** Reads the site and keeps it current. AppError `invalid` with `data.faults` when it cannot be used at all. */
export async function openSite<S>(options: SiteOptions<S>): Promise<Site<S>> {
  const { clock, log } = options
  const folder = resolve(options.folder)
  const cache = emptyCache()
  const lockFile = (await openRepository(folder))?.lockFile
  const busy = async (): Promise<boolean> => lockFile !== undefined && (await exists(lockFile))

  // Watch before reading, so that no change falls between the two.
  const noticed = new Noticed()
  let onChange = (): void => undefined
  const note = (path?: string): void => {
    noticed.note(path)
    onChange()
  }
  const onWatchError = (error: unknown): void => {
    noticed.isPartial = true
    log.error('watching the site failed; reload by hand', { error })
  }
  const watch: SiteWatch | undefined =
    options.watch === false ? undefined : await watchSite(folder, note, onWatchError)

  let live: Site<S> | undefined
  async function read(known?: string, reason?: string): Promise<Reading<S>> {
    // Where a change was noticed, the next one would be; a network mount tells of none.
    const files = await readSite(folder, { cache, busy, noticed: reason === watched ? noticed : undefined })
    // A folder that was not watched may have changed since it was read.
    if (await watch?.follow(cache.listing?.folders ?? [])) note()
    const { digest } = files
    const built = digest === known ? nothingNew : await check(options, files, () => live!.current())
    return { digest, built }
  }
  const first = await read()
  if (first.built.snapshot === undefined) {
    await watch?.close()
    throw siteFaults(folder, first.built.faults)
  }
  for (const warning of first.built.warnings) log.warn(faultText(warning))
  const { snapshot } = first.built
  const loaded = { snapshot, digest: first.digest, loadedAt: clock.now(), warnings: first.built.warnings }
  const site = (live = keepCurrent(options, loaded, read, () => onChange()))

  const reload = (): void => void site.reload(watched)
  const reloads = debounced(reload, options.debounceMs ?? quietMilliseconds, patienceMilliseconds)
  onChange = reloads.note
  if (noticed.count > 0) reloads.note()
  return {
    ...site,
    close: async () => {
      onChange = () => undefined
      reloads.cancel()
      await watch?.close()
      await site.close()
    },
  }
}

/** The pointer to the snapshot, and the queue of those who want to change it. */
function keepCurrent<S>(
  { clock, log, onSwap, onRejected }: SiteOptions<S>,
  first: Loaded<S>,
  read: (known: string, reason: string) => Promise<Reading<S>>,
  retry: () => void,
): Site<S> {
  let current = first
  let faults: readonly Fault[] = []
  let rejected: string | undefined
  let lastReload: ReloadResult | undefined
  let last: Promise<unknown> = Promise.resolve()
  let waiting: Promise<ReloadResult> | undefined
  let closed = false

  // One at a time, so that an older reading never replaces a newer one; whoever asks while a reload
  // waits for its turn shares it, because it will see all that was written until now.
  function reload(reason: string): Promise<ReloadResult> {
    if (waiting) return waiting
    const turn = last.then(() => {
      waiting = undefined
      return reloadNow(reason)
    })
    waiting = turn
    last = turn.catch(() => undefined)
    return turn
  }

  async function reloadNow(reason: string): Promise<ReloadResult> {
    const begun = clock.now()
    const done = (outcome: ReloadResult['outcome'], digest: string, found: Found): ReloadResult => {
      const at = clock.now()
      return { outcome, reason, digest, ...found, at, milliseconds: at - begun }
    }
    if (closed) return done('unchanged', current.digest, { faults, warnings: current.warnings })

    const { digest, built } = await readSafely(reason)
    const { warnings } = built
    if (digest === current.digest) {
      if (rejected !== undefined) log.info('site is again as it is in use', { reason })
      faults = []
      rejected = undefined
      return (lastReload = done('unchanged', digest, { faults, warnings: current.warnings }))
    }

    // Whoever is still writing will be noticed again, and should not be told of a fault.
    if (digest === restlessDigest && reason === watched) {
      log.info('site keeps changing; it is read when it rests')
      retry()
      return done('unchanged', digest, { faults, warnings: current.warnings })
    }
    if (built.snapshot === undefined) {
      const known = rejected === digest
      faults = built.faults
      rejected = digest
      const result = (lastReload = done('rejected', digest, { faults, warnings }))
      // A file that is merely touched does not make the same faults news.
      if (known && reason === watched) return result
      const told = { reason, count: faults.length, faults: faults.slice(0, loggedFaults).map(faultText) }
      log.error('site rejected; the last good one stays in use', told)
      await tell(() => onRejected?.(result))
      return result
    }

    const previous = current.snapshot
    const { snapshot } = built
    current = { snapshot, digest, loadedAt: clock.now(), warnings }
    faults = []
    rejected = undefined
    const result = (lastReload = done('swapped', digest, { faults, warnings }))
    log.info('site reloaded', { reason, digest, milliseconds: result.milliseconds })
    for (const warning of warnings) log.warn(faultText(warning))
    await tell(() => onSwap?.(snapshot, result, previous))
    return result
  }

  /** Not even a bug in reading ends the queue, or the daemon. */
  async function readSafely(reason: string): Promise<Reading<S>> {
    try {
      return await read(current.digest, reason)
    } catch (error) {
      log.error('reading the site failed', { error })
      const fault = fileFault('.', `internal error while the site was read: ${messageOf(error)}`)
      return { digest: 'unread', built: { faults: [fault], warnings: [] } }
    }
  }

  /** Whoever is told may fail; the site has changed all the same, and the queue goes on. */
  async function tell(call: () => void | Promise<void>): Promise<void> {
    try {
      await call()
    } catch (error) {
      log.error('telling of a changed site failed', { error })
    }
  }

  return {
    current: () => current.snapshot,
    reload,
    state: () => ({
      digest: current.digest,
      loadedAt: current.loadedAt,
      faults,
      warnings: current.warnings,
      ...(lastReload ? { lastReload } : {}),
    }),
    close: async () => {
      closed = true
      await last
    },
  }
}

type Found = Omit<Built<unknown>, 'snapshot'>
const nothingNew: Found = { faults: [], warnings: [] }

/** What the files mean; without a snapshot as soon as anything is wrong with them. */
async function check<S>(
  { build, log }: SiteOptions<S>,
  files: SiteFiles,
  current: () => S,
): Promise<Built<S>> {
  try {
    const built = await build(files, current)
    const told = new Set(built.faults.map(placeOf))
    const faults = [...files.faults.filter((fault) => !told.has(placeOf(fault))), ...built.faults]
    if (faults.length === 0 && built.snapshot !== undefined) return built
    return { faults, warnings: built.warnings }
  } catch (error) {
    log.error('building the site failed', { error })
    const fault = fileFault('.', `internal error while the site was built: ${messageOf(error)}`)
    return { faults: [...files.faults, fault], warnings: [] }
  }
}

/** The error of a site that cannot be used: every fault, one a line, after what became of it. */
export function siteFaults(folder: string, faults: readonly Fault[], outcome = ''): AppError {
  const list = faults.map((fault) => `  ${faultText(fault)}`).join('\n')
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
  return new AppError('invalid', `the site ${folder} has ${count}${outcome}:\n${list}`, { data: { faults } })
}
