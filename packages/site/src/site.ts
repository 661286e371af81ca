/**
 * A live site: its files, read whole, checked whole, and swapped as one snapshot; what they mean is the business of `build`.
 */
import { resolve } from 'node:path'
import { AppError, messageOf } from '#leaf/errors.ts'
import { placeOf } from './causes.ts'
import { debounced } from './debounced.ts'
import { openRepository } from './repository.ts'
import {
  type Built,
  type FilesRead,
  type IsBorne,
  KeptSite,
  type Site,
  type Told,
  watched,
} from './kept-site.ts'
import { exists } from './list-site.ts'
import { emptyCache, readSite } from './read-site.ts'
import { faultText, fileFault, type Fault, type SiteFiles } from './site-files.ts'
import { Noticed, watchSite, type SiteWatch } from './watch-site.ts'

export {
  type Built,
  type IsBorne,
  isNotIn,
  type ReloadResult,
  type Site,
  type SiteState,
} from './kept-site.ts'
export type { Dependency, Trouble } from './watched.ts'
export { briefly, type Entry, type Tell, WatchedEntries } from './watched-entries.ts'

/** The parts of a live site; only `build` knows what a snapshot is. */
export interface SiteOptions<S> extends Told<S> {
  readonly folder: string
  /** Makes one immutable snapshot of the files; a throw is a bug, and rejects them. Later, `current` gives the newest. */
  readonly build: (files: SiteFiles, current: () => S, isBorne: IsBorne) => Built<S> | Promise<Built<S>>
  /** Milliseconds that the folders must be quiet before a change is read; 150 by default. */
  readonly debounceMs?: number
  /** When false, only `reload` reads again. */
  readonly watch?: boolean
}

const quietMilliseconds = 150
// The limit for somebody who saves without a pause, so that changes still arrive.
const patienceMilliseconds = 1000

/** Reads the site and keeps it current. AppError `invalid` with `data.faults` when it cannot be used at all. */
export async function openSite<S>(options: SiteOptions<S>): Promise<Site<S>> {
  const { clock, log } = options
  const folder = resolve(options.folder)
  const cache = emptyCache()
  const lockFile = (await openRepository(folder))?.lockFile
  const busy = async (): Promise<boolean> => lockFile !== undefined && (await exists(lockFile))

  // Watching begins before reading, so that no change falls between the two.
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
  async function read(known?: string, reason?: string, isBorne = isTest): Promise<FilesRead<S>> {
    // Notices are trusted only when one of them caused this reading: a network mount sends none.
    const files = await readSite(folder, { cache, busy, noticed: reason === watched ? noticed : undefined })
    // A folder that was not watched may have changed since it was read.
    if (await watch?.follow(cache.listing?.folders ?? [])) note()
    const { digest } = files
    const built = digest === known ? nothingNew : await check(options, files, () => live!.current(), isBorne)
    return { digest, built }
  }
  const first = await read()
  if (first.built.snapshot === undefined) {
    await watch?.close()
    throw siteFaults(folder, first.built.faults)
  }
  const { snapshot, faults, warnings } = first.built
  for (const told of [...faults, ...warnings]) log.warn(faultText(told))
  const loaded = { snapshot, digest: first.digest, loadedAt: clock.now(), faults, warnings }
  const site = (live = new KeptSite(options, loaded, read, () => onChange()))

  const reload = (): void => void site.reload(watched)
  const reloads = debounced(reload, options.debounceMs ?? quietMilliseconds, patienceMilliseconds)
  onChange = reloads.note
  if (noticed.count > 0) reloads.note()
  return {
    current: () => site.current(),
    reload: (reason, anew) => site.reload(reason, anew),
    state: () => site.state(),
    close: async () => {
      onChange = () => undefined
      reloads.cancel()
      await watch?.close()
      await site.close()
    },
  }
}

/** Tolerates failed tests: a service starts with such prompts, and says so, since nobody should wait for it because of a text. */
const isTest: IsBorne = (fault) => fault.isTest === true

const nothingNew: Built<never> = { faults: [], warnings: [] }

/** Builds a snapshot of the files; there is none when a fault is not tolerated. */
async function check<S>(
  { build, log }: SiteOptions<S>,
  files: SiteFiles,
  current: () => S,
  isBorne: IsBorne,
): Promise<Built<S>> {
  try {
    const built = await build(files, current, isBorne)
    const told = new Set(built.faults.map(placeOf))
    const faults = [...files.faults.filter((fault) => !told.has(placeOf(fault))), ...built.faults]
    if (faults.every(isBorne) && built.snapshot !== undefined) return built
    return { faults, warnings: built.warnings }
  } catch (error) {
    log.error('building the site failed', { error })
    const fault = fileFault('.', `internal error while the site was built: ${messageOf(error)}`)
    return { faults: [...files.faults, fault], warnings: [] }
  }
}

/** Returns the error of a site that cannot be used: every fault, one a line, after the outcome. */
export function siteFaults(folder: string, faults: readonly Fault[], outcome = ''): AppError {
  const list = faults.map((fault) => `  ${faultText(fault)}`).join('\n')
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
  return new AppError('invalid', `the site ${folder} has ${count}${outcome}:\n${list}`, { data: { faults } })
}
