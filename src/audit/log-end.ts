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
