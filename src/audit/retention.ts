/** Closed files of the log are compressed, and removed when they are too old or all together too large. */
import { createReadStream } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import { replaceFile } from '../core/files.ts'
import { listLogFiles, type LogFile } from './log-files.ts'

const dayMilliseconds = 86_400_000
const unfinished = '.gz.new'
/** Under half of the work of zlib's own level for six per cent more bytes: most of a line is digests and ids. */
const level = 1

/** Removes what a crash left: half-compressed files, and compressed ones whose original still lies there. */
export async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(folder)
  for (const name of names) {
    const twice = name.endsWith('.gz') && names.includes(name.slice(0, -'.gz'.length))
    if (name.endsWith(unfinished) || twice) await unlink(join(folder, name))
  }
}

/** Compresses a closed file; the original goes when the compressed one is on disk. */
export async function compressLogFile(file: LogFile): Promise<void> {
  await replaceFile(
    `${file.path}.gz`,
    pipeline(createReadStream(file.path), createGzip({ level }), () => undefined) as AsyncIterable<Buffer>,
  )
  await unlink(file.path)
}

/** The oldest closed files that are to go. */
export async function prunable(
  folder: string,
  now: number,
  settings: { readonly retention_days: number; readonly max_total_bytes: number },
): Promise<{ readonly files: readonly LogFile[]; readonly through: number }> {
  const files = await listLogFiles(folder)
  const pruned: LogFile[] = []
  let through = 0
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const [index, file] of files.entries()) {
    const next = files[index + 1]
    // The last file is being written.
    if (!next) break
    const old = Date.parse(file.day) + (settings.retention_days + 1) * dayMilliseconds <= now
    if (!old && total <= settings.max_total_bytes) break
    pruned.push(file)
    total -= file.bytes
    through = next.first - 1
  }
  return { files: pruned, through }
}
