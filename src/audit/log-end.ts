import { readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../core/files.ts'
import { lineHash, parseLine } from './line.ts'
import { type LogFile, readLogFileBackward } from './log-files.ts'

/** Where the good part of a file ends, and its last line. */
export interface End {
  readonly length: number
  readonly last?: { readonly seq: number; readonly hash: string }
}

/** Finds the end of a file of the log, whatever a crash left behind it. */
export async function logEnd(file: LogFile): Promise<End> {
  for await (const lines of readLogFileBackward(file))
    for (const { bytes, end, complete } of lines) {
      const line = complete ? parseLine(bytes) : undefined
      const length = file.compressed ? file.bytes : end
      if (line) return { length, last: { seq: line.seq, hash: lineHash(bytes) } }
    }
  return { length: file.compressed ? file.bytes : 0 }
}

/** Moves what lies behind the good part of a file into a file of its own; answers what an audit event says of it. */
export async function putAside(
  folder: string,
  file: LogFile,
  good: number,
): Promise<{ readonly file: string; readonly at: number; readonly bytes: number; readonly kept_as: string }> {
  const bytes = (await readFile(file.path)).subarray(good)
  const name = `${file.name}.torn-at-${good}`
  await replaceFile(join(folder, name), bytes)
  await truncate(file.path, good)
  return { file: file.name, at: good, bytes: bytes.length, kept_as: name }
}
