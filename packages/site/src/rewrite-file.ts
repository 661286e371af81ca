import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { replaceFile } from '#leaf/files.ts'
import { randomId } from '#leaf/secrets.ts'

/**
 * Writes a file of the site so that a reader, a crash or a power loss finds the old content or the new one, never
 * a part. The file's mode stays, and so does a link. The temporary file has a name that the site ignores.
 */
export async function rewriteFile(path: string, content: string | Uint8Array): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const mode = ((await stat(target).catch(() => undefined))?.mode ?? 0o644) & 0o777
  const draft = join(dirname(target), `.${basename(target)}.${randomId()}.tmp`)
  await replaceFile(target, content, { draft, mode })
}
