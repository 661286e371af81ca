import { lstatSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
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

/**
 * Watches the folders of a site, not its files: editors and git replace files, and ten thousand
 * watched files would use up the kernel's watches. Network mounts send no events: reload by SIGHUP.
 */
export async function watchSite(
  site: string,
  onChange: () => void,
  onError: (error: unknown) => void,
): Promise<SiteWatch> {
  const folder = resolve(site)
  // What was added once and still is not watched cannot be (the kernel's limit, permissions).
  const added = new Set<string>()
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
      if (isOurs(folder, path, details)) onChange()
    })
    started.on('addDir', onChange)
    started.on('unlinkDir', (path) => {
      added.delete(resolve(path))
      onChange()
    })
    started.on('error', onError)
    await new Promise<void>((done) => started.once('ready', done))
    return started
  }

  return {
    follow: async (folders) => {
      const present = await identityOf(folder)
      if (present !== identity) {
        identity = present
        await watcher.close()
        added.clear()
        watcher = await start()
        return true
      }
      const watched = new Set(Object.keys(watcher.getWatched()).map((path) => resolve(path)))
      const missed = folders
        .map((path) => join(folder, path))
        .filter((path) => !watched.has(path) && !added.has(path))
      for (const path of missed) added.add(path)
      if (missed.length > 0) watcher.add(missed)
      return missed.length > 0
    },
    close: () => watcher.close(),
  }
}

/** Looks for folders in a folder that changed, and not at each of the thousands of files that may stand beside them. */
class FolderWatcher extends FSWatcher {
  override _readdirp(root: string): ReturnType<FSWatcher['_readdirp']> {
    return super._readdirp(root, {
      type: 'directories',
      alwaysStat: false,
      directoryFilter: (entry) => {
        entry.stats = lstatSync(entry.fullPath, { throwIfNoEntry: false })
        return entry.stats?.isDirectory() === true && this._isntIgnored(entry.fullPath, entry.stats)
      },
    })
  }
}

/** Whether a path is not one of the site's folders nor in them. */
function isElsewhere(folder: string, path: string): boolean {
  const parts = relative(folder, resolve(path)).split(sep)
  if (parts[0] === '') return false
  return !siteFolders.includes(parts[0]!) || parts.some(isIgnoredName)
}

function isOurs(folder: string, path: string | null, details: unknown): boolean {
  if (path === null) return true
  const name = basename(path)
  const watched =
    typeof details === 'object' && details !== null && 'watchedPath' in details
      ? String(details.watchedPath)
      : ''
  if (resolve(watched) === folder) return siteFolders.includes(name)
  // Mounted ConfigMaps change by the exchange of a link that is called "..data".
  return !isIgnoredName(name) || name.startsWith('..')
}

async function identityOf(path: string): Promise<string> {
  const stats = await stat(path).catch(() => undefined)
  return stats ? `${stats.dev}:${stats.ino}` : 'none'
}
