import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { FSWatcher } from 'chokidar'
import { isIgnoredName, siteFolders } from './list-site.ts'

/** Tells when something in a site's folders may have changed. */
export interface SiteWatch {
  /**
   * Watches those of the site's folders that it missed, and all again if the site was replaced; true when
   * there was any, so that changes in them may have gone unseen.
   */
  follow(folders: readonly string[]): Promise<boolean>
  close(): Promise<void>
}

/** After more than so many events the kernel, which holds 16,384, may have kept some to itself. */
const mostEvents = 1000

/** What was noticed of a site's folders. */
export class Noticed {
  /** How often anything was. */
  count = 0
  /** Whether something may happen that is not noticed: the kernel watches no more folders. */
  isPartial = false
  #paths: Set<string> | undefined = new Set()
  #taken = 0

  /** Something happened at a path relative to the site, or, without one, anywhere. */
  note(path?: string): void {
    this.count++
    if (path === undefined || this.count - this.#taken > mostEvents) this.#paths = undefined
    else this.#paths?.add(path)
  }

  /** Where something happened since this was asked last; undefined when that may have been anywhere. */
  take(): ReadonlySet<string> | undefined {
    const paths = this.#paths
    this.#paths = new Set()
    this.#taken = this.count
    return this.isPartial ? undefined : paths
  }
}

/**
 * Watches the folders of a site, not its files: editors and git replace files, and ten thousand
 * watched files would use up the kernel's watches. Network mounts send no events: reload by SIGHUP.
 */
export async function watchSite(
  site: string,
  onChange: (path?: string) => void,
  onError: (error: unknown) => void,
): Promise<SiteWatch> {
  const folder = resolve(site)
  // Those that were watched before they were read, or cannot be (the kernel's limit, permissions).
  const known = new Set<string>()
  let identity = await identityOf(folder)
  let watcher = await start()

  async function start(): Promise<FSWatcher> {
    const started = new FolderWatcher({
      ignored: (path, stats) => isElsewhere(folder, path) || (stats !== undefined && !stats.isDirectory()),
      ignoreInitial: true,
      followSymlinks: false,
      atomic: false,
    }).add(folder)
    // Only the raw events of a folder tell of changes to the content of the files in it.
    started.on('raw', (_event: string, path: string | null, details: unknown) => {
      const place = placeOf(folder, path, details)
      if (place === undefined || isOurs(place)) onChange(place)
    })
    started.on('addDir', () => onChange())
    started.on('unlinkDir', (path) => {
      known.delete(resolve(path))
      onChange()
    })
    started.on('error', onError)
    await new Promise<void>((done) => started.once('ready', done))
    for (const path of watchedBy(started)) known.add(path)
    return started
  }

  return {
    follow: async (folders) => {
      const present = await identityOf(folder)
      if (present !== identity) {
        identity = present
        await watcher.close()
        known.clear()
        watcher = await start()
        return true
      }
      const watched = watchedBy(watcher)
      const news = folders.map((path) => join(folder, path)).filter((path) => !known.has(path))
      for (const path of news) known.add(path)
      watcher.add(news.filter((path) => !watched.has(path)))
      return news.length > 0
    },
    close: () => watcher.close(),
  }
}

/** Looks for folders in a folder that changed, and not at each of the thousands of files that may stand beside them. */
class FolderWatcher extends FSWatcher {
  override _readdirp(root: string): ReturnType<FSWatcher['_readdirp']> {
    const found = foldersIn(root).map((entry) => {
      const fullPath = join(root, entry.name)
      return { path: entry.name, fullPath, stats: lstatSync(fullPath, { throwIfNoEntry: false }) }
    })
    const folders = found.filter(
      ({ fullPath, stats }) => stats?.isDirectory() && this._isntIgnored(fullPath, stats),
    )
    return Readable.from(folders) as ReturnType<FSWatcher['_readdirp']>
  }
}

function foldersIn(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  } catch {
    return []
  }
}

/** Whether a path is not one of the site's folders nor in them. */
function isElsewhere(folder: string, path: string): boolean {
  const parts = relative(folder, resolve(path)).split(sep)
  if (parts[0] === '') return false
  return !siteFolders.includes(parts[0]!) || parts.some(isIgnoredName)
}

function watchedBy(watcher: FSWatcher): ReadonlySet<string> {
  return new Set(Object.keys(watcher.getWatched()).map((path) => resolve(path)))
}

/** Where a raw event happened, relative to the site; undefined when it does not say. */
function placeOf(folder: string, path: string | null, details: unknown): string | undefined {
  const isPlaced = typeof details === 'object' && details !== null && 'watchedPath' in details
  if (path === null || !isPlaced) return undefined
  return relative(folder, resolve(String(details.watchedPath), path)).replaceAll(sep, '/')
}

function isOurs(place: string): boolean {
  const name = basename(place)
  if (name === place) return siteFolders.includes(name)
  // Mounted ConfigMaps change by the exchange of a link that is called "..data".
  return !isIgnoredName(name) || name.startsWith('..')
}

async function identityOf(path: string): Promise<string> {
  const stats = await stat(path).catch(() => undefined)
  return stats ? `${stats.dev}:${stats.ino}` : 'none'
}
