import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { FSWatcher } from 'chokidar'
import { isIgnoredName, siteFolders } from './list-site.ts'

/** Watches a site's folders and notices when something in them may have changed. */
export interface SiteWatch {
  /**
   * Watches those of the site's folders that were missed, and all again if the site was replaced; true when
   * there were any, so that changes in them may have gone unseen.
   */
  follow(folders: readonly string[]): Promise<boolean>
  close(): Promise<void>
}

/** The number of events after which the kernel, which holds 16,384, may have dropped some. */
const mostEvents = 1000

/** The changes noticed in a site's folders. */
export class Noticed {
  /** The number of changes noticed. */
  count = 0
  /** True when changes may go unnoticed: the kernel watches no more folders. */
  isPartial = false
  #paths: Set<string> | undefined = new Set()
  #taken = 0

  /** Notes a change at a path relative to the site, or, without one, anywhere. */
  note(path?: string): void {
    this.count++
    if (path === undefined || this.count - this.#taken > mostEvents) this.#paths = undefined
    else this.#paths?.add(path)
  }

  /** Returns the changed paths since the last call; undefined when any path may have changed. */
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
  // Folders that were watched before they were read, or cannot be (the kernel's limit, permissions).
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
    // Only the raw events of a folder report changes to the content of its files.
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

/** Searches a changed folder for folders only, without looking at each of thousands of files beside them. */
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

/** True when a path is not one of the site's folders nor in them. */
function isElsewhere(folder: string, path: string): boolean {
  const parts = relative(folder, resolve(path)).split(sep)
  if (parts[0] === '') return false
  return !siteFolders.includes(parts[0]!) || parts.some(isIgnoredName)
}

function watchedBy(watcher: FSWatcher): ReadonlySet<string> {
  return new Set(Object.keys(watcher.getWatched()).map((path) => resolve(path)))
}

/** Returns the place of a raw event, relative to the site; undefined when the event does not tell. */
function placeOf(folder: string, path: string | null, details: unknown): string | undefined {
  const isPlaced = typeof details === 'object' && details !== null && 'watchedPath' in details
  if (path === null || !isPlaced) return undefined
  return relative(folder, resolve(String(details.watchedPath), path)).replaceAll(sep, '/')
}

function isOurs(place: string): boolean {
  const name = basename(place)
  if (name === place) return siteFolders.includes(name)
  // Mounted ConfigMaps change when a link called "..data" is exchanged.
  return !isIgnoredName(name) || name.startsWith('..')
}

async function identityOf(path: string): Promise<string> {
  const stats = await stat(path).catch(() => undefined)
  return stats ? `${stats.dev}:${stats.ino}` : 'none'
}
