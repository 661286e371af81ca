import { constants } from 'node:fs'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { randomId } from '../core/secrets.ts'

/**
 * Writes a file so that a reader, a crash or a power loss finds the old content or the new one, never a
 * part. Keeps the file's mode, and a link stays a link. The temporary file has a name that the site ignores.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const folder = dirname(target)
  const mode = (await stat(target).catch(() => undefined))?.mode ?? 0o644
  const temporary = join(folder, `.${basename(target)}.${randomId()}.tmp`)
  try {
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY
    const file = await open(temporary, flags, 0o600)
    try {
      await file.writeFile(content)
      await file.chmod(mode & 0o777)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  const entry = await open(folder, constants.O_RDONLY)
  try {
    await entry.sync()
  } finally {
    await entry.close()
  }
}
