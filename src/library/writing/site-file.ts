import { mkdir, readFile, realpath, rm, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { AppError, messageOf } from '#leaf/errors.ts'
import { replaceFile } from '#leaf/files.ts'
import { randomId } from '#leaf/secrets.ts'

/** A file that was written; `undo` restores the old content. */
export interface Replaced {
  undo(): Promise<void>
}

/**
 * Writes a file of the site whole or not at all, so that no reader ever sees half of it. AppError
 * `conflict` when a new file exists already, `forbidden` with the reason when the site cannot be written.
 */
export async function replaceSiteFile(
  site: string,
  path: string,
  bytes: Uint8Array,
  kind: 'new' | 'old',
): Promise<Replaced> {
  const target = join(site, path)
  const draft = join(dirname(target), `.${randomId()}.tmp`)
  try {
    await requireInside(site, path)
    const before = kind === 'old' ? await readFile(target) : undefined
    const mode = before ? (await stat(target)).mode & 0o777 : 0o644
    await replaceFile(target, bytes, { draft, mode, missing: kind === 'new' })
    return {
      undo: () => (before ? replaceFile(target, before, { draft, mode }) : rm(target, { force: true })),
    }
  } catch (error) {
    throw explained(error, path)
  }
}

/** Refuses to write through a link that leads out of the site; missing folders are made. */
async function requireInside(site: string, path: string): Promise<void> {
  const name = path.split('/')[0]!
  const top = join(await realpath(site), name)
  await mkdir(top, { recursive: true })
  // The existing part of the path must be inside before anything is made below it.
  const folder = dirname(join(site, path))
  let existing = folder
  while (!(await realpath(existing).catch(() => undefined))) existing = dirname(existing)
  const real = await realpath(existing)
  if (real !== top && !real.startsWith(`${top}${sep}`)) {
    throw new AppError('forbidden', `the file would not be inside the ${name} of the site`)
  }
  await mkdir(folder, { recursive: true })
}

function explained(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (error instanceof AppError) return error
  if (code === 'EEXIST') return new AppError('conflict', `${path} exists already`)
  if (code === 'ENOENT') return new AppError('conflict', `${path} is not there any more`)
  if (['EROFS', 'EACCES', 'EPERM'].includes(code)) {
    const reason =
      code === 'EROFS' ? 'it is on a read-only file system' : 'the service has no permission to write there'
    return new AppError(
      'forbidden',
      `the site is read-only: ${reason}; change ${path} where the site comes from`,
      {
        cause: error,
      },
    )
  }
  if (['ENOSPC', 'EDQUOT', 'EIO'].includes(code)) {
    return new AppError('unavailable', `${path} could not be written: ${messageOf(error)}`, { cause: error })
  }
  return error
}
