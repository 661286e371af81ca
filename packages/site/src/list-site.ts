/**
 * Lists the files of the site without reading them. Only the folders below are searched;
 * a symbolic link may point anywhere inside them (as mounted ConfigMaps do) and nowhere else.
 */
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs'
import { access, lstat, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '#leaf/errors.ts'
import { fileFault, type Fault } from './site-files.ts'

/** The folders of a site that people write; nothing else in the site's folder is read or watched. */
export const siteFolders: readonly string[] = ['config', 'prompts', 'skills', 'tools']

// A look takes 4 µs (through a thread of the pool, 40): after so many milliseconds of looks, requests get their turn.
const sliceMilliseconds = 2

/** A file that belongs to the site. */
export interface ListedFile {
  /** The path relative to the site, with `/`. */
  readonly path: string
  /** The real path, after links. */
  readonly target: string
  readonly size: number
  /** A text that differs when the file was written, replaced or truncated. */
  readonly stamp: string
}

/** One look at the site's folders. */
export interface Listing {
  /** The files, sorted by path. */
  readonly files: readonly ListedFile[]
  /** The folders of the site, by relative path; those behind links stand under their real path. */
  readonly folders: readonly string[]
  readonly faults: readonly Fault[]
  /** The real path of the site's folder, free of links. */
  readonly top: string
  /** True when there are links among them. */
  readonly isLinked: boolean
  /** The only files that may differ from those of the listing before; absent when any may. */
  readonly changed?: readonly ListedFile[]
}

/** True for files that editors, git and interrupted writes leave behind, and for everything hidden. */
export function isIgnoredName(name: string): boolean {
  return /^\.|^4913$|^#.*#$|~$|\.(?:swp|swo|swx|tmp|part|crdownload|orig|rej)$/.test(name)
}

/** Returns identity, size and times of a file as a text, which changes when the content does. */
export function stampOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}

/** Lists the site's files by path. Never fails: what cannot be listed is a fault. */
export async function listSite(folder: string, wanted = siteFolders): Promise<Listing> {
  const nothing = (reason: string): Listing => ({
    files: [],
    folders: [],
    faults: [fileFault('.', `cannot read the site ${folder}: ${reason}`)],
    top: folder,
    isLinked: false,
  })
  let top: string
  try {
    top = await realpath(folder)
    if (!(await stat(top)).isDirectory()) return nothing('not a folder')
  } catch (error) {
    return nothing(reasonOf(error))
  }
  const found: Found = { files: [], folders: [], faults: [], top, isLinked: false }
  const present: string[] = []
  for (const name of wanted) {
    const stats = await lstat(join(top, name)).catch(() => undefined)
    if (stats?.isDirectory()) present.push(name)
    else if (stats) found.faults.push(fileFault(name, 'must be a folder of the site itself'))
  }
  const look = looking(
    found,
    present.map((name) => join(top, name)),
  )
  for (const name of present) await look(name, join(top, name), [])
  found.files.sort((a, b) => compare(a.path, b.path))
  found.faults.sort((a, b) => compare(a.file, b.file))
  return found
}

/**
 * Updates a listing when only these places changed; undefined when the whole site must be listed again, because
 * something came or went, is no plain file, or has a second name.
 */
export function listAgain(before: Listing, places: ReadonlySet<string>): Listing | undefined {
  if (before.isLinked || before.faults.length > 0) return undefined
  const others = new Set(places)
  const files = [...before.files]
  const changed: ListedFile[] = []
  for (const [index, { path, target }] of before.files.entries()) {
    if (!others.delete(path)) continue
    const stats = lstatSync(target, { bigint: true, throwIfNoEntry: false })
    if (!stats?.isFile() || stats.nlink > 1n) return undefined
    files[index] = listed(path, target, stats)
    changed.push(files[index])
  }
  // An editor's temporary files are gone again.
  const isGone = (path: string): boolean =>
    !before.folders.includes(path) && !lstatSync(join(before.top, path), { throwIfNoEntry: false })
  return [...others].every(isGone) ? { ...before, files, changed } : undefined
}

/** A listing under construction. */
interface Found extends Listing {
  readonly files: ListedFile[]
  readonly folders: string[]
  readonly faults: Fault[]
  isLinked: boolean
}

/** Lists a folder: its path in the site, its real path, and the folders around it. */
type Look = (path: string, real: string, above: readonly string[]) => Promise<void>

function looking(found: Found, roots: readonly string[]): Look {
  const letOthers = slices()
  const fault = (path: string, message: string): void => void found.faults.push(fileFault(path, message))

  return async function look(path, real, above) {
    let names: string[]
    try {
      names = readdirSync(real)
    } catch (error) {
      return fault(path, `cannot be listed: ${reasonOf(error)}`)
    }
    if (real === join(found.top, path)) found.folders.push(path)
    const inside = [...above, real]
    for (const name of names.filter((one) => !isIgnoredName(one))) {
      await lookAt(`${path}/${name}`, `${real}${sep}${name}`, inside)
      await letOthers()
    }

    async function lookAt(path: string, real: string, above: readonly string[]): Promise<void> {
      if (/[\u0000-\u001f\u007f\\\ufffd]/.test(path)) {
        const shown = path.replaceAll(/[\u0000-\u001f\u007f]/g, '?')
        return fault(shown, 'the name of a file must be UTF-8 without control characters or backslashes')
      }
      try {
        let stats = lstatSync(real, { bigint: true })
        let target = real
        if (stats.isSymbolicLink()) {
          found.isLinked = true
          target = await realpath(real)
          if (!roots.some((root) => target.startsWith(root + sep)))
            return fault(path, `is a link to a place outside ${siteFolders.join(', ')}`)
          stats = await stat(target, { bigint: true })
        }
        if (stats.isDirectory()) {
          if (above.includes(target)) return fault(path, 'is a link to a folder that it stands in')
          return await look(path, target, above)
        }
        if (!stats.isFile()) return fault(path, 'is neither a file nor a folder')
        found.files.push(listed(path, target, stats))
      } catch (error) {
        // A file that vanished between listing and looking is gone, unless it is a link to nothing.
        if (isMissing(error) && !(await isDangling(real))) return undefined
        return fault(path, isMissing(error) ? 'is a link to nothing' : `cannot be read: ${reasonOf(error)}`)
      }
    }
  }
}

function listed(path: string, target: string, stats: BigIntStats): ListedFile {
  return { path, target, size: Number(stats.size), stamp: stampOf(stats) }
}

/** Returns a function that gives requests their turn when the time of a slice is over. */
function slices(): () => Promise<void> {
  let began = performance.now()
  return async () => {
    if (performance.now() - began < sliceMilliseconds) return
    await setImmediate()
    began = performance.now()
  }
}

/** Describes an error with a file in words; never shows its absolute path. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error)
  const words: Record<string, string> = {
    ENOENT: 'it does not exist',
    EACCES: 'permission denied',
    EPERM: 'permission denied',
    ENOTDIR: 'not a folder',
    ELOOP: 'too many links',
    EISDIR: 'it is a folder',
    EMFILE: 'too many open files',
  }
  return words[code] ?? (code === '' ? messageOf(error) : code)
}

/** True when there is anything at the path, links followed. */
export async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

async function isDangling(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() ?? false
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
