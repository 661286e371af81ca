import { readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { privateFile, syncFolder } from '../store/files.ts'
import { hashOf, parseLine } from './line.ts'
import { type LogFile, readBackward, readLogFile } from './log-files.ts'

/** Where the good part of a file ends, and its last line. */
export interface End {
  readonly length: number
  readonly last?: { readonly seq: number; readonly hash: string }
}

/** Finds the end of a file of the log, whatever a crash left behind it. */
export async function endOf(file: LogFile): Promise<End> {
  if (file.compressed) return await endOfCompressed(file)
  for await (const { bytes, offset, complete } of readBackward(file.path)) {
    const line = complete ? parseLine(bytes) : undefined
    if (line) return { length: offset + bytes.length + 1, last: { seq: line.seq, hash: hashOf(bytes) } }
  }
  return { length: 0 }
}

async function endOfCompressed(file: LogFile): Promise<End> {
  let last: End['last']
  for await (const lines of readLogFile(file)) {
    for (const { bytes, complete } of lines) {
      const line = complete ? parseLine(bytes) : undefined
      if (line) last = { seq: line.seq, hash: hashOf(bytes) }
    }
  }
  return { length: file.bytes, ...(last && { last }) }
}

/** Moves what lies behind the good part of a file into a file of its own; answers what an audit event says of it. */
export async function putAside(
  folder: string,
  file: LogFile,
  good: number,
): Promise<{ readonly file: string; readonly at: number; readonly bytes: number; readonly kept_as: string }> {
  const bytes = (await readFile(file.path)).subarray(good)
  const name = `${file.name}.torn-at-${good}`
  await writeFile(join(folder, name), bytes, { mode: privateFile })
  await syncFolder(folder)
  await truncate(file.path, good)
  return { file: file.name, at: good, bytes: bytes.length, kept_as: name }
}
