/**
 * Which files belong to the site, found without reading them. Only the folders below are looked
 * into; a symbolic link may point anywhere inside them (as mounted ConfigMaps do) and nowhere else.
 */
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs'
import { access, lstat, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../core/errors.ts'
import { fileFault, type Fault } from './site-files.ts'

/** The folders of a site that people write; nothing else in its folder is read or watched. */
export const siteFolders: readonly string[] = ['config', 'prompts', 'skills', 'tools']

// A look takes 4 µs, through a thread of the pool it took 40; requests have their turn after so many milliseconds of it.
const sliceMilliseconds = 2

/** A file that belongs to the site. */
export interface ListedFile {
  /** Relative to the site, with `/`. */
  readonly path: string
  /** Where it really is, after links. */
  readonly target: string
  readonly size: number
  /** Differs when the file was written, replaced or truncated. */
  readonly stamp: string
}

/** One look at the site's folders. */
export interface Listing {
  readonly files: readonly ListedFile[]
  /** The folders in it, relative to the site; those behind links stand where they really are. */
  readonly folders: readonly string[]
  readonly faults: readonly Fault[]
}

/** What editors, git and interrupted writes leave behind, and everything hidden. */
export function isIgnoredName(name: string): boolean {
  return /^\.|^4913$|^#.*#$|~$|\.(?:swp|swo|swx|tmp|part|crdownload|orig|rej)$/.test(name)
}

/** Identity, size and times of a file: what changes when its content does. */
export function stampOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}

/** Lists the site's files by path. Never fails: what cannot be listed is a fault. */
export async function listSite(folder: string, wanted = siteFolders): Promise<Listing> {
  const found: ListedFile[] = []
  const folders: string[] = []
  const faults: Fault[] = []
  const fault = (path: string, message: string): void => {
    faults.push(fileFault(path, message))
  }
  const roots: string[] = []
  const letOthers = slices()

  async function look(path: string, real: string, above: readonly string[]): Promise<void> {
    let names: string[]
    try {
      names = readdirSync(real)
    } catch (error) {
      return fault(path, `cannot be listed: ${reasonOf(error)}`)
    }
    if (real === join(top, path)) folders.push(path)
    const inside = [...above, real]
    for (const name of names.filter((one) => !isIgnoredName(one))) {
      await lookAt(`${path}/${name}`, `${real}${sep}${name}`, name, inside)
      await letOthers()
    }
  }

  async function lookAt(path: string, real: string, name: string, above: readonly string[]): Promise<void> {
    if (/[\u0000-\u001f\u007f\\\ufffd]/.test(name)) {
      const shown = path.replaceAll(/[\u0000-\u001f\u007f]/g, '?')
      return fault(shown, 'the name of a file must be UTF-8 without control characters or backslashes')
    }
    try {
      let stats = lstatSync(real, { bigint: true })
      let target = real
      if (stats.isSymbolicLink()) {
        target = await realpath(real)
        if (!roots.some((root) => target.startsWith(root + sep))) {
          return fault(path, `is a link to a place outside ${siteFolders.join(', ')}`)
        }
        stats = await stat(target, { bigint: true })
      }
      if (stats.isDirectory()) {
        if (above.includes(target)) return fault(path, 'is a link to a folder that it stands in')
        return await look(path, target, above)
      }
      if (!stats.isFile()) return fault(path, 'is neither a file nor a folder')
      found.push({ path, target, size: Number(stats.size), stamp: stampOf(stats) })
    } catch (error) {
      // Gone between listing and looking is gone, unless it is a link to nothing.
      if (isMissing(error) && !(await isDangling(real))) return undefined
      return fault(path, isMissing(error) ? 'is a link to nothing' : `cannot be read: ${reasonOf(error)}`)
    }
  }

  const nothing = (reason: string): Listing => ({
    files: [],
    folders: [],
    faults: [fileFault('.', `cannot read the site ${folder}: ${reason}`)],
  })
  let top: string
  try {
    top = await realpath(folder)
    if (!(await stat(top)).isDirectory()) return nothing('not a folder')
  } catch (error) {
    return nothing(reasonOf(error))
  }
  const present: string[] = []
  for (const name of wanted) {
    const real = join(top, name)
    const stats = await lstat(real).catch(() => undefined)
    if (stats?.isDirectory()) present.push(name)
    else if (stats) fault(name, 'must be a folder of the site itself')
  }
  roots.push(...present.map((name) => join(top, name)))
  for (const name of present) await look(name, join(top, name), [])

  found.sort((a, b) => compare(a.path, b.path))
  faults.sort((a, b) => compare(a.file, b.file))
  return { files: found, folders, faults }
}

/** Gives requests their turn when the time of a slice is over. */
function slices(): () => Promise<void> {
  let began = performance.now()
  return async () => {
    if (performance.now() - began < sliceMilliseconds) return
    await setImmediate()
    began = performance.now()
  }
}

/** What went wrong with a file, in words; never its absolute path. */
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

/** Whether there is anything at the path, links followed. */
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
