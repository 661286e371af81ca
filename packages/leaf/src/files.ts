/** Files that only the daemon's own user may touch. */
import type { Stats } from 'node:fs'
import { chmod, link, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AppError, messageOf } from './errors.ts'
import type { Log } from './log.ts'

export const privateFile = 0o600
const privateFolder = 0o700

/**
 * Makes the folder if there is none, and removes the permissions of others on it and its files; files
 * that were readable are logged. A folder with files in it that anybody may write is refused, because
 * nothing in it can be trusted any more.
 */
export async function openPrivateFolder(folder: string, log: Log): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: privateFolder })
  if (made !== undefined) await syncFolder(dirname(made))
  const names = (await readdir(folder)).sort()
  const facts = await stat(folder)
  if (facts.mode & 0o002 && names.length > 0) {
    throw new AppError(
      'invalid',
      `the folder ${basename(folder)} may be written by every user of this machine (mode ${modeText(facts)}); check what is in it, then chmod 700 it`,
    )
  }
  await tighten(folder, facts, privateFolder, names.length > 0 ? log : undefined)
  for (const name of names) {
    const file = join(folder, name)
    // The target of a link is left alone: it lies elsewhere, and is not ours to close.
    const entry = await lstat(file).catch(() => undefined)
    if (entry?.isFile()) await tighten(file, entry, privateFile, log)
  }
}

/** Syncs a folder, so that its names are durable: otherwise a created or renamed file may be gone after a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Creates or replaces a file atomically, so that its name never stands for half of it: it is written beside (as
 * `draft`), and takes the name when all of it is on disk. When that fails, nothing has changed. With `missing`
 * it fails when the file exists (`EEXIST`).
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array | AsyncIterable<string | Uint8Array>,
  {
    draft = `${path}.new`,
    mode = privateFile,
    missing = false,
  }: { readonly draft?: string; readonly mode?: number; readonly missing?: boolean } = {},
): Promise<void> {
  // Removes what a crash left; and a link there would redirect the write elsewhere.
  await rm(draft, { force: true })
  const file = await open(draft, 'wx', privateFile)
  try {
    if (mode !== privateFile) await file.chmod(mode)
    if (typeof content === 'string' || content instanceof Uint8Array) await file.writeFile(content)
    else for await (const piece of content) await file.writeFile(piece)
    await file.sync()
    await file.close()
    // A link, unlike a rename, fails when the name is taken.
    if (missing) await link(draft, path)
    else await rename(draft, path)
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(draft, { force: true }).catch(() => undefined)
    throw error
  }
  if (missing) await rm(draft, { force: true })
  await syncFolder(dirname(path))
}

async function tighten(path: string, facts: Stats, mode: number, log: Log | undefined): Promise<void> {
  if ((facts.mode & 0o777 & ~mode) === 0) return
  await chmod(path, facts.mode & mode)
  log?.warn('others could read the state; its mode is tightened', {
    file: basename(path),
    was: modeText(facts),
    now: (facts.mode & mode).toString(8),
  })
}

function modeText(facts: Stats): string {
  return (facts.mode & 0o777).toString(8)
}

/** Describes a disk error in words, without the path that the system's message holds. */
export function diskFaultText(error: unknown): string {
  switch ((error as NodeJS.ErrnoException | undefined)?.code) {
    case 'ENOSPC':
      return 'no space left on the disk'
    case 'EDQUOT':
      return 'the disk quota is used up'
    case 'EIO':
      return 'the disk reports an input/output error'
    case 'EROFS':
      return 'the file system is read-only'
    case 'EMFILE':
    case 'ENFILE':
      return 'too many open files'
    default:
      return (error as NodeJS.ErrnoException | undefined)?.code ?? messageOf(error)
  }
}
