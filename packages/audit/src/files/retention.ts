/** Compresses closed files of the log, and finds those that exceed the total size. */
import { createReadStream } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import { replaceFile } from '#leaf/files.ts'
import type { LogFile } from './log-files.ts'

const unfinished = '.gz.new'
/** A level with under half the work of zlib's default for six per cent more bytes: most of a line is digests and ids. */
const level = 1
/** Sizes of pieces: with those that streams have by themselves, handing them on takes as long as compressing them. */
const [readBytes, chunkSize] = [1 << 20, 1 << 18]

/** Removes the remains of a crash: half-compressed files, and compressed ones whose original still exists. */
export async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(folder)
  for (const name of names) {
    const twice = name.endsWith('.gz') && names.includes(name.slice(0, -'.gz'.length))
    if (name.endsWith(unfinished) || twice) await unlink(join(folder, name))
  }
}

/** Compresses a closed file; removes the original when the compressed one is on disk. */
export async function compressLogFile(file: LogFile): Promise<void> {
  await replaceFile(
    `${file.path}.gz`,
    pipeline(
      createReadStream(file.path, { highWaterMark: readBytes }),
      createGzip({ level, chunkSize }),
      () => undefined,
    ) as AsyncIterable<Buffer>,
  )
  await unlink(file.path)
}

/** Returns the last line of the oldest closed files that must go so that the others are not too large; 0 for none. */
export function endOfExcess(files: readonly LogFile[], most: number): number {
  let end = 0
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const [index, { bytes }] of files.entries()) {
    const next = files[index + 1]
    // The last file is being written.
    if (!next || most === 0 || total <= most) break
    total -= bytes
    end = next.first - 1
  }
  return end
}
